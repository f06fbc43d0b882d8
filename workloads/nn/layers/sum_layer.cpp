// Sums of two values that no batch norm adds, as the skip paths of pre-activation networks have.
#include <cstring>

#include "runner/base/error.h"
#include "workloads/nn/accumulation.h"
#include "workloads/nn/layers/make_layers.h"

namespace nn {
namespace {

template <class T>
class SumLayer final : public Layer {
 public:
  SumLayer(const Operation& operation, Planner& planner)
      : operation_(operation), kernels_(planner.kernels()) {
    const dnnl::memory::desc& desc = planner.value_desc(operation.src);
    if (planner.value_desc(*operation.residual) != desc) {
      throw base::ShapeError(operation.name + ": its addends differ in layout");
    }
    sample_ = sample_bytes(desc) / static_cast<std::int64_t>(sizeof(T));
    planner.use_value(operation.src, false);
    planner.use_value(*operation.residual, false);
    planner.define_value(desc);
    src_place_ = planner.value_place(operation.src);
    other_place_ = planner.value_place(*operation.residual);
    dst_place_ = planner.value_place(planner.made());
  }

  /// The gradient is that of both addends, in the same memory. It is read by what made the later
  /// addend before the earlier one's is added to it, as the pass goes backward.
  void plan_backward(Planner& planner) override {
    const BufferId gradient = planner.incoming().front();
    planner.contribute_in(operation_.src, gradient);
    planner.contribute_in(*operation_.residual, gradient);
  }

  void bind(const Arena& arena) override {
    src_ = arena.at<T>(src_place_.buffer);
    other_ = arena.at<T>(other_place_.buffer);
    dst_ = arena.at<T>(dst_place_.buffer);
  }

  void forward(Mode /*mode*/, const Samples& samples) override {
    const T* const src = src_ + src_place_.row_of(samples.first, samples) * sample_;
    const T* const other = other_ + other_place_.row_of(samples.first, samples) * sample_;
    T* const dst = dst_ + dst_place_.row_of(samples.first, samples) * sample_;
    const ColumnKernels<T>& kernels = kernels_.on<T>();
    for_each_piece_of(samples.count * sample_, [&](std::int64_t at, std::int64_t piece) {
      std::memcpy(dst + at, src + at, static_cast<std::size_t>(piece) * sizeof(T));
      kernels.accumulate(dst + at, other + at, piece);
    });
  }

  void backward(bool /*accumulate*/, const Samples& /*samples*/) override {}

 private:
  const Operation operation_;
  const Kernels& kernels_;
  std::int64_t sample_ = 0;  ///< elements, padding included
  ValuePlace src_place_, other_place_, dst_place_;
  const T* src_ = nullptr;
  const T* other_ = nullptr;
  T* dst_ = nullptr;
};

}  // namespace

std::unique_ptr<Layer> make_sum(const Operation& operation, Planner& planner) {
  if (type_of(planner.value_desc(operation.src)) == dnnl::memory::data_type::bf16) {
    return std::make_unique<SumLayer<Bf16>>(operation, planner);
  }
  return std::make_unique<SumLayer<float>>(operation, planner);
}

}  // namespace nn
