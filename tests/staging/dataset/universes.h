// Small universes, and HDF5 files that the encoder does not write, for tests.
#pragma once

#include <gmock/gmock.h>
#include <hdf5.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/thrown_message.h"
#include "staging/dataset/universe.h"

namespace dataset {

inline constexpr UniverseShape kTiny{{3, 4, 5}, 2};
inline constexpr UniverseFormat kFormats[] = {UniverseFormat::kHdf5, UniverseFormat::kTfrecord,
                                              UniverseFormat::kTfrecordGzip};

/// Every count differs from its neighbours.
inline Universe made_universe(const UniverseShape& shape, int number = 0) {
  Universe universe;
  universe.extents = shape.extents;
  universe.channels = shape.channels;
  const std::int64_t counts =
      shape.extents[0] * shape.extents[1] * shape.extents[2] * shape.channels;
  for (std::int64_t i = 0; i < counts; ++i) {
    universe.counts.push_back(static_cast<std::int16_t>((i * 7919 + number) % 32768));
  }
  universe.targets = {-1.0F, 0.25F, 1.0F, 0.001F * static_cast<float>(number)};
  return universe;
}

/// A plain loop, as reference for regions.
inline Universe cut(const Universe& whole, const UniverseRegion& region) {
  Universe part;
  part.extents = region.count;
  part.channels = whole.channels;
  part.targets = whole.targets;
  for (std::int64_t d = 0; d < region.count[0]; ++d) {
    for (std::int64_t h = 0; h < region.count[1]; ++h) {
      for (std::int64_t w = 0; w < region.count[2]; ++w) {
        const std::int64_t voxel =
            ((region.first[0] + d) * whole.extents[1] + region.first[1] + h) * whole.extents[2] +
            region.first[2] + w;
        for (std::int64_t c = 0; c < whole.channels; ++c) {
          part.counts.push_back(whole.counts[static_cast<std::size_t>(voxel * whole.channels + c)]);
        }
      }
    }
  }
  return part;
}

inline bool same(const Universe& a, const Universe& b) {
  return a.extents == b.extents && a.channels == b.channels && a.counts == b.counts &&
         std::memcmp(a.targets.data(), b.targets.data(), sizeof(a.targets)) == 0;
}

inline const std::vector<UniverseRegion>& tiny_regions() {
  static const std::vector<UniverseRegion> regions = {
      {{0, 0, 0}, {3, 4, 5}}, {{1, 0, 0}, {1, 4, 5}}, {{0, 2, 0}, {3, 2, 5}},
      {{0, 0, 3}, {3, 4, 2}}, {{1, 1, 1}, {2, 3, 4}}, {{2, 3, 4}, {1, 1, 1}}};
  return regions;
}

inline std::string data_error(const std::function<void()>& action) {
  return base::thrown_message<base::DataError>(action);
}

/// Why a sample is refused; "" if it is not.
inline std::string universe_refusal(const std::vector<std::byte>& bytes,
                                    const UniverseShape& shape = kTiny) {
  return data_error([&] { decode_universe(bytes, shape, "u.file"); });
}

enum class Flipped { kEveryByte, kAllButZeros };

/// Flips bits in each byte in turn.
inline void expect_no_crash(const std::vector<std::byte>& file, Flipped flipped) {
  constexpr std::array kFlips = {std::byte{0x01}, std::byte{0x80}, std::byte{0xff}};
  for (std::size_t i = 0; i < file.size(); ++i) {
    if (flipped == Flipped::kAllButZeros && file[i] == std::byte{0}) continue;
    std::vector<std::byte> damaged = file;
    damaged[i] ^= kFlips[i % kFlips.size()];
    try {
      EXPECT_EQ(decode_universe(damaged, kTiny, "u.file").counts.size(), 120u);
    } catch (const base::DataError& e) {
      EXPECT_THAT(e.what(), testing::StartsWith("u.file")) << i;
    }
  }
}

inline std::vector<std::byte> bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// One array of an HDF5 file.
struct H5Array {
  std::string name;
  hid_t stored = H5I_INVALID_HID, given = H5I_INVALID_HID;
  std::vector<hsize_t> dims, chunk = {};
  const void* data = nullptr;
  /// Of chunked arrays.
  std::function<void(hid_t layout)> filters = [](hid_t layout) { H5Pset_deflate(layout, 6); };
};

/// Writes a file like those of other programs, behind a user block of this size.
inline std::string write_h5(const std::filesystem::path& path, const std::vector<H5Array>& arrays,
                            hsize_t user_block = 0) {
  const hid_t creation = H5Pcreate(H5P_FILE_CREATE);
  H5Pset_userblock(creation, user_block);
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation, H5P_DEFAULT);
  H5Pclose(creation);
  for (const H5Array& array : arrays) {
    const auto rank = static_cast<int>(array.dims.size());
    const hid_t space = H5Screate_simple(rank, array.dims.data(), nullptr);
    const hid_t layout = H5Pcreate(H5P_DATASET_CREATE);
    if (!array.chunk.empty()) {
      H5Pset_chunk(layout, rank, array.chunk.data());
      array.filters(layout);
    }
    const hid_t set =
        H5Dcreate2(file, array.name.c_str(), array.stored, space, H5P_DEFAULT, layout, H5P_DEFAULT);
    H5Dwrite(set, array.given, H5S_ALL, H5S_ALL, H5P_DEFAULT, array.data);
    H5Dclose(set);
    H5Pclose(layout);
    H5Sclose(space);
  }
  H5Fclose(file);
  return path.string();
}

inline std::vector<std::byte> read_bytes(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return bytes_of({std::istreambuf_iterator<char>(in), {}});
}

}  // namespace dataset
