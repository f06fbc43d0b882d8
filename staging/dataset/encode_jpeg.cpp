// RGB to JPEG by libjpeg.
// libjpeg reports errors by longjmp, so no function that may be left this way has a local object
// with a destructor.
#include <fmt/core.h>

#include <csetjmp>
#include <cstdlib>

#include "runner/base/error.h"
#include "staging/dataset/encode.h"
#include "staging/dataset/jpeg_errors.h"

namespace dataset {
namespace {

class JpegEncoder {
 public:
  JpegEncoder() {
    info_.err = jpeg_std_error(&errors_.manager);
    errors_.manager.error_exit = leave_libjpeg;
    jpeg_create_compress(&info_);
    jpeg_mem_dest(&info_, &data_, &size_);
  }
  ~JpegEncoder() {
    jpeg_destroy_compress(&info_);
    std::free(data_);
  }
  JpegEncoder(const JpegEncoder&) = delete;
  JpegEncoder& operator=(const JpegEncoder&) = delete;

  const char* message() const { return errors_.message.data(); }
  std::span<const std::byte> data() const {
    return std::as_bytes(std::span(data_, static_cast<std::size_t>(size_)));
  }

  bool encode(const std::uint8_t* pixels, int height, int width, int quality) {
    if (setjmp(errors_.jump) != 0) return false;
    info_.image_height = static_cast<JDIMENSION>(height);
    info_.image_width = static_cast<JDIMENSION>(width);
    info_.input_components = 3;
    info_.in_color_space = JCS_RGB;
    jpeg_set_defaults(&info_);
    jpeg_set_quality(&info_, quality, TRUE);
    info_.dct_method = JDCT_ISLOW;
    jpeg_start_compress(&info_, TRUE);
    while (info_.next_scanline < info_.image_height) {
      // libjpeg does not write to rows, though its signature lacks the const.
      auto* row = const_cast<JSAMPROW>(pixels) +
                  std::size_t{info_.next_scanline} * 3 * static_cast<std::size_t>(width);
      jpeg_write_scanlines(&info_, &row, 1);
    }
    jpeg_finish_compress(&info_);
    return true;
  }

 private:
  jpeg_compress_struct info_{};
  JpegErrors errors_{};
  unsigned char* data_ = nullptr;
  unsigned long size_ = 0;
};

}  // namespace

std::vector<std::byte> encode_jpeg(const Image& image, int quality) {
  JpegEncoder encoder;
  if (!encoder.encode(image.pixels.data(), image.height, image.width, quality)) {
    throw base::SystemError(fmt::format("libjpeg: cannot encode an image of {} x {}: {}",
                                        image.height, image.width, encoder.message()));
  }
  return {encoder.data().begin(), encoder.data().end()};
}

}  // namespace dataset
