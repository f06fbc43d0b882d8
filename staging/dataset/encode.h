// Encoders for the formats that the readers read: JPEG and PNG images and tar archives.
#pragma once

#include <cstddef>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "staging/dataset/dataset.h"

namespace dataset {

/// A baseline JPEG (4:2:0, without optimised Huffman tables, so that the bytes depend only on the
/// pixels and `quality`). quality: 1 to 100. Throws SystemError with libjpeg's message.
std::vector<std::byte> encode_jpeg(const Image& image, int quality);

/// A PNG of 8 bits a channel. Throws SystemError with libpng's message.
std::vector<std::byte> encode_png(const Image& image);

/// Writes a tar archive (ustar; long names as GNU tar writes them). Owner, time and mode are fixed,
/// so that equal contents give equal archives. The stream's owner checks it for errors.
class TarWriter {
 public:
  explicit TarWriter(std::ostream& out) : out_(out) {}
  void add_folder(const std::string& name);
  void add_file(const std::string& name, std::span<const std::byte> data);
  /// Writes the end mark; readers take an archive without it as truncated.
  void finish();

 private:
  void add(const std::string& name, char type, std::span<const std::byte> data);
  void header(const std::string& name, char type, std::size_t size);
  void body(std::span<const std::byte> data);
  std::ostream& out_;
};

}  // namespace dataset
