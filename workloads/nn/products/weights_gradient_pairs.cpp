// PairGradient: packing and multiplication piece by piece.
#include "workloads/nn/products/weights_gradient_pairs.h"

#include <algorithm>
#include <vector>

#include "runner/base/ceil_div.h"
#include "workloads/kernels/tiling.h"

namespace nn {
/// Lines of one image, or all lines of several.
struct PairGradient::Piece {
  std::int64_t image = 0, images = 0, line = 0, lines = 0;
  std::vector<GemmOffsets> offsets;  ///< of lines of `from`, and of those of `to`
};

bool PairGradient::applies(const WindowShape& shape, int threads, const Kernels& kernels) {
  if (!kernels.has_pairs()) return false;
  if (shape.in % kLanes != 0 || shape.out % (PairGemm::kPanels * kLanes) != 0) return false;
  return WeightsSplit::applies(shape.out / (PairGemm::kPanels * kLanes), shape.in / kLanes,
                               threads);
}

/// Pieces are sized so that a panel's pairs stay in the L1 cache while they are multiplied with all
/// blocks and taps. Blocks are packed for each column of a window.
PairGradient::PairGradient(const WindowShape& shape, int threads, const Kernels& kernels)
    : shape_(shape),
      split_(shape.out / (PairGemm::kPanels * kLanes), shape.in / kLanes, threads,
             shape.taps() > 1 || shape.in > shape.out),
      kernels_(&kernels) {
  constexpr std::int64_t kPairs = 128;
  const std::int64_t line_pairs = line_words() / kLanes, lines = shape.rows.to;
  most_images_ = std::max<std::int64_t>(1, kPairs / (lines * line_pairs));
  const std::int64_t fitting = std::clamp<std::int64_t>(kPairs / line_pairs, 1, lines);
  const std::int64_t strips = base::ceil_div(lines, fitting);
  most_lines_ = base::ceil_div(lines, strips);
}

std::int64_t PairGradient::panels() const { return shape_.out / (PairGemm::kPanels * kLanes); }
std::int64_t PairGradient::blocks() const { return shape_.in / kLanes; }
std::int64_t PairGradient::line_words() const { return (shape_.columns.to + 1) / 2 * kLanes; }
std::int64_t PairGradient::met_lines(std::int64_t lines) const {
  return (lines - 1) * shape_.rows.stride + shape_.rows.kernel;
}
std::int64_t PairGradient::to_words() const { return most_images_ * most_lines_ * line_words(); }
std::int64_t PairGradient::from_words() const {
  return shape_.columns.kernel * most_images_ * met_lines(most_lines_) * line_words();
}
std::int64_t PairGradient::scratch_words() const {
  return PairGemm::kPanels * to_words() + split_.blocks_of_part() * from_words();
}
std::int64_t PairGradient::scratch_bytes() const {
  return split_.threads() * scratch_words() * static_cast<std::int64_t>(sizeof(std::uint32_t));
}

PairGradient::Piece PairGradient::piece_of(std::int64_t image, std::int64_t images,
                                           std::int64_t line) const {
  Piece piece = {image, images, line, std::min(most_lines_, shape_.rows.to - line), {}};
  for (std::int64_t i = 0; i < images; ++i) {
    for (std::int64_t k = 0; k < piece.lines; ++k) {
      piece.offsets.push_back({(i * met_lines(piece.lines) + k * shape_.rows.stride) * line_words(),
                               (i * piece.lines + k) * line_words()});
    }
  }
  return piece;
}

void PairGradient::pack_to(const Bf16* to, std::int64_t panel, const Piece& piece,
                           std::uint32_t* pairs) const {
  const std::int64_t width = shape_.columns.to, all_blocks = panels() * PairGemm::kPanels;
  for (std::int64_t i = 0; i < PairGemm::kPanels; ++i) {
    std::uint32_t* next = pairs + i * to_words();
    for (std::int64_t image = piece.image; image < piece.image + piece.images; ++image) {
      const Bf16* const plane = to + (image * all_blocks + panel * PairGemm::kPanels + i) *
                                         shape_.rows.to * width * kLanes;
      for (std::int64_t line = piece.line; line < piece.line + piece.lines; ++line) {
        kernels_->pair_gemm.pack_points({plane + line * width * kLanes, width, 0, 1, width}, next);
        next += line_words();
      }
    }
  }
}

/// Packs the pixels that each column of windows reads, in lines as long as those of `to`.
void PairGradient::pack_from(const Bf16* from, std::int64_t block, const Piece& piece,
                             std::uint32_t* pairs) const {
  const WindowAxis& rows = shape_.rows;
  const WindowAxis& columns = shape_.columns;
  const std::int64_t first_line = piece.line * rows.stride - rows.padding;
  for (std::int64_t tap = 0; tap < columns.kernel; ++tap) {
    std::uint32_t* next = pairs + tap * (from_words() / columns.kernel);
    for (std::int64_t image = piece.image; image < piece.image + piece.images; ++image) {
      const Bf16* const plane =
          from + (image * blocks() + block) * rows.from * columns.from * kLanes;
      for (std::int64_t i = 0; i < met_lines(piece.lines); ++i, next += line_words()) {
        const std::int64_t line = first_line + i;
        const bool is_there = line >= 0 && line < rows.from;
        kernels_->pair_gemm.pack_points(
            {plane + (is_there ? line * columns.from * kLanes : 0), is_there ? columns.from : 0,
             tap - columns.padding, columns.stride, columns.to},
            next);
      }
    }
  }
}

/// Multiplies all taps of a panel and a block, whose weights begin at `diff_weights`.
void PairGradient::multiply(const std::uint32_t* to, const std::uint32_t* from, const Piece& piece,
                            float* diff_weights, bool add) const {
  const std::int64_t taps = shape_.taps();
  GemmOperands operands = {.b = to,
                           .b_panel = to_words(),
                           .panels = PairGemm::kPanels,
                           .steps = line_words() / kLanes,
                           .offsets = piece.offsets.data(),
                           .batch = std::ssize(piece.offsets)};
  // The rows of a window's column share packed pixels in the L1 cache.
  for (std::int64_t column = 0; column < shape_.columns.kernel; ++column) {
    for (std::int64_t row = 0; row < shape_.rows.kernel; ++row) {
      const std::int64_t tap = row * shape_.columns.kernel + column;
      operands.a = from + column * (from_words() / shape_.columns.kernel) + row * line_words();
      kernels_->pair_gemm.multiply(
          operands, {diff_weights + tap * kTileWords, 0, blocks() * taps * kTileWords, kLanes},
          add);
    }
  }
}

void PairGradient::run_part(const WeightsSplit::Part& part, const Bf16* from, const Bf16* to,
                            std::int64_t samples, float* diff_weights, bool add,
                            std::uint32_t* scratch) const {
  const std::int64_t taps = shape_.taps();
  std::uint32_t* const to_pairs = scratch + part.blocks() * from_words();
  const auto from_pairs = [&](std::int64_t block) {
    return scratch + (block - part.first_block) * from_words();
  };
  for (std::int64_t image = 0; image < samples; image += most_images_) {
    const std::int64_t images = std::min(most_images_, samples - image);
    for (std::int64_t line = 0; line < shape_.rows.to; line += most_lines_) {
      const Piece piece = piece_of(image, images, line);
      for (std::int64_t block = part.first_block; block < part.end_block; ++block) {
        pack_from(from, block, piece, from_pairs(block));
      }
      for (std::int64_t panel = part.first_panel; panel < part.end_panel; ++panel) {
        pack_to(to, panel, piece, to_pairs);
        for (std::int64_t block = part.first_block; block < part.end_block; ++block) {
          multiply(
              to_pairs, from_pairs(block), piece,
              diff_weights + (panel * PairGemm::kPanels * blocks() + block) * taps * kTileWords,
              add || image > 0 || line > 0);
        }
      }
    }
  }
}

void PairGradient::run(const Bf16* from, const Bf16* to, std::int64_t samples, float* diff_weights,
                       bool add, std::uint32_t* scratch) const {
  split_.for_each_part([&](const WeightsSplit::Part& part, int thread) {
    run_part(part, from, to, samples, diff_weights, add, scratch + thread * scratch_words());
  });
}

}  // namespace nn
