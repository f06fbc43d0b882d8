// JPEG to RGB by libjpeg, from any of its color spaces, progressive files included.
// libjpeg reports errors by longjmp, so no function that may be left this way has a local object
// with a destructor.
#include <fmt/core.h>
#include <jerror.h>

#include <algorithm>
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

  /// Of images that are decoded from here on.
  void shrink(int factor) {
    info_.scale_num = 1;
    info_.scale_denom = static_cast<unsigned>(factor);
  }

  /// Room for a decoded row of the whole image.
  std::size_t row_bytes() const { return std::size_t{4} * info_.image_width; }

  /// `pixels`: [height, width, 3] of the region; `row`: row_bytes().
  bool read_pixels(const Region& region, std::uint8_t* pixels, std::uint8_t* row) {
    if (setjmp(errors_.jump) != 0) return false;
    // Where more scans could be missing, or an arithmetic decoder would fill up with zeros, only
    // the end mark shows that the file is complete.
    errors_.may_end = !jpeg_has_multiple_scans(&info_) && !info_.arith_code;
    jpeg_start_decompress(&info_);
    const JDIMENSION first = leave_out_columns(region);
    const auto top = static_cast<JDIMENSION>(region.top);
    const auto end = top + static_cast<JDIMENSION>(region.height);
    const std::size_t stride = static_cast<std::size_t>(region.width) * 3;
    if (top > 0) jpeg_skip_scanlines(&info_, top);
    while (info_.output_scanline < end) {
      std::uint8_t* out = pixels + (info_.output_scanline - top) * stride;
      jpeg_read_scanlines(&info_, &row, 1);
      copy_pixels(row, first, static_cast<JDIMENSION>(region.width), out);
    }
    check_rest(row);
    jpeg_finish_decompress(&info_);
    return true;
  }

 private:
  /// Decodes no more columns than needed. Returns the region's first column in those that are left.
  JDIMENSION leave_out_columns(const Region& region) {
    // The outermost columns that are decoded lack neighbours for the upsampling of colors.
    constexpr int kNeighbours = 16;
    const int from = std::max(region.left - kNeighbours, 0);
    const int end =
        std::min(region.left + region.width + kNeighbours, static_cast<int>(info_.output_width));
    auto first = static_cast<JDIMENSION>(from), width = static_cast<JDIMENSION>(end - from);
    if (width < info_.output_width) jpeg_crop_scanline(&info_, &first, &width);
    return static_cast<JDIMENSION>(region.left) - first;
  }

  /// Finds damage in the rows that are not wanted.
  void check_rest(std::uint8_t* row) {
    const JDIMENSION rows = info_.output_height - info_.output_scanline;
    if (rows == 0) return;
    // Skipping to the end would leave the rest of the file unread.
    if (rows > 1) jpeg_skip_scanlines(&info_, rows - 1);
    jpeg_read_scanlines(&info_, &row, 1);
  }

  void copy_pixels(const std::uint8_t* row, JDIMENSION first, JDIMENSION count,
                   std::uint8_t* out) const {
    if (is_cmyk()) {
      convert_cmyk(row + std::size_t{4} * first, count, out);
    } else {
      std::copy_n(row + std::size_t{3} * first, std::size_t{3} * count, out);
    }
  }

  /// Adobe's files store the inverted inks.
  void convert_cmyk(const std::uint8_t* row, JDIMENSION count, std::uint8_t* out) const {
    const bool inverted = info_.saw_Adobe_marker != 0;
    for (JDIMENSION x = 0; x < count; ++x) {
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

Region shrunk(const View& view) {
  const auto up = [&](int end) { return (end - 1) / view.shrink + 1; };
  const Region& region = view.region;
  const int top = region.top / view.shrink, left = region.left / view.shrink;
  return {top, left, up(region.top + region.height) - top, up(region.left + region.width) - left};
}

}  // namespace

Image decode_jpeg(const std::vector<std::byte>& bytes, const std::string& name,
                  const ChooseView& choose) {
  JpegDecoder decoder(bytes);
  if (!decoder.read_header()) {
    throw base::DataError(fmt::format("{}: damaged JPEG header: {}", name, decoder.message()));
  }
  Image image = sized_image(decoder.info().image_height, decoder.info().image_width, name);
  if (!choose) return image;
  const View view = view_of(choose, name, image);
  const Region region = shrunk(view);
  make_room(region, image);
  decoder.shrink(view.shrink);
  std::vector<std::uint8_t> row(decoder.row_bytes());
  if (!decoder.read_pixels(region, image.pixels.data(), row.data())) {
    throw base::DataError(fmt::format("{}: damaged JPEG data: {}", name, decoder.message()));
  }
  image.flaw = decoder.flaw();
  return image;
}

}  // namespace dataset
