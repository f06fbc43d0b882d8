// Pieces of the product, and their packing.
// Hides nothing else.
#include "workloads/nn/products/pointwise_gradient.h"

#include <omp.h>

#include <algorithm>

namespace nn {
namespace {

constexpr std::int64_t kLanes = 16;
constexpr std::int64_t kPanels = PairGemm::kPanels;

std::int64_t panels_in(const PointwiseGradient::Shape& shape) {
  return shape.out / (kPanels * kLanes);
}
std::int64_t blocks_in(const PointwiseGradient::Shape& shape) {
  return (shape.in + kLanes - 1) / kLanes;
}

}  // namespace

/// Pairs of points of neighbouring blocks of 16 channels. Pairs are counted through all samples.
struct PointwiseGradient::Piece {
  std::int64_t block = 0, blocks = 0, first_pair = 0, pairs = 0;
};

bool PointwiseGradient::fits(const Shape& shape, int threads, const Kernels& kernels) {
  if (!kernels.has_pairs()) return false;
  const bool is_rows = shape.layout == Layout::kRows;
  if (!is_rows && shape.in % kLanes != 0) return false;
  if (shape.out % (kPanels * kLanes) != 0) return false;
  return WeightsSplit::fits(panels_in(shape), blocks_in(shape), threads);
}

PointwiseGradient::PointwiseGradient(const Shape& shape, int threads, const Kernels& kernels)
    : shape_(shape),
      split_(panels_in(shape), blocks_in(shape), threads, shape.in > shape.out),
      kernels_(&kernels) {}

std::int64_t PointwiseGradient::blocks() const { return blocks_in(shape_); }

/// What is packed of the source should stay in the second cache while all panels meet it.
std::int64_t PointwiseGradient::piece() const {
  constexpr std::int64_t kPacked = 512 << 10;
  const std::int64_t bytes_of_pair = split_.blocks_of_part() * 64;
  return std::clamp<std::int64_t>(kPacked / bytes_of_pair, 32, 128);
}

std::int64_t PointwiseGradient::scratch_words() const {
  return (split_.blocks_of_part() + kPanels) * piece() * kLanes;
}

std::int64_t PointwiseGradient::scratch_bytes() const {
  return split_.threads() * scratch_words() * static_cast<std::int64_t>(sizeof(std::uint32_t));
}

/// A sample's last pair may lack its second point.
void PointwiseGradient::pack(const Bf16* activations, std::int64_t channels, const Piece& piece,
                             std::uint32_t* to) const {
  const std::int64_t stride = this->piece() * kLanes;
  // Blocked, a block's points are neighbours; in rows, the blocks of a point are.
  const std::int64_t together = is_rows() ? piece.blocks : 1;
  const std::int64_t row_stride = is_rows() ? channels : kLanes;
  const std::int64_t block_stride = is_rows() ? kLanes : shape_.points * kLanes;
  for (std::int64_t i = 0; i < piece.blocks; i += together) {
    const std::int64_t block = piece.block + i;
    const std::int64_t columns = std::min(together * kLanes, channels - block * kLanes);
    std::uint32_t* next = to + i * stride;
    std::int64_t first = piece.first_pair;
    for (std::int64_t left = piece.pairs; left > 0;) {
      const std::int64_t sample = first / pairs_of_sample(), pair = first % pairs_of_sample();
      const std::int64_t count = std::min(left, pairs_of_sample() - pair);
      const Bf16* const begin = activations + sample * shape_.points * channels +
                                block * block_stride + 2 * pair * row_stride;
      kernels_->pair_gemm.pack(
          {begin, row_stride, std::min(2 * count, shape_.points - 2 * pair), columns}, next,
          stride);
      next += count * kLanes;
      first += count;
      left -= count;
    }
  }
}

GemmSums PointwiseGradient::target(float* diff_weights, std::int64_t panel,
                                   std::int64_t block) const {
  if (is_rows()) {
    constexpr std::int64_t kTile = kLanes * kPanels * kLanes;
    return {diff_weights + (panel * blocks() + block) * kTile, 0, kLanes, kPanels * kLanes};
  }
  constexpr std::int64_t kTile = kLanes * kLanes;
  return {diff_weights + (panel * kPanels * blocks() + block) * kTile, 0, blocks() * kTile, kLanes};
}

void PointwiseGradient::run_part(const WeightsSplit::Part& part, const Bf16* src,
                                 const Bf16* diff_dst, std::int64_t samples, float* diff_weights,
                                 bool add, std::uint32_t* scratch) const {
  const std::int64_t stride = piece() * kLanes;
  std::uint32_t* const panel_pairs = scratch + part.blocks() * stride;
  const auto pairs_of = [&](std::int64_t block) {
    return scratch + (block - part.first_block) * stride;
  };
  const std::int64_t pairs = samples * pairs_of_sample();
  for (std::int64_t first = 0; first < pairs; first += piece()) {
    const std::int64_t count = std::min(piece(), pairs - first);
    for (std::int64_t block = part.first_block; block < part.end_block; block += kPanels) {
      const std::int64_t together = std::min(kPanels, part.end_block - block);
      pack(src, shape_.in, {block, together, first, count}, pairs_of(block));
    }
    for (std::int64_t panel = part.first_panel; panel < part.end_panel; ++panel) {
      pack(diff_dst, shape_.out, {panel * kPanels, kPanels, first, count}, panel_pairs);
      for (std::int64_t block = part.first_block; block < part.end_block; ++block) {
        kernels_->pair_gemm.multiply({.a = pairs_of(block),
                                      .b = panel_pairs,
                                      .b_panel = stride,
                                      .panels = kPanels,
                                      .steps = count},
                                     target(diff_weights, panel, block), add || first > 0);
      }
    }
  }
}

void PointwiseGradient::run(const Bf16* src, const Bf16* diff_dst, std::int64_t samples,
                            float* diff_weights, bool add, std::uint32_t* scratch) const {
  split_.for_each_part([&](const WeightsSplit::Part& part, int thread) {
    run_part(part, src, diff_dst, samples, diff_weights, add, scratch + thread * scratch_words());
  });
}

}  // namespace nn
