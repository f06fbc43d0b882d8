// Images in every encoding that a dataset may contain, for tests.
#pragma once

#include <jpeglib.h>
#include <png.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <vector>

#include "staging/dataset/dataset.h"

namespace dataset {

/// Colors that change slowly, so that JPEG preserves them.
inline Image smooth_image(int height, int width) {
  Image image{height, width, {}};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const auto scaled = [](int value, int count) {
        return static_cast<std::uint8_t>(40 + 160 * value / count);
      };
      image.pixels.insert(image.pixels.end(), {scaled(x, width), scaled(y, height), 120});
    }
  }
  return image;
}

struct JpegForm {
  J_COLOR_SPACE input = JCS_RGB;  ///< color space of the samples passed in
  J_COLOR_SPACE stored = JCS_YCbCr;
  bool progressive = false;
  bool adobe_marker = false;
  int luma_columns = 2, luma_rows = 2;  ///< pixels for each sample of color
  bool arithmetic = false;
};

/// samples: [height, width, components of form.input].
inline std::vector<std::byte> make_jpeg(const std::vector<std::uint8_t>& samples, int height,
                                        int width, int components, const JpegForm& form) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* data = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &data, &size);
  info.image_height = static_cast<JDIMENSION>(height);
  info.image_width = static_cast<JDIMENSION>(width);
  info.input_components = components;
  info.in_color_space = form.input;
  jpeg_set_defaults(&info);
  jpeg_set_colorspace(&info, form.stored);
  info.write_Adobe_marker = form.adobe_marker ? TRUE : FALSE;
  jpeg_set_quality(&info, 95, TRUE);
  if (form.stored == JCS_YCbCr) {
    info.comp_info[0].h_samp_factor = form.luma_columns;
    info.comp_info[0].v_samp_factor = form.luma_rows;
  }
  info.arith_code = form.arithmetic ? TRUE : FALSE;
  if (form.progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    auto* row = const_cast<JSAMPROW>(samples.data()) +
                std::size_t{info.next_scanline} * static_cast<std::size_t>(width * components);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  const auto bytes = std::as_bytes(std::span(data, static_cast<std::size_t>(size)));
  std::vector<std::byte> file(bytes.begin(), bytes.end());
  std::free(data);
  return file;
}

/// png_format: the format of `samples`, such as PNG_FORMAT_RGB, PNG_FORMAT_GRAY or PNG_FORMAT_RGBA.
inline std::vector<std::byte> make_png(const std::vector<std::uint8_t>& samples, int height,
                                       int width, unsigned png_format) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.height = static_cast<png_uint_32>(height);
  image.width = static_cast<png_uint_32>(width);
  image.format = png_format;
  png_alloc_size_t size = 0;
  png_image_write_to_memory(&image, nullptr, &size, 0, samples.data(), 0, nullptr);
  std::vector<std::byte> file(size);
  png_image_write_to_memory(&image, file.data(), &size, 0, samples.data(), 0, nullptr);
  file.resize(size);
  return file;
}

}  // namespace dataset
