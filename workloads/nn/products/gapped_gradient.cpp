// Spreads strided pixels row by row, in rows that stay in the caches.
#include "workloads/nn/products/gapped_gradient.h"

#include <omp.h>

#include <algorithm>

#include "workloads/kernels/stores.h"

namespace nn {
namespace {

using dnnl::memory;

constexpr auto kBf16Bytes = static_cast<std::int64_t>(sizeof(Bf16));

}  // namespace

bool GappedGradient::supports(const ConvolutionProblem& problem, const ConvolutionLayouts& layouts,
                              const Planner& /*planner*/) {
  return problem.compute() == memory::data_type::bf16 && !problem.is_transposed() &&
         problem.operation().bias < 0 && is_channels_last_bf16(layouts.src) &&
         is_channels_last_bf16(layouts.dst) && problem.of_phases().phases().only_first;
}

GappedGradient::GappedGradient(Planner& planner, const ConvolutionProblem& problem,
                               const ConvolutionLayouts& layouts, const ValuePlace& diff_dst,
                               BufferId diff_src) {
  const ConvolutionProblem dense = problem.of_phases();
  image_ = problem.image_of(Side::kSource);
  const SampleShape seen = dense.image_of(Side::kSource);
  rows_ = seen.spatial[0];
  points_ = seen.spatial[1];
  apart_ = dense.phases().apart;
  threads_ = planner.threads();
  parameter_ = problem.operation().weights;
  diff_dst_place_ = diff_dst;
  diff_src_buffer_ = diff_src;
  const Slices& slices = planner.backward_slices();
  const std::int64_t most = slices.sizes().back();
  const int moment = planner.backward_moment();
  stores_ = stores_of<Bf16>(most * image_.size(), true);
  const std::int64_t row_elements = image_.spatial[1] * image_.channels;
  seen_buffer_ = planner.temporary(most * seen.size() * kBf16Bytes, moment, "strided pixels");
  spaced_buffer_ =
      planner.temporary(threads_ * row_elements * kBf16Bytes, moment, "rows with gaps");
  zeros_.assign(static_cast<std::size_t>(row_elements), Bf16{0});
  const memory::desc compact =
      channels_last_desc(batch_dims(planner.batch(), seen), memory::data_type::bf16);
  product_.plan(planner, slices, moment,
                [&](std::int64_t samples) { return dense.source_gradient(samples); },
                {{problem.reads_gradient(), layouts.dst, extent_of(diff_dst)},
                 {DNNL_ARG_WEIGHTS, layouts.weights, Extent::kWhole, false, parameter_},
                 {problem.returns(), compact, Extent::kSlice, true}});
}

void GappedGradient::bind(const Arena& arena, Device& device, const Kernels& kernels) {
  kernels_ = &kernels;
  Bf16* const seen = arena.at<Bf16>(seen_buffer_);
  seen_ = seen;
  spaced_ = arena.at<Bf16>(spaced_buffer_);
  diff_src_ = arena.at<Bf16>(diff_src_buffer_);
  product_.bind(
      arena, device,
      {arena.at<void>(diff_dst_place_.buffer), arena.parameters.weights(parameter_), seen});
}

/// Writes row `row` of the strided pixels, and the zero rows up to the next one. `spaced`: a buffer
/// with zeros between the pixels.
void GappedGradient::write_row(std::int64_t sample, std::int64_t row, const Bf16* seen,
                               Bf16* spaced) const {
  const std::int64_t numbers = std::ssize(zeros_), channels = image_.channels;
  for (std::int64_t point = 0; point < points_; ++point) {
    std::copy_n(seen + point * channels, channels, spaced + point * apart_ * channels);
  }
  const std::int64_t height = image_.spatial[0], end = std::min((row + 1) * apart_, height);
  for (std::int64_t y = row * apart_; y < end; ++y) {
    const Bf16* const from = y == row * apart_ ? spaced : zeros_.data();
    Bf16* const to = diff_src_ + (sample * height + y) * numbers;
    if (stores_ == Stores::kStreamed) {
      kernels_->stream_copy(from, numbers * kBf16Bytes, to);
    } else {
      std::copy_n(from, numbers, to);
    }
  }
}

void GappedGradient::run(const Samples& samples, bool /*adds*/) {
  product_.run(samples);
  const std::int64_t numbers = std::ssize(zeros_), row_seen = points_ * image_.channels;
#pragma omp parallel num_threads(threads_)
  {
    Bf16* const spaced = spaced_ + omp_get_thread_num() * numbers;
    std::fill_n(spaced, numbers, Bf16{0});
#pragma omp for collapse(2) schedule(static)
    for (std::int64_t i = 0; i < samples.count; ++i) {
      for (std::int64_t row = 0; row < rows_; ++row) {
        write_row(samples.first + i, row, seen_ + (i * rows_ + row) * row_seen, spaced);
      }
    }
  }
}

}  // namespace nn
