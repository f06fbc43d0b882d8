// Compressed files, for tests, by the libraries' encoders.
#pragma once

#include <lz4frame.h>
#include <zstd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "staging/dataset/file.h"
#include "staging/dataset/gzip.h"

namespace dataset {

/// Whether a frame's header states the size of its content.
enum class Stated { kSize, kNothing };

/// A frame with a checksum.
inline std::vector<std::byte> zstd(std::span<const std::byte> content,
                                   Stated stated = Stated::kSize,
                                   std::span<const std::byte> dictionary = {}) {
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(),
                                                                     ZSTD_freeCCtx);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_contentSizeFlag, stated == Stated::kSize ? 1 : 0);
  ZSTD_CCtx_loadDictionary(context.get(), dictionary.data(), dictionary.size());
  std::vector<std::byte> file(ZSTD_compressBound(content.size()));
  const std::size_t size =
      ZSTD_compress2(context.get(), file.data(), file.size(), content.data(), content.size());
  if (ZSTD_isError(size) != 0) throw std::runtime_error(ZSTD_getErrorName(size));
  file.resize(size);
  return file;
}

/// A frame with a checksum. `dictionary` is a number in its header only.
inline std::vector<std::byte> lz4(std::span<const std::byte> content, Stated stated = Stated::kSize,
                                  unsigned dictionary = 0) {
  LZ4F_preferences_t preferences{};
  preferences.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
  preferences.frameInfo.contentSize = stated == Stated::kSize ? content.size() : 0;
  preferences.frameInfo.dictID = dictionary;
  std::vector<std::byte> file(LZ4F_compressFrameBound(content.size(), &preferences));
  const std::size_t size =
      LZ4F_compressFrame(file.data(), file.size(), content.data(), content.size(), &preferences);
  if (LZ4F_isError(size) != 0) throw std::runtime_error(LZ4F_getErrorName(size));
  file.resize(size);
  return file;
}

/// A kind of compressed file.
struct Compressor {
  std::string ending;
  std::vector<std::byte> (*compress)(std::span<const std::byte> content);
};

inline const std::vector<Compressor>& compressors() {
  using Bytes = std::span<const std::byte>;
  static const std::vector<Compressor> all = {
      {".gz", gzip},
      {".zst", [](Bytes content) { return zstd(content); }},
      {".lz4", [](Bytes content) { return lz4(content); }},
      {".ZST", [](Bytes content) { return zstd(content, Stated::kNothing); }},
      {".LZ4", [](Bytes content) { return lz4(content, Stated::kNothing); }}};
  return all;
}

/// Replaces each file of a folder by a compressed one, in turn of each kind.
inline void compress_files(const std::string& folder) {
  std::vector<std::filesystem::path> plain;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) plain.push_back(entry);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const Compressor& one = compressors()[i % compressors().size()];
    const std::vector<std::byte> file = one.compress(read_rest(File(plain[i]), {}));
    std::ofstream(plain[i].string() + one.ending, std::ios::binary)
        .write(reinterpret_cast<const char*>(file.data()), std::ssize(file));
    std::filesystem::remove(plain[i]);
  }
}

}  // namespace dataset
