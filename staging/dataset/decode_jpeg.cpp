// JPEG to RGB by libjpeg, from any of its color spaces, progressive files included.
// libjpeg reports errors by longjmp, so no function that may be left this way has a local object
// with a destructor.
#include <fmt/core.h>
#include <jerror.h>

#include <csetjmp>

#include "runner/base/error.h"
#include "staging/dataset/image_codecs.h"
#include "staging/dataset/jpeg_errors.h"

namespace dataset {
namespace {

/// Warnings mean damaged pixels, and so are errors, except for header fields that have no effect,
/// stray bytes between segments, and a missing end mark.
void judge_message(j_common_ptr info, int level) {
  if (level >= 0) return;
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  switch (info->err->msg_code) {
    case JWRN_ADOBE_XFORM:
    case JWRN_JFIF_MAJOR:
    case JWRN_NOT_SEQUENTIAL:
      return;
    case JWRN_JPEG_EOF:
      if (!errors->may_end) leave_libjpeg(info);
      break;
    case JWRN_EXTRANEOUS_DATA:
      break;
    default:
      leave_libjpeg(info);
  }
  info->err->format_message(info, errors->flaw.data());
}

/// A decoder and its error state: PODs except for the destructor.
class JpegDecoder {
 public:
  explicit JpegDecoder(const std::vector<std::byte>& bytes) {
    info_.err = jpeg_std_error(&errors_.manager);
    errors_.manager.error_exit = leave_libjpeg;
    errors_.manager.emit_message = judge_message;
    jpeg_create_decompress(&info_);
    jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  }
  ~JpegDecoder() { jpeg_destroy_decompress(&info_); }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  const char* message() const { return errors_.message.data(); }
  const char* flaw() const { return errors_.flaw.data(); }
  const jpeg_decompress_struct& info() const { return info_; }
  bool is_cmyk() const { return info_.out_color_space == JCS_CMYK; }

  bool read_header() {
    if (setjmp(errors_.jump) != 0) return false;
    jpeg_read_header(&info_, TRUE);
    const bool is_cmyk_file =
        info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK;
    info_.out_color_space = is_cmyk_file ? JCS_CMYK : JCS_RGB;
    info_.dct_method = JDCT_ISLOW;
    info_.do_fancy_upsampling = TRUE;
    info_.do_block_smoothing = FALSE;
    return true;
  }

  /// `pixels`: [height, width, 3]; `row`: [width, 4], used for CMYK.
  bool read_pixels(std::uint8_t* pixels, std::uint8_t* row) {
    if (setjmp(errors_.jump) != 0) return false;
    // Where more scans could be missing, or an arithmetic decoder would fill up with zeros, only
    // the end mark shows that the file is complete.
    errors_.may_end = !jpeg_has_multiple_scans(&info_) && !info_.arith_code;
    jpeg_start_decompress(&info_);
    const std::size_t stride = std::size_t{info_.output_width} * 3;
    while (info_.output_scanline < info_.output_height) {
      std::uint8_t* out = pixels + info_.output_scanline * stride;
      JSAMPROW target = is_cmyk() ? row : out;
      jpeg_read_scanlines(&info_, &target, 1);
      if (is_cmyk()) convert_cmyk(row, out);
    }
    jpeg_finish_decompress(&info_);
    return true;
  }

 private:
  /// Adobe's files store the inverted inks.
  void convert_cmyk(const std::uint8_t* row, std::uint8_t* out) const {
    const bool inverted = info_.saw_Adobe_marker != 0;
    for (JDIMENSION x = 0; x < info_.output_width; ++x) {
      const int k = inverted ? row[4 * x + 3] : 255 - row[4 * x + 3];
      for (JDIMENSION c = 0; c < 3; ++c) {
        const int ink = inverted ? row[4 * x + c] : 255 - row[4 * x + c];
        out[3 * x + c] = static_cast<std::uint8_t>((ink * k + 127) / 255);
      }
    }
  }

  jpeg_decompress_struct info_{};
  JpegErrors errors_{};
};

}  // namespace

void decode_jpeg(const std::vector<std::byte>& bytes, const std::string& name, Extent extent,
                 Image& image) {
  JpegDecoder decoder(bytes);
  if (!decoder.read_header()) {
    throw base::DataError(fmt::format("{}: damaged JPEG header: {}", name, decoder.message()));
  }
  shape_image(decoder.info().image_height, decoder.info().image_width, name, extent, image);
  if (extent == Extent::kHeader) return;
  std::vector<std::uint8_t> row(decoder.is_cmyk() ? std::size_t{4} * decoder.info().image_width
                                                  : 0);
  if (!decoder.read_pixels(image.pixels.data(), row.data())) {
    throw base::DataError(fmt::format("{}: damaged JPEG data: {}", name, decoder.message()));
  }
  image.flaw = decoder.flaw();
}

}  // namespace dataset
