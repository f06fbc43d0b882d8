// Sums gradients over pixels.
#include "workloads/nn/layers/bias_gradient.h"

namespace nn {

void BiasGradient::plan(Planner& planner, const Operation& operation,
                        const dnnl::memory::desc& values) {
  bias_ = operation.bias;
  layout_ = channel_layout(values);
  is_bf16_ = type_of(values) == dnnl::memory::data_type::bf16;
  target_.plan(planner, layout_.channels * static_cast<std::int64_t>(sizeof(float)));
}

void BiasGradient::bind(const Arena& arena, const Kernels& kernels, BufferId diff_values) {
  kernels_ = &kernels;
  diff_ = arena.at<void>(diff_values);
  target_.bind(arena, bias_, kernels);
}

template <class T>
void BiasGradient::sum(const Samples& samples, const T* diff, float* to) const {
  constexpr int kWidth = 16;
#pragma omp parallel for schedule(static)
  for (std::int64_t block = 0; block < layout_.blocks; ++block) {
    const Column column = layout_.column(block);
    double sums[kWidth] = {};
    for (std::int64_t i = 0; i < samples.count; ++i) {
      float mean[kWidth];
      kernels_->on<T>().row_mean(diff + layout_.offset(samples.first + i, block), column, mean);
      for (int lane = 0; lane < column.width; ++lane) {
        sums[lane] += static_cast<double>(mean[lane]) * static_cast<double>(layout_.rows);
      }
    }
    for (int lane = 0; lane < column.width; ++lane) {
      const std::int64_t channel = block * layout_.width + lane;
      if (channel < layout_.channels) to[channel] = static_cast<float>(sums[lane]);
    }
  }
}

void BiasGradient::run(const Samples& samples, bool adds) {
  float* const to = target_.begin(adds);
  if (is_bf16_) {
    sum(samples, static_cast<const Bf16*>(diff_), to);
  } else {
    sum(samples, static_cast<const float*>(diff_), to);
  }
  target_.finish(adds);
}

}  // namespace nn
