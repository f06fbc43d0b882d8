// Encoded bytes to an RGB image, with the decoder chosen by content.
#include <fmt/core.h>

#include "runner/base/error.h"
#include "runner/base/file_format.h"
#include "staging/dataset/dataset.h"
#include "staging/dataset/image_codecs.h"

namespace dataset {
namespace {

using Decoder = Image (*)(const std::vector<std::byte>& bytes, const std::string& name,
                          const ChooseView& choose);

Decoder decoder_of(const std::vector<std::byte>& bytes, const std::string& name) {
  const auto is = [&](std::size_t place, unsigned value) {
    return bytes.size() > place && bytes[place] == static_cast<std::byte>(value);
  };
  if (is(0, 0xff) && is(1, 0xd8)) return decode_jpeg;
  if (is(0, 0x89) && is(1, 'P') && is(2, 'N') && is(3, 'G')) return decode_png;
  throw base::DataError(
      fmt::format("{}: expected a JPEG or PNG image, found {}", name,
                  base::found_in_words(bytes, static_cast<std::int64_t>(bytes.size()))));
}

}  // namespace

Image sized_image(std::int64_t height, std::int64_t width, const std::string& name) {
  if (height * width > kMaxPixels) {
    throw base::DataError(fmt::format("{}: expected at most {} pixels, found {} x {}", name,
                                      kMaxPixels, height, width));
  }
  return {static_cast<int>(height), static_cast<int>(width), {}, {}};
}

View view_of(const ChooseView& choose, const std::string& name, const Image& image) {
  const View view = choose(image.height, image.width);
  const Region& region = view.region;
  if (region.top < 0 || region.left < 0 || region.height < 1 || region.width < 1 ||
      region.height > image.height - region.top || region.width > image.width - region.left) {
    throw base::ShapeError(fmt::format(
        "{}: no region of {} x {} pixels at ({}, {}) in an image of {} x {}", name, region.height,
        region.width, region.top, region.left, image.height, image.width));
  }
  if (view.shrink != 1 && view.shrink != 2 && view.shrink != 4 && view.shrink != 8) {
    throw base::ShapeError(
        fmt::format("{}: expected to shrink by 1, 2, 4 or 8, found {}", name, view.shrink));
  }
  return view;
}

void make_room(const Region& region, Image& image) {
  image.height = region.height;
  image.width = region.width;
  image.pixels.resize(std::size_t{3} * static_cast<std::size_t>(region.height) *
                      static_cast<std::size_t>(region.width));
}

Image decode_view(const std::vector<std::byte>& bytes, const std::string& name,
                  const ChooseView& choose) {
  return decoder_of(bytes, name)(bytes, name, choose);
}

Image decode_image(const std::vector<std::byte>& bytes, const std::string& name) {
  return decode_view(bytes, name, whole_image);
}

Image decode_image_header(const std::vector<std::byte>& bytes, const std::string& name) {
  return decoder_of(bytes, name)(bytes, name, nullptr);
}

}  // namespace dataset
