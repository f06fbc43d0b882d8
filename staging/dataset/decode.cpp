// Encoded bytes to an RGB image, with the decoder chosen by content.
#include <fmt/core.h>

#include "runner/base/error.h"
#include "runner/base/file_format.h"
#include "staging/dataset/dataset.h"
#include "staging/dataset/image_codecs.h"

namespace dataset {
namespace {

enum class Format { kJpeg, kPng };

Format format_of(const std::vector<std::byte>& bytes, const std::string& name) {
  const auto is = [&](std::size_t place, unsigned value) {
    return bytes.size() > place && bytes[place] == static_cast<std::byte>(value);
  };
  if (is(0, 0xff) && is(1, 0xd8)) return Format::kJpeg;
  if (is(0, 0x89) && is(1, 'P') && is(2, 'N') && is(3, 'G')) return Format::kPng;
  throw base::DataError(
      fmt::format("{}: expected a JPEG or PNG image, found {}", name,
                  base::found_in_words(bytes, static_cast<std::int64_t>(bytes.size()))));
}

}  // namespace

void shape_image(std::int64_t height, std::int64_t width, const std::string& name, Extent extent,
                 Image& image) {
  if (height * width > kMaxPixels) {
    throw base::DataError(fmt::format("{}: expected at most {} pixels, found {} x {}", name,
                                      kMaxPixels, height, width));
  }
  image.height = static_cast<int>(height);
  image.width = static_cast<int>(width);
  if (extent == Extent::kPixels) image.pixels.resize(static_cast<std::size_t>(height * width * 3));
}

Image decode_image(const std::vector<std::byte>& bytes, const std::string& name) {
  Image image;
  if (format_of(bytes, name) == Format::kJpeg) {
    decode_jpeg(bytes, name, Extent::kPixels, image);
  } else {
    decode_png(bytes, name, Extent::kPixels, image);
  }
  return image;
}

Image decode_image_header(const std::vector<std::byte>& bytes, const std::string& name) {
  Image image;
  if (format_of(bytes, name) == Format::kJpeg) {
    decode_jpeg(bytes, name, Extent::kHeader, image);
  } else {
    decode_png(bytes, name, Extent::kHeader, image);
  }
  return image;
}

}  // namespace dataset
