// Bf16x3Gradient: splitting and multiplication piece by piece.
#include "workloads/nn/products/bf16x3_gradient.h"

#include <algorithm>
#include <array>

#include "runner/base/ceil_div.h"
#include "workloads/kernels/tiling.h"
#include "workloads/nn/products/bf16x3_support.h"

namespace nn {
namespace {

/// Pixels of a step, two for each bf16 pair, and steps that are split at a time.
constexpr std::int64_t kStepPoints = 2 * kLanes, kSteps = 4;

/// A step's pixels of one block of channels; those after the last one are zeros.
class StepRows {
 public:
  /// `count` pixels from `at` on; `count` may exceed those of a step.
  StepRows(const float* at, std::int64_t count)
      : rows_{at, at + kTileWords, kLanes, kLanes, kSteps * 2 * kTileWords} {
    if (count >= kStepPoints) return;
    std::fill(std::copy_n(at, count * kLanes, filled_.begin()), filled_.end(), 0.0F);
    rows_.lower = filled_.data();
    rows_.upper = count > kLanes ? filled_.data() + kTileWords : nullptr;
  }
  StepRows(const StepRows&) = delete;
  StepRows& operator=(const StepRows&) = delete;
  const Bf16x3Gemm::Rows& rows() const { return rows_; }

 private:
  Bf16x3Gemm::Rows rows_;
  std::array<float, 2 * kTileWords> filled_;
};

std::int64_t blocks_of(const ConvolutionProblem& problem, Side side) {
  return base::ceil_div(problem.image_of(side).channels, kLanes);
}

}  // namespace

bool Bf16x3Gradient::supports(const ConvolutionProblem& problem, const ConvolutionLayouts& layouts,
                              const Planner& planner) {
  return supports_bf16x3(problem, layouts, planner) && problem.is_pointwise() &&
         WeightsSplit::applies(blocks_of(problem, Side::kDestination),
                               blocks_of(problem, Side::kSource), planner.threads());
}

Bf16x3Gradient::Bf16x3Gradient(Planner& planner, const ConvolutionProblem& problem,
                               const ValuePlace& src, const ValuePlace& diff_dst) {
  weights_ = problem.operation().weights;
  points_ = problem.image_of(Side::kSource).spatial_size();
  in_ = blocks_of(problem, Side::kSource);
  out_ = blocks_of(problem, Side::kDestination);
  split_ = {out_, in_, planner.threads(), true};
  src_place_ = src;
  diff_dst_place_ = diff_dst;
  scratch_buffer_ = planner.temporary(
      split_.threads() * scratch_words() * static_cast<std::int64_t>(sizeof(std::uint32_t)),
      planner.backward_moment(), "scratchpads");
}

void Bf16x3Gradient::bind(const Arena& arena, Device& /*device*/, const Kernels& kernels) {
  diff_weights_ = arena.parameters.gradient(weights_);
  kernels_ = &kernels;
  src_ = arena.at(src_place_.buffer);
  diff_dst_ = arena.at(diff_dst_place_.buffer);
  scratch_ = arena.at<std::uint32_t>(scratch_buffer_);
}

/// bf16 pairs of a thread's split blocks of both operands.
std::int64_t Bf16x3Gradient::scratch_words() const {
  return (out_ + split_.blocks_of_part()) * kSteps * Bf16x3Gemm::kParts * kTileWords;
}

void Bf16x3Gradient::run_part(const WeightsSplit::Part& part, const Samples& samples,
                              float* diff_weights, bool add, std::uint32_t* scratch) const {
  const Bf16x3Gemm& tiles = kernels_->bf16x3_gemm;
  const std::int64_t block_stride = points_ * kLanes;
  const std::int64_t panels = part.end_panel - part.first_panel;
  const std::int64_t part_words = part.blocks() * kTileWords,
                     panel_words = kSteps * Bf16x3Gemm::kParts * kTileWords;
  std::uint32_t* const columns = scratch + kSteps * Bf16x3Gemm::kParts * part_words;
  float* const sums = diff_weights + (part.first_panel * in_ + part.first_block) * kTileWords;
  for (std::int64_t i = 0; i < samples.count; ++i) {
    const std::int64_t sample = samples.first + i;
    const float* const src = src_ + src_place_.row_of(sample, samples) * in_ * block_stride +
                             part.first_block * block_stride;
    const float* const diff_dst = diff_dst_ +
                                  diff_dst_place_.row_of(sample, samples) * out_ * block_stride +
                                  part.first_panel * block_stride;
    for (std::int64_t first = 0; first < points_; first += kSteps * kStepPoints) {
      const std::int64_t count = std::min(kSteps * kStepPoints, points_ - first);
      const std::int64_t steps = base::ceil_div(count, kStepPoints);
      for (std::int64_t step = 0; step < steps; ++step) {
        const std::int64_t point = first + step * kStepPoints, left = points_ - point;
        for (std::int64_t block = 0; block < part.blocks(); ++block) {
          const StepRows rows_of_step(src + block * block_stride + point * kLanes, left);
          tiles.split_transposed(
              rows_of_step.rows(),
              scratch + step * Bf16x3Gemm::kParts * part_words + block * kTileWords, part_words);
        }
        for (std::int64_t panel = 0; panel < panels; ++panel) {
          const StepRows rows_of_step(diff_dst + panel * block_stride + point * kLanes, left);
          tiles.split(rows_of_step.rows(),
                      columns + panel * panel_words + step * Bf16x3Gemm::kParts * kTileWords,
                      kTileWords);
        }
      }
      tiles.multiply({.a = scratch,
                      .b = columns,
                      .b_panel = panel_words,
                      .blocks = part.blocks(),
                      .panels = panels,
                      .steps = steps,
                      .a_step = Bf16x3Gemm::kParts * part_words,
                      .a_part = part_words},
                     {sums, kTileWords, in_ * kTileWords, kLanes}, add || i > 0 || first > 0);
    }
  }
}

void Bf16x3Gradient::run(const Samples& samples, bool adds) {
  split_.for_each_part([&](const WeightsSplit::Part& part, int thread) {
    run_part(part, samples, diff_weights_, adds, scratch_ + thread * scratch_words());
  });
}

}  // namespace nn
