// Windows within the image, and copies of those beside it.
// Hides nothing else.
#include "workloads/nn/products/image_windows.h"

#include <algorithm>

namespace nn {
namespace {

constexpr std::int64_t kLanes = 16;
constexpr std::int64_t kTileWords = kLanes * kLanes;
constexpr std::int64_t kRows = Bf16Tiles::kRows;  // numbers of a line of memory, too

}  // namespace

bool ImageWindows::fits(const WindowShape& shape) {
  const std::int64_t numbers = shape.columns.kernel * shape.in;
  return numbers % kLanes == 0 && numbers >= kRows && shape.out % kLanes == 0 &&
         shape.columns.to >= kLanes;
}

ImageWindows::ImageWindows(const WindowShape& shape, const Kernels& kernels)
    : shape_(shape), kernels_(&kernels) {
  const WindowAxis& across = shape.columns;
  first_ = std::min((across.padding + across.stride - 1) / across.stride, across.to);
  const std::int64_t last =
      across.from - across.kernel + across.padding;  // that a window begins at
  end_ = last < 0 ? first_ : std::clamp(last / across.stride + 1, first_, across.to);
  // A tile's rows that straddle lines take twice as long to load.
  const std::int64_t begin = (first_ * across.stride - across.padding) * shape.in;
  is_half_first_ = row_numbers() % kRows != 0 && begin % kRows == kRows / 2 &&
                   across.stride * shape.in % kRows == 0 && across.from * shape.in % kRows == 0;
}

ImageWindows::Numbers ImageWindows::numbers_of(std::int64_t part) const {
  const std::int64_t before = is_half_first_ ? kRows / 2 : 0;
  const std::int64_t end = (part + 1) * kRows - before;
  return {std::max<std::int64_t>(0, part * kRows - before), std::min(end, row_numbers())};
}

Bf16Tiles::Windows ImageWindows::windows_of(std::int64_t lines, Stores stores) const {
  Bf16Tiles::Windows windows;
  windows.lines = lines;
  windows.parts = row_numbers() / kRows;
  windows.has_half = row_numbers() % kRows != 0;
  windows.is_half_first = is_half_first_;
  windows.channels = shape_.out;
  windows.part_words = shape_.out / kLanes * kTileWords;
  windows.panel_words = kTileWords;
  windows.stores = stores;
  return windows;
}

/// Of a row's windows those that stand within it, but for lines above and below the image.
void ImageWindows::multiply_inner(const Bf16* image, std::int64_t row, const std::uint32_t* weights,
                                  Stores stores, Bf16* dst) const {
  const WindowAxis& down = shape_.rows;
  const WindowAxis& across = shape_.columns;
  const std::int64_t y = row * down.stride - down.padding;
  const std::int64_t begin = std::clamp<std::int64_t>(-y, 0, down.kernel);
  const std::int64_t end = std::clamp<std::int64_t>(down.from - y, begin, down.kernel);
  Bf16Tiles::Windows windows = windows_of(end - begin, stores);
  windows.line_step = across.from * shape_.in;
  windows.point_step = across.stride * shape_.in;
  windows.dst_point_step = shape_.out;
  const std::int64_t column = first_ * across.stride - across.padding;
  kernels_->bf16_tiles.multiply_windows(image + ((y + begin) * across.from + column) * shape_.in,
                                        weights + begin * parts() * windows.part_words, windows, 1,
                                        end_ - first_, dst + first_ * shape_.out);
}

/// The window `point` of all these rows: of copies with zeros beside the image.
void ImageWindows::multiply_edge(const Bf16* image, const Rows& rows, std::int64_t point,
                                 const std::uint32_t* weights, Stores stores, Bf16* dst) const {
  const WindowAxis& down = shape_.rows;
  const WindowAxis& across = shape_.columns;
  const std::int64_t column = point * across.stride - across.padding;
  const std::int64_t first = std::clamp<std::int64_t>(column, 0, across.from);
  const std::int64_t end = std::clamp<std::int64_t>(column + across.kernel, first, across.from);
  const std::int64_t count = rows.end - rows.first;
  std::vector<Bf16> met(static_cast<std::size_t>(count * down.kernel * row_numbers()), Bf16{0});
  for (std::int64_t i = 0; i < count * down.kernel; ++i) {
    const std::int64_t row = rows.first + i / down.kernel;
    const std::int64_t y = row * down.stride - down.padding + i % down.kernel;
    if (y < 0 || y >= down.from) continue;
    const Bf16* const line = image + y * across.from * shape_.in;
    std::copy(line + first * shape_.in, line + end * shape_.in,
              met.data() + i * row_numbers() + (first - column) * shape_.in);
  }
  Bf16Tiles::Windows windows = windows_of(down.kernel, stores);
  windows.line_step = row_numbers();
  windows.point_step = down.kernel * row_numbers();
  windows.dst_point_step = across.to * shape_.out;
  kernels_->bf16_tiles.multiply_windows(met.data(), weights, windows, 1, count,
                                        dst + point * shape_.out);
}

void ImageWindows::multiply(const Bf16* image, const Rows& rows, const std::uint32_t* weights,
                            Stores stores, Bf16* dst) const {
  const std::int64_t row_size = shape_.columns.to * shape_.out;
  for (std::int64_t row = rows.first; first_ < end_ && row < rows.end; ++row) {
    multiply_inner(image, row, weights, stores, dst + (row - rows.first) * row_size);
  }
  for (std::int64_t point = 0; point < first_; ++point) {
    multiply_edge(image, rows, point, weights, stores, dst);
  }
  for (std::int64_t point = end_; point < shape_.columns.to; ++point) {
    multiply_edge(image, rows, point, weights, stores, dst);
  }
}

}  // namespace nn
