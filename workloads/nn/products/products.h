// A convolution's products within a pass: the library's on values as they stand, those on widened
// values, or own ones.
// Hides which of these serve.
#pragma once

#include <string>
#include <vector>

#include "workloads/nn/layer.h"
#include "workloads/nn/products/convolution_problem.h"
#include "workloads/nn/products/gapped_gradient.h"
#include "workloads/nn/products/padded_product.h"
#include "workloads/nn/products/parts_gradient.h"
#include "workloads/nn/products/parts_product.h"
#include "workloads/nn/products/point_product.h"
#include "workloads/nn/products/strided_points.h"
#include "workloads/nn/products/weights_gradient.h"
#include "workloads/nn/products/widened_convolution.h"
#include "workloads/nn/sliced_primitive.h"

namespace nn {

/// For messages.
std::string described_convolution(const Operation& operation, const Planner& planner);

/// Whether these values go through the problem's products of floats piece by piece: a source in
/// bfloat16, and a destination in either.
bool is_widened(const ConvolutionProblem& problem, const dnnl::memory::desc& src,
                const dnnl::memory::desc& dst);

/// dst = the convolution of src, and the bias if there is one.
class ForwardProduct {
 public:
  void plan(Planner& planner, const ConvolutionProblem& problem, const ConvolutionLayouts& layouts,
            const Slices& slices, int moment, const ValuePlace& src, const ValuePlace& dst);
  bool planned() const { return is_own() || product().planned(); }
  void bind(const Arena& arena, Device& device, const Kernels& kernels);
  void run(const Samples& samples);
  /// The library's, which is not planned where the product is an own one.
  const SlicedPrimitive& product() const {
    if (padded_.planned()) return padded_.product();
    return widened_.planned() ? widened_.product() : product_;
  }
  bool is_own() const { return points_.planned() || strided_.planned() || is_in_parts(); }
  /// Whether floats are multiplied in three parts each.
  bool is_in_parts() const { return parts_.planned(); }
  /// Conversions between layouts in a pass.
  std::int64_t reorders() const { return product().reorders() + points_.reorders(); }

 private:
  ParameterId weights_ = -1, bias_ = -1;
  ValuePlace src_, dst_;
  SlicedPrimitive product_;
  WidenedForward widened_;  ///< in place of product_, where planned
  PointProduct points_;     ///< the same
  StridedPoints strided_;   ///< the same
  PaddedProduct padded_;    ///< the same
  PartsProduct parts_;      ///< the same
};

/// The gradients of weights, and of the source unless it wants none.
class BackwardProducts {
 public:
  struct Places {
    ValuePlace src, diff_dst;
    BufferId diff_src = -1;  ///< -1: it wants none
  };
  /// In the backward pass of the operation at hand.
  void plan(Planner& planner, const ConvolutionProblem& problem, const ConvolutionLayouts& layouts,
            const Places& places);
  void bind(const Arena& arena, Device& device, const Kernels& kernels);
  void run(bool accumulate, const Samples& samples);
  /// The library's, of the source first.
  std::vector<const SlicedPrimitive*> products() const;
  /// Conversions between layouts in a pass.
  std::int64_t reorders() const;
  /// Whether one of them is an own product, or laid out by own code.
  bool has_own() const {
    return own_.planned() || points_.planned() || strided_.planned() || gapped_.planned() ||
           is_in_parts();
  }
  bool is_in_parts() const { return parts_.planned() || parts_weights_.planned(); }

 private:
  void plan_weights(Planner& planner, const ConvolutionProblem& problem,
                    const ConvolutionLayouts& layouts);
  ParameterId weights_ = -1;
  Places places_;
  SlicedPrimitive source_product_, weights_product_;
  PointProduct points_;          ///< in place of source_product_, where planned
  StridedPoints strided_;        ///< the same
  GappedGradient gapped_;        ///< the same
  PaddedProduct padded_;         ///< the same
  PartsProduct parts_;           ///< the same
  OwnWeights own_;               ///< in place of weights_product_, where planned
  PartsGradient parts_weights_;  ///< the same
  WidenedBackward widened_;      ///< in place of both, where planned
  GradientTarget target_;
};

}  // namespace nn
