// RGB to PNG by libpng's simplified API, which returns errors instead of jumping.
#include <fmt/core.h>
#include <png.h>

#include "runner/base/error.h"
#include "staging/dataset/encode.h"

namespace dataset {

std::vector<std::byte> encode_png(const Image& image) {
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.width = static_cast<png_uint_32>(image.width);
  header.height = static_cast<png_uint_32>(image.height);
  header.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(header);
  std::vector<std::byte> bytes(size);
  const bool written = png_image_write_to_memory(&header, bytes.data(), &size, 0,
                                                 image.pixels.data(), 0, nullptr) != 0;
  if (!written) {
    throw base::SystemError(fmt::format("libpng: cannot encode an image of {} x {}: {}",
                                        image.height, image.width, header.message));
  }
  bytes.resize(size);
  return bytes;
}

}  // namespace dataset
