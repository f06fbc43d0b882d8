// A convolution of bfloat16 values by the library's products of floats.
// Hides how values are widened and results rounded piece by piece, so that the floats stay within
// the caches.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "workloads/nn/layer.h"
#include "workloads/nn/products/piece_cut.h"
#include "workloads/nn/sliced_primitive.h"

namespace nn {

/// A value of a pass in bfloat16, in blocks of channels or plain, and a piece of it in floats. It
/// may be of floats itself, of which a piece is a copy.
class WidenedValue {
 public:
  /// Whether values can be laid out so.
  static bool fits(const dnnl::memory::desc& values);
  /// `products`: that read or write it piece by piece.
  void plan(Planner& planner, const dnnl::memory::desc& values, const PieceCut& cut, Side side,
            const std::vector<ConvolutionProduct>& products, int moment);
  /// Of another value with the layout of this one, whose floats stand where those of this do.
  WidenedValue in_its_place() const { return *this; }
  void bind(const Arena& arena, const Kernels& kernels, const ValuePlace& place);
  float* floats() const { return floats_; }
  /// `slice`: that the piece is of.
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

/// The layouts of what a convolution reads and writes.
struct ConvolutionLayouts {
  dnnl::memory::desc src, dst, weights;
};

/// dst = the convolution of src, and the bias if there is one.
class WidenedForward {
 public:
  void plan(Planner& planner, const ConvolutionProblem& problem, const ConvolutionLayouts& layouts,
            const Slices& slices, int moment);
  bool planned() const { return product_.planned(); }
  void bind(const Arena& arena, Device& device, const Kernels& kernels, const ValuePlace& src,
            const ValuePlace& dst);
  void run(const Samples& slice);
  const SlicedPrimitive& product() const { return product_; }

 private:
  ParameterId weights_ = -1, bias_ = -1;
  PieceCut cut_;
  WidenedValue src_, dst_;
  SlicedPrimitive product_;
};

/// The gradients of weights, and of the source unless it wants none.
class WidenedBackward {
 public:
  /// In the backward pass of the operation at hand.
  void plan(Planner& planner, const ConvolutionProblem& problem, const ConvolutionLayouts& layouts,
            bool has_source_gradient);
  bool planned() const { return weights_product_.planned(); }
  /// `diff_src`: -1 where it wants none.
  void bind(const Arena& arena, Device& device, const Kernels& kernels, const ValuePlace& src,
            const ValuePlace& diff_dst, BufferId diff_src);
  void run(bool accumulate, const Samples& slice);
  const SlicedPrimitive& weights_product() const { return weights_product_; }
  const SlicedPrimitive& data_product() const { return data_product_; }

 private:
  ParameterId weights_ = -1;
  PieceCut cut_;
  WidenedValue src_, diff_dst_;
  WidenedValue diff_src_;  ///< its floats have been rounded when those of src_ come
  SlicedPrimitive weights_product_, data_product_;
  GradientTarget target_;
};

}  // namespace nn
