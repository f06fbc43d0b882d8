// Pieces of the product, and their packing.
// Hides nothing else.
#include "workloads/nn/pointwise_gradient.h"

#include <omp.h>

#include <algorithm>

namespace nn {
namespace {

constexpr std::int64_t kLanes = 16;
constexpr std::int64_t kPanels = Bf16Products::kPanels;

}  // namespace

/// A thread's share of the weights: panels of 64 output channels, and blocks of 16 input channels.
struct PointwiseGradient::Part {
  std::int64_t first_panel = 0, end_panel = 0, first_block = 0, end_block = 0;
};

/// Pairs of points of neighbouring blocks of 16 channels. Pairs are counted through all samples.
struct PointwiseGradient::Piece {
  std::int64_t block = 0, blocks = 0, first_pair = 0, pairs = 0;
};

bool PointwiseGradient::fits(const Shape& shape, int threads, const Kernels& kernels) {
  if (kernels.bf16_products.multiply == nullptr) return false;
  const bool is_rows = shape.layout == Layout::kRows;
  if (!is_rows && shape.in % kLanes != 0) return false;
  if (shape.out % (kPanels * kLanes) != 0) return false;
  return shape.out / (kPanels * kLanes) % threads == 0 ||
         (shape.in + kLanes - 1) / kLanes % threads == 0;
}

PointwiseGradient::PointwiseGradient(const Shape& shape, int threads, const Kernels& kernels)
    : shape_(shape), threads_(threads), kernels_(&kernels) {}

std::int64_t PointwiseGradient::blocks() const { return (shape_.in + kLanes - 1) / kLanes; }

/// What is packed of the source should stay in the second cache while all panels meet it.
std::int64_t PointwiseGradient::piece() const {
  constexpr std::int64_t kPacked = 512 << 10;
  const std::int64_t bytes_of_pair = blocks() * 64;
  return std::clamp<std::int64_t>(kPacked / bytes_of_pair, 32, 128);
}

std::int64_t PointwiseGradient::scratch_words() const {
  return (blocks() + kPanels) * piece() * kLanes;
}

std::int64_t PointwiseGradient::scratch_bytes() const {
  return threads_ * scratch_words() * static_cast<std::int64_t>(sizeof(std::uint32_t));
}

/// Each thread packs its own part of one operand, and all of the other: of the smaller one, if both
/// can be shared out.
PointwiseGradient::Part PointwiseGradient::part_of(int thread) const {
  const std::int64_t panels = shape_.out / (kPanels * kLanes);
  Part part = {0, panels, 0, blocks()};
  const bool by_blocks =
      blocks() % threads_ == 0 && (shape_.in > shape_.out || panels % threads_ != 0);
  if (by_blocks) {
    part.first_block = blocks() / threads_ * thread;
    part.end_block = part.first_block + blocks() / threads_;
  } else {
    part.first_panel = panels / threads_ * thread;
    part.end_panel = part.first_panel + panels / threads_;
  }
  return part;
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
      kernels_->bf16_products.pack(
          {begin, row_stride, std::min(2 * count, shape_.points - 2 * pair), columns}, next,
          stride);
      next += count * kLanes;
      first += count;
      left -= count;
    }
  }
}

Bf16Products::Sums PointwiseGradient::target(float* diff_weights, std::int64_t panel,
                                             std::int64_t block) const {
  if (is_rows()) {
    constexpr std::int64_t kTile = kLanes * kPanels * kLanes;
    return {diff_weights + (panel * blocks() + block) * kTile, kLanes, kPanels * kLanes};
  }
  constexpr std::int64_t kTile = kLanes * kLanes;
  return {diff_weights + (panel * kPanels * blocks() + block) * kTile, blocks() * kTile, kLanes};
}

void PointwiseGradient::run_part(const Part& part, const Bf16* src, const Bf16* diff_dst,
                                 std::int64_t samples, float* diff_weights, bool add,
                                 std::uint32_t* scratch) const {
  const std::int64_t stride = piece() * kLanes;
  std::uint32_t* const panel_pairs = scratch + blocks() * stride;
  const std::int64_t pairs = samples * pairs_of_sample();
  for (std::int64_t first = 0; first < pairs; first += piece()) {
    const std::int64_t count = std::min(piece(), pairs - first);
    for (std::int64_t block = part.first_block; block < part.end_block; block += kPanels) {
      const std::int64_t together = std::min(kPanels, part.end_block - block);
      pack(src, shape_.in, {block, together, first, count}, scratch + block * stride);
    }
    for (std::int64_t panel = part.first_panel; panel < part.end_panel; ++panel) {
      pack(diff_dst, shape_.out, {panel * kPanels, kPanels, first, count}, panel_pairs);
      for (std::int64_t block = part.first_block; block < part.end_block; ++block) {
        kernels_->bf16_products.multiply(
            {panel_pairs, stride, scratch + block * stride, 1, 1, count, {}, {}},
            target(diff_weights, panel, block), add || first > 0);
      }
    }
  }
}

void PointwiseGradient::run(const Bf16* src, const Bf16* diff_dst, std::int64_t samples,
                            float* diff_weights, bool add, std::uint32_t* scratch) const {
#pragma omp parallel for schedule(static) num_threads(threads_)
  for (int thread = 0; thread < threads_; ++thread) {
    run_part(part_of(thread), src, diff_dst, samples, diff_weights, add,
             scratch + thread * scratch_words());
  }
}

}  // namespace nn
