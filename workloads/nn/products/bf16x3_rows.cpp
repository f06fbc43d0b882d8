// Splits rows, with columns grouped by remainder.
#include "workloads/nn/products/bf16x3_rows.h"

#include <algorithm>
#include <limits>

#include "runner/base/ceil_div.h"

namespace nn {

Bf16x3Rows::Bf16x3Rows(const Bf16x3Axis& rows, const Bf16x3Axis& columns, std::int64_t blocks)
    : rows_(rows.from),
      columns_(columns.from),
      blocks_(blocks),
      row_step_(rows.step),
      step_(columns.step),
      first_reach_(std::numeric_limits<std::int64_t>::max()),
      last_reach_(std::numeric_limits<std::int64_t>::min()) {
  for (const auto& phase : columns.phases) {
    for (const Bf16x3Axis::Tap& tap : phase) {
      const std::int64_t reach = floored(tap.offset, step_), rest = tap.offset - reach * step_;
      if (std::find(remainders_.begin(), remainders_.end(), rest) == remainders_.end())
        remainders_.push_back(rest);
      first_reach_ = std::min(first_reach_, reach);
      last_reach_ = std::max(last_reach_, reach);
    }
  }
}

std::int64_t Bf16x3Rows::place_of(const Bf16x3Axis::Tap& tap) const {
  const std::int64_t reach = floored(tap.offset, step_);
  const std::int64_t rest =
      std::find(remainders_.begin(), remainders_.end(), tap.offset - reach * step_) -
      remainders_.begin();
  return (rest * width() + reach - first_reach_) * kBlock;
}

void Bf16x3Rows::bring(const float* image, std::int64_t row, const Columns& columns,
                       const Steps& steps, const Bf16x3Gemm& tiles, std::uint32_t* to) const {
  const std::int64_t begin = columns.first + first_reach_;
  const std::int64_t end = columns.first + columns.count + last_reach_;
  const std::int64_t block_stride = rows_ * columns_ * kBlock;
  const std::int64_t ahead = (rows_ > 1 ? row_step_ * columns_ : strip_) * kBlock;
  for (std::int64_t step = 0; step < steps.count; ++step, to += step_words()) {
    const std::int64_t block = 2 * (steps.first + step);
    std::uint32_t* words = to;
    for (const std::int64_t rest : remainders_) {
      // Quotients of columns inside the image.
      const std::int64_t last = std::clamp(base::ceil_div(columns_ - rest, step_), begin, end);
      const std::int64_t first = row < 0 ? last : std::clamp<std::int64_t>(0, begin, last);
      for (std::int64_t part = 0; part < Bf16x3Gemm::kParts; ++part) {
        std::uint32_t* const line = words + part * part_words();
        std::fill(line, line + (first - begin) * kBlock, 0U);
        std::fill(line + (last - begin) * kBlock, line + (end - begin) * kBlock, 0U);
      }
      if (first < last) {
        const float* const met =
            image + block * block_stride + (row * columns_ + first * step_ + rest) * kBlock;
        tiles.split({met, block + 1 < blocks_ ? met + block_stride : nullptr, step_ * kBlock,
                     last - first, ahead},
                    words + (first - begin) * kBlock, part_words());
      }
      words += width() * kBlock;
    }
  }
}

}  // namespace nn
