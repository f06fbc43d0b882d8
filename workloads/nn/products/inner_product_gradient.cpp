// InnerProductGradient: packing and multiplication piece by piece.
#include "workloads/nn/products/inner_product_gradient.h"

#include <algorithm>

#include "runner/base/ceil_div.h"
#include "workloads/kernels/tiling.h"

namespace nn {
namespace {

constexpr std::int64_t kPanelChannels = PairGemm::kPanels * kLanes;

std::int64_t blocks_in(const InnerProductGradient::Shape& shape) {
  return base::ceil_div(shape.in, kLanes);
}

}  // namespace

bool InnerProductGradient::applies(const Shape& shape, int threads, const Kernels& kernels) {
  return kernels.has_pairs() && shape.out % kPanelChannels == 0 &&
         WeightsSplit::applies(shape.out / kPanelChannels, blocks_in(shape), threads);
}

InnerProductGradient::InnerProductGradient(const Shape& shape, int threads, const Kernels& kernels)
    : shape_(shape),
      split_(shape.out / kPanelChannels, blocks_in(shape), threads, shape.in > shape.out),
      kernels_(&kernels) {}

/// Chosen so that the packed source stays in the L2 cache while all panels are multiplied with it.
std::int64_t InnerProductGradient::piece() const {
  constexpr std::int64_t kPacked = 512 << 10;
  const std::int64_t bytes_of_pair = split_.blocks_of_part() * 64;
  return std::clamp<std::int64_t>(kPacked / bytes_of_pair, 32, 128);
}

std::int64_t InnerProductGradient::scratch_words() const {
  return (split_.blocks_of_part() + PairGemm::kPanels) * piece() * kLanes;
}

std::int64_t InnerProductGradient::scratch_bytes() const {
  return split_.threads() * scratch_words() * static_cast<std::int64_t>(sizeof(std::uint32_t));
}

void InnerProductGradient::pack(const Bf16* activations, std::int64_t channels,
                                const Blocks& blocks, std::int64_t first, std::uint32_t* to) const {
  const std::int64_t row = 2 * first, column = blocks.block * kLanes;
  const std::int64_t rows = std::min(2 * piece(), shape_.rows - row);
  const std::int64_t columns = std::min(blocks.count * kLanes, channels - column);
  kernels_->pair_gemm.pack({activations + row * channels + column, channels, rows, columns}, to,
                           piece() * kLanes);
}

void InnerProductGradient::run_part(const WeightsSplit::Part& part, const Bf16* src,
                                    const Bf16* diff_dst, float* diff_weights, bool add,
                                    std::uint32_t* scratch) const {
  constexpr std::int64_t kTile = kLanes * kPanelChannels;
  const std::int64_t stride = piece() * kLanes;
  std::uint32_t* const panel_words = scratch + part.blocks() * stride;
  const auto words_of = [&](std::int64_t block) {
    return scratch + (block - part.first_block) * stride;
  };
  for (std::int64_t first = 0; first < pairs(); first += piece()) {
    const std::int64_t count = std::min(piece(), pairs() - first);
    for (std::int64_t block = part.first_block; block < part.end_block;
         block += PairGemm::kPanels) {
      const std::int64_t together =
          std::min<std::int64_t>(PairGemm::kPanels, part.end_block - block);
      pack(src, shape_.in, {block, together}, first, words_of(block));
    }
    for (std::int64_t panel = part.first_panel; panel < part.end_panel; ++panel) {
      pack(diff_dst, shape_.out, {panel * PairGemm::kPanels, PairGemm::kPanels}, first,
           panel_words);
      for (std::int64_t block = part.first_block; block < part.end_block; ++block) {
        kernels_->pair_gemm.multiply(
            {.a = words_of(block),
             .b = panel_words,
             .b_panel = stride,
             .panels = PairGemm::kPanels,
             .steps = count},
            {diff_weights + (panel * blocks_in(shape_) + block) * kTile, 0, kLanes, kPanelChannels},
            add || first > 0);
      }
    }
  }
}

void InnerProductGradient::run(const Bf16* src, const Bf16* diff_dst, float* diff_weights, bool add,
                               std::uint32_t* scratch) const {
  split_.for_each_part([&](const WeightsSplit::Part& part, int thread) {
    run_part(part, src, diff_dst, diff_weights, add, scratch + thread * scratch_words());
  });
}

}  // namespace nn
