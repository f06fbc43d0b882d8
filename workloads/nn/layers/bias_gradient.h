// Gradient of a convolution's bias: the sum of the destination's gradient over all pixels.
// Hides types and layouts.
#pragma once

#include "workloads/nn/layer.h"

namespace nn {

class BiasGradient {
 public:
  /// `values`: the layout of the operation's destination.
  void plan(Planner& planner, const Operation& operation, const dnnl::memory::desc& values);
  void bind(const Arena& arena, const Kernels& kernels, BufferId diff_values);
  /// Gives the same bits on any number of threads.
  void run(const Samples& samples, bool adds);

 private:
  template <class T>
  void sum(const Samples& samples, const T* diff, float* to) const;

  ParameterId bias_ = -1;
  ChannelLayout layout_;
  bool is_bf16_ = false;
  const Kernels* kernels_ = nullptr;
  const void* diff_ = nullptr;
  GradientTarget target_;
};

}  // namespace nn
