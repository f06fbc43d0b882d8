// Convolutions of bfloat16 values that oneDNN computes in float.
// Hides how values are widened and results rounded piece by piece, so that the floats stay in the
// caches.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "workloads/nn/layer.h"
#include "workloads/nn/products/piece_cut.h"
#include "workloads/nn/products/product.h"

namespace nn {

/// A bfloat16 value of a pass, in blocks of channels or plain, and one piece of it as floats. If
/// the value is itself of floats, the piece is a copy.
class WidenedValue {
 public:
  /// Whether values of this layout are supported.
  static bool applies(const dnnl::memory::desc& values);
  /// `products`: those that read or write the value piece by piece.
  void plan(Planner& planner, const dnnl::memory::desc& values, const PieceCut& cut, Side side,
            const std::vector<ConvolutionProduct>& products, int moment);
  /// For another value of the same layout, whose pieces use this one's buffer of floats.
  WidenedValue in_its_place() const { return *this; }
  void bind(const Arena& arena, const Kernels& kernels, const ValuePlace& place);
  float* floats() const { return floats_; }
  /// `slice`: the slice that the piece belongs to.
  void widen(const ValuePiece& piece, const Samples& slice) const;
  void round(const ValuePiece& piece, const Samples& slice) const;

 private:
  template <class T, class Convert>
  void convert(T* values, const ValuePiece& piece, const Samples& slice,
               const Convert& convert) const;
  template <class T, class Convert>
  void convert_points(T* values, const ValuePiece& piece, const Samples& slice,
                      const Convert& convert) const;
  template <class T, class Convert>
  void convert_phases(T* values, const ValuePiece& piece, const Samples& slice,
                      const Convert& convert) const;
  template <class T>
  void clear(T* values, const ValuePiece& piece, const Samples& slice) const;
  void widen(const Bf16* from, float* to, std::int64_t count) const {
    kernels_->widen(from, to, count);
  }
  void widen(const float* from, float* to, std::int64_t count) const {
    std::copy(from, from + count, to);
  }
  void round(const float* from, Bf16* to, std::int64_t count) const {
    kernels_->round_to_bf16(from, to, count);
  }
  void round(const float* from, float* to, std::int64_t count) const {
    std::copy(from, from + count, to);
  }
  ChannelLayout layout_;
  Phases phases_;
  bool is_float_ = false;
  BufferId buffer_ = -1;
  ValuePlace place_;
  void* values_ = nullptr;
  float* floats_ = nullptr;
  const Kernels* kernels_ = nullptr;
};

/// dst = the convolution of src, plus the bias if present.
class WidenedForward final : public Product {
 public:
  /// Whether the problem computes in float from a source in bfloat16; the destination may be of
  /// either type.
  static bool supports(const ConvolutionProblem& problem, const ConvolutionLayouts& layouts,
                       const Planner& planner);
  WidenedForward(Planner& planner, const ConvolutionProblem& problem,
                 const ConvolutionLayouts& layouts, const Slices& slices, int moment,
                 const ValuePlace& src, const ValuePlace& dst);
  void bind(const Arena& arena, Device& device, const Kernels& kernels) override;
  void run(const Samples& slice, bool adds) override;
  std::int64_t reorders() const override { return product_.reorders(); }
  std::vector<const SlicedPrimitive*> primitives() const override { return {&product_}; }

 private:
  ParameterId weights_ = -1, bias_ = -1;
  ValuePlace src_place_, dst_place_;
  PieceCut cut_;
  WidenedValue src_, dst_;
  SlicedPrimitive product_;
};

/// The gradients of the weights and, if wanted, of the source.
class WidenedBackward final : public Product {
 public:
  /// Plans for the backward pass of the planner's current operation. `diff_src`: -1 if no source
  /// gradient is wanted.
  WidenedBackward(Planner& planner, const ConvolutionProblem& problem,
                  const ConvolutionLayouts& layouts, const ValuePlace& src,
                  const ValuePlace& diff_dst, BufferId diff_src);
  void bind(const Arena& arena, Device& device, const Kernels& kernels) override;
  void run(const Samples& slice, bool adds) override;
  std::int64_t reorders() const override;
  /// The source gradient's first.
  std::vector<const SlicedPrimitive*> primitives() const override;

 private:
  ParameterId weights_ = -1;
  ValuePlace src_place_, diff_dst_place_;
  BufferId diff_src_buffer_ = -1;
  PieceCut cut_;
  WidenedValue src_, diff_dst_;
  WidenedValue diff_src_;  ///< shares src_'s floats: they are rounded before src_ is widened
  SlicedPrimitive weights_product_, data_product_;
  GradientTarget target_;
};

}  // namespace nn
