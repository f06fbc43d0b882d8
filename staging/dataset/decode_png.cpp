// PNG to RGB by libpng; transparency is dropped.
// libpng reports errors by longjmp, so no function that may be left this way has a local object
// with a destructor.
#include <fmt/core.h>
#include <png.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "runner/base/error.h"
#include "staging/dataset/image_codecs.h"

namespace dataset {
namespace {

constexpr std::int64_t kChannels = 3;

struct PngSource {
  const std::byte* data;
  std::size_t size, position;
  std::array<char, 200> message;
};

[[noreturn]] void leave_libpng(png_structp png, png_const_charp message) {
  auto* source = static_cast<PngSource*>(png_get_error_ptr(png));
  std::strncpy(source->message.data(), message, source->message.size() - 1);
  png_longjmp(png, 1);
}

void ignore_warning(png_structp, png_const_charp) {}

void feed(png_structp png, png_bytep out, std::size_t size) {
  auto* source = static_cast<PngSource*>(png_get_io_ptr(png));
  if (size > source->size - source->position) png_error(png, "the file ends early");
  std::memcpy(out, source->data + source->position, size);
  source->position += size;
}

/// A decoder and its error state.
class PngDecoder {
 public:
  explicit PngDecoder(const std::vector<std::byte>& bytes)
      : source_{bytes.data(), bytes.size(), 0, {}} {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &source_, leave_libpng, ignore_warning);
    info_ = png_ == nullptr ? nullptr : png_create_info_struct(png_);
    if (info_ == nullptr) throw base::SystemError("libpng: no memory for a decoder");
    png_set_read_fn(png_, &source_, feed);
  }
  ~PngDecoder() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;

  const char* message() const { return source_.message.data(); }
  std::int64_t height() const { return png_get_image_height(png_, info_); }
  std::int64_t width() const { return png_get_image_width(png_, info_); }

  bool read_header() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_read_info(png_, info_);
    return true;
  }

  bool read_pixels(std::uint8_t* pixels) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_expand(png_);
    png_set_strip_16(png_);
    png_set_strip_alpha(png_);
    png_set_gray_to_rgb(png_);
    const int passes = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    const auto stride = static_cast<std::size_t>(width()) * 3;
    if (png_get_rowbytes(png_, info_) != stride) png_error(png_, "rows are not RGB");
    for (int pass = 0; pass < passes; ++pass) {
      for (std::int64_t y = 0; y < height(); ++y) {
        png_read_row(png_, pixels + static_cast<std::size_t>(y) * stride, nullptr);
      }
    }
    png_read_end(png_, nullptr);
    return true;
  }

 private:
  PngSource source_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

}  // namespace

Image decode_png(const std::vector<std::byte>& bytes, const std::string& name,
                 const ChooseView& choose) {
  PngDecoder decoder(bytes);
  if (!decoder.read_header()) {
    throw base::DataError(fmt::format("{}: damaged PNG header: {}", name, decoder.message()));
  }
  Image image = sized_image(decoder.height(), decoder.width(), name);
  if (!choose) return image;
  const Region region = view_of(choose, name, image).region;
  make_room(region, image);
  std::vector<std::uint8_t> all(
      static_cast<std::size_t>(decoder.height() * decoder.width() * kChannels));
  if (!decoder.read_pixels(all.data())) {
    throw base::DataError(fmt::format("{}: damaged PNG data: {}", name, decoder.message()));
  }
  const auto row_bytes = std::ptrdiff_t{kChannels} * region.width;
  for (int y = 0; y < region.height; ++y) {
    const auto from = all.begin() + kChannels * ((region.top + y) * decoder.width() + region.left);
    std::copy_n(from, row_bytes, image.pixels.begin() + y * row_bytes);
  }
  return image;
}

}  // namespace dataset
