// Sums of two values that no batch norm adds, as the skip paths of pre-activation networks have.
#include <algorithm>
#include <cstring>
#include <vector>

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

  /// The gradient is that of both addends: in the same memory where nothing changes it before both
  /// have been used.
  void plan_backward(Planner& planner) override {
    gradient_buffer_ = planner.incoming().front();
    const auto [earlier, later] = std::minmax(operation_.src, *operation_.residual);
    planner.contribute_in(earlier, gradient_buffer_);
    if (may_share(planner.network(), earlier, later)) {
      planner.contribute_in(later, gradient_buffer_);
    } else {
      copy_buffer_ = planner.contribute(later);
    }
  }

  void bind(const Arena& arena) override {
    src_ = arena.at<T>(src_place_.buffer);
    other_ = arena.at<T>(other_place_.buffer);
    dst_ = arena.at<T>(dst_place_.buffer);
    gradient_ = arena.at<T>(gradient_buffer_);
    copy_ = arena.at<T>(copy_buffer_);
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

  void backward(bool /*accumulate*/, const Samples& samples) override {
    if (copy_ == nullptr) return;
    const std::int64_t first = samples.first * sample_;
    for_each_piece_of(samples.count * sample_, [&](std::int64_t at, std::int64_t piece) {
      std::memcpy(copy_ + first + at, gradient_ + first + at,
                  static_cast<std::size_t>(piece) * sizeof(T));
    });
  }

 private:
  /// The pass goes backward, so what made the later addend uses the gradient first. It only reads
  /// it if it is a convolution and nothing is added to it; and the earlier addend's other
  /// contributions are added later if one of its readers comes before the later addend.
  static bool may_share(const Network& network, ValueId earlier, ValueId later) {
    const Operation& maker = network.operations()[static_cast<std::size_t>(later)];
    if (maker.kind != OperationKind::kConvolution || network.readers(later).size() != 1) {
      return false;
    }
    // A batch norm may write to its gradient before its turn, when it observes it.
    const Operation& first = network.operations()[static_cast<std::size_t>(earlier)];
    if (first.kind == OperationKind::kBatchNorm) return false;
    const std::vector<std::size_t> readers = network.readers(earlier);
    return readers.size() == 1 || readers.front() < static_cast<std::size_t>(later);
  }

  const Operation operation_;
  const Kernels& kernels_;
  std::int64_t sample_ = 0;  ///< elements, padding included
  ValuePlace src_place_, other_place_, dst_place_;
  const T* src_ = nullptr;
  const T* other_ = nullptr;
  T* dst_ = nullptr;
  BufferId gradient_buffer_ = -1, copy_buffer_ = -1;
  const T* gradient_ = nullptr;
  T* copy_ = nullptr;  ///< the later addend's gradient; null: that of the sum
};

}  // namespace

std::unique_ptr<Layer> make_sum(const Operation& operation, Planner& planner) {
  if (type_of(planner.value_desc(operation.src)) == dnnl::memory::data_type::bf16) {
    return std::make_unique<SumLayer<Bf16>>(operation, planner);
  }
  return std::make_unique<SumLayer<float>>(operation, planner);
}

}  // namespace nn
