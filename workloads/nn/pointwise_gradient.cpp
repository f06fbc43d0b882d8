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

bool PointwiseGradient::fits(const Shape& shape, int threads, const Kernels& kernels) {
  if (kernels.bf16_products.multiply == nullptr) return false;
  if (shape.in % kLanes != 0 || shape.out % (kPanels * kLanes) != 0) return false;
  return shape.out / (kPanels * kLanes) % threads == 0 || shape.in / kLanes % threads == 0;
}

PointwiseGradient::PointwiseGradient(const Shape& shape, int threads, const Kernels& kernels)
    : shape_(shape), threads_(threads), kernels_(&kernels) {}

/// What is packed of the source should stay in the second cache while all panels meet it.
std::int64_t PointwiseGradient::piece() const {
  constexpr std::int64_t kPacked = 512 << 10;
  const std::int64_t bytes_of_pair = shape_.in / kLanes * 64;
  return std::clamp<std::int64_t>(kPacked / bytes_of_pair, 32, 128);
}

std::int64_t PointwiseGradient::scratch_words() const {
  return (shape_.in / kLanes + kPanels) * piece() * kLanes;
}

std::int64_t PointwiseGradient::scratch_bytes() const {
  return threads_ * scratch_words() * static_cast<std::int64_t>(sizeof(std::uint32_t));
}

PointwiseGradient::Part PointwiseGradient::part_of(int thread) const {
  const std::int64_t panels = shape_.out / (kPanels * kLanes), blocks = shape_.in / kLanes;
  Part part = {0, panels, 0, blocks};
  if (panels % threads_ == 0) {
    part.first_panel = panels / threads_ * thread;
    part.end_panel = part.first_panel + panels / threads_;
  } else {
    part.first_block = blocks / threads_ * thread;
    part.end_block = part.first_block + blocks / threads_;
  }
  return part;
}

/// Pairs are counted through all samples; a sample's last one may lack its second row.
void PointwiseGradient::pack(const Bf16* activations, std::int64_t channels, std::int64_t block,
                             std::int64_t first_pair, std::int64_t pairs, std::uint32_t* to) const {
  while (pairs > 0) {
    const std::int64_t sample = first_pair / pairs_of_sample();
    const std::int64_t pair = first_pair % pairs_of_sample();
    const std::int64_t count = std::min(pairs, pairs_of_sample() - pair);
    const Bf16* const rows =
        activations + ((sample * (channels / kLanes) + block) * shape_.points + 2 * pair) * kLanes;
    kernels_->bf16_products.pack(rows, std::min(2 * count, shape_.points - 2 * pair), to);
    to += count * kLanes;
    first_pair += count;
    pairs -= count;
  }
}

void PointwiseGradient::run_part(const Part& part, const Bf16* src, const Bf16* diff_dst,
                                 std::int64_t samples, float* diff_weights, bool add,
                                 std::uint32_t* scratch) const {
  const std::int64_t blocks = shape_.in / kLanes;
  const std::int64_t stride = piece() * kLanes;
  std::uint32_t* const panel_pairs = scratch + blocks * stride;
  const std::int64_t pairs = samples * pairs_of_sample();
  for (std::int64_t first = 0; first < pairs; first += piece()) {
    const std::int64_t count = std::min(piece(), pairs - first);
    for (std::int64_t block = part.first_block; block < part.end_block; ++block) {
      pack(src, shape_.in, block, first, count, scratch + block * stride);
    }
    for (std::int64_t panel = part.first_panel; panel < part.end_panel; ++panel) {
      for (std::int64_t i = 0; i < kPanels; ++i) {
        pack(diff_dst, shape_.out, panel * kPanels + i, first, count, panel_pairs + i * stride);
      }
      for (std::int64_t block = part.first_block; block < part.end_block; ++block) {
        float* const target = diff_weights + (panel * kPanels * blocks + block) * kLanes * kLanes;
        kernels_->bf16_products.multiply(panel_pairs, stride, scratch + block * stride, count,
                                         target, blocks * kLanes * kLanes, add || first > 0);
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
