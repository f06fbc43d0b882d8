// oneDNN descriptions of a convolution's three products.
// Hides which algorithm (direct or Winograd) a product uses, and that a transposed convolution is
// oneDNN's convolution run backward.
#pragma once

#include <cstdint>
#include <dnnl.hpp>

#include "runner/base/ceil_div.h"
#include "workloads/nn/network.h"
#include "workloads/nn/onednn.h"

namespace nn {

/// The phases of an image: phase (row, column), both in [0, apart), consists of the pixels at that
/// offset and every `apart` pixels from there. An atrous convolution with dilation `apart` is dense
/// on the image of each phase. A 1x1 convolution with stride `apart` reads only the first phase of
/// its source; its destination then has no phases.
struct Phases {
  std::int64_t apart = 1;              ///< 1: no phases
  std::int64_t height = 0, width = 0;  ///< of the whole image
  bool only_first = false;             ///< only the first phase is read
  std::int64_t count() const { return only_first ? 1 : apart * apart; }
  /// Extents of a phase's image; some phases have one row or column less.
  std::int64_t rows() const { return base::ceil_div(height, apart); }
  std::int64_t columns() const { return base::ceil_div(width, apart); }
};

/// Layouts of a convolution's operands.
struct ConvolutionLayouts {
  dnnl::memory::desc src, dst, weights;
};

enum class ConvolutionProduct { kForward, kSourceGradient, kWeightsGradient };
/// A convolution's source or the source's gradient; its destination or the destination's gradient.
enum class Side { kSource, kDestination };

/// Rows of an image; they may lie outside it.
struct Rows {
  std::int64_t first = 0, count = 0;
};

/// A convolution or a transposed one. The latter is oneDNN's convolution from its destination to
/// its source, run backward. oneDNN chooses all layouts except that of the network's input, which
/// is given. All descriptions throw dnnl::error.
class ConvolutionProblem {
 public:
  struct Options {
    dnnl::memory::data_type compute = dnnl::memory::data_type::f32;  ///< of operands
    bool gives_floats = false;  ///< forward, whatever `compute` is
    bool training = true;
    bool first = false;  ///< reads the network's input
    bool transposed = false;
  };
  /// `src`: the layout of the source.
  ConvolutionProblem(const Operation& operation, const dnnl::memory::desc& src,
                     const dnnl::memory::dims& weights, const Options& options, Device& device);

  dnnl::primitive_desc describe(ConvolutionProduct product, std::int64_t samples) const;
  dnnl::primitive_desc forward(std::int64_t samples) const;
  dnnl::primitive_desc source_gradient(std::int64_t samples) const;
  dnnl::primitive_desc weights_gradient(std::int64_t samples) const;
  /// DNNL_ARG_... of the source and of the destination's gradient when they are read, of the
  /// forward pass's destination, and of the source's gradient.
  int reads_source() const { return options_.transposed ? DNNL_ARG_DIFF_DST : DNNL_ARG_SRC; }
  int reads_gradient() const { return options_.transposed ? DNNL_ARG_SRC : DNNL_ARG_DIFF_DST; }
  int makes() const { return options_.transposed ? DNNL_ARG_DIFF_SRC : DNNL_ARG_DST; }
  int returns() const { return options_.transposed ? DNNL_ARG_DST : DNNL_ARG_DIFF_SRC; }
  /// The side of one of these arguments.
  Side side_of(int argument) const {
    return argument == reads_source() || argument == returns() ? Side::kSource : Side::kDestination;
  }

  /// Pixels a side of a Winograd tile.
  static constexpr std::int64_t kWinogradTile = 4;
  /// Uses Winograd for gradients in float where it is faster for `samples` samples at a time.
  void allow_winograd_gradients(std::int64_t samples);
  /// Uses Winograd for the forward product in float where it is faster. Does not depend on the
  /// number of samples, so that a sample has the same bits in any batch.
  void allow_winograd_forward();
  bool uses_winograd_gradients() const;
  bool uses_winograd_forward() const;

  /// Whether each destination pixel depends only on the source pixel at the same place.
  bool is_pointwise() const;
  /// The same problem on `points` pixels of a sample. REQUIRES: is_pointwise().
  ConvolutionProblem of_points(std::int64_t points) const;
  /// Whether strips of rows can be computed separately, each from the rows within its reach.
  bool is_by_rows() const;
  /// Rows to be cut into strips: those of the smaller image or, if more, those of the larger image
  /// divided by the stride, rounded up.
  std::int64_t rows() const;
  /// The rows that `product` reads or writes on `side` for the strip `strip` of rows(). REQUIRES:
  /// is_by_rows().
  Rows rows_of(ConvolutionProduct product, Side side, const Rows& strip) const;
  /// The problem of `product` on a strip of `count` rows.
  ConvolutionProblem of_rows(ConvolutionProduct product, std::int64_t count) const;
  /// The equivalent dense problem without stride, in which the images of its phases replace each
  /// sample; the same problem if it has no phases.
  ConvolutionProblem of_phases() const;
  /// The phases that of_phases() has cut the samples into.
  const Phases& phases() const { return phases_; }
  Phases phases_of(Side side) const {
    return phases_.only_first && side == Side::kDestination ? Phases{} : phases_;
  }

  const Operation& operation() const { return operation_; }
  const SampleShape& image_of(Side side) const { return is_from(side) ? from_ : to_; }
  const dnnl::memory::dims& weights_dims() const { return weights_dims_; }
  dnnl::memory::data_type compute() const { return options_.compute; }
  bool is_first() const { return options_.first; }
  bool is_transposed() const { return options_.transposed; }
  /// Weights are then [groups, C_out / groups, C_in / groups, K...].
  bool is_grouped() const { return operation_.groups > 1; }
  Device& device() const { return *device_; }

 private:
  bool is_from(Side side) const { return (side == Side::kSource) != options_.transposed; }
  /// Whether the product is oneDNN's backward convolution.
  bool is_reverse(ConvolutionProduct product) const {
    return product == (options_.transposed ? ConvolutionProduct::kForward
                                           : ConvolutionProduct::kSourceGradient);
  }
  dnnl::memory::desc any_values(std::int64_t samples, const SampleShape& shape) const;
  dnnl::memory::desc wanted_from(std::int64_t samples) const;
  dnnl::convolution_forward::primitive_desc convolution(dnnl::algorithm algorithm,
                                                        std::int64_t samples) const;
  dnnl::convolution_backward_data::primitive_desc reverse(dnnl::algorithm algorithm,
                                                          std::int64_t samples) const;
  std::int64_t worthwhile_tiles(std::int64_t samples) const;
  template <class Describe>
  void choose(dnnl::algorithm& algorithm, const Describe& describe);

  Operation operation_;
  dnnl::memory::desc src_;
  SampleShape from_, to_;  ///< of oneDNN's convolution
  dnnl::memory::dims weights_dims_;
  dnnl::memory::dims skipped_;  ///< pixels between two taps
  Options options_;
  Device* device_;
  Phases phases_, possible_phases_;
  dnnl::algorithm forward_algorithm_ = dnnl::algorithm::convolution_direct;
  dnnl::algorithm source_algorithm_ = dnnl::algorithm::convolution_direct;
  dnnl::algorithm weights_algorithm_ = dnnl::algorithm::convolution_direct;
};

/// Whether weights have the layout of this project's products, tiled_weights_desc().
bool has_tiled_weights(const ConvolutionProblem& problem, const ConvolutionLayouts& layouts);
/// Whether the stride skips pixels that no tap reads.
bool has_gaps(const Operation& operation);
/// Whether a window has several taps along some axis.
bool has_taps(const Operation& operation);

}  // namespace nn
