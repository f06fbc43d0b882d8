// What a convolution asks of the library: descriptions of its three products.
// Hides which algorithm suits which product, and which way round a transposed one runs.
#pragma once

#include <cstdint>
#include <dnnl.hpp>

#include "workloads/nn/network.h"
#include "workloads/nn/onednn.h"

namespace nn {

/// An atrous convolution sees points that are `apart` from each other alone: those of each phase
/// (row, column), both in [0, apart), are an image of their own, on which it is dense. One of
/// single taps with a stride sees those of the first phase of its source, and no others.
struct Phases {
  std::int64_t apart = 1;              ///< 1: there are no phases
  std::int64_t height = 0, width = 0;  ///< of the whole image
  bool is_first_alone = false;         ///< of the source; the destination has no phases then
  std::int64_t count() const { return is_first_alone ? 1 : apart * apart; }
  /// Of the image of a phase; some have one less.
  std::int64_t rows() const { return (height + apart - 1) / apart; }
  std::int64_t columns() const { return (width + apart - 1) / apart; }
};

/// The layouts of what a convolution reads and writes.
struct ConvolutionLayouts {
  dnnl::memory::desc src, dst, weights;
};

enum class ConvolutionProduct { kForward, kSourceGradient, kWeightsGradient };
/// Of a convolution: its source or the gradient of that, its destination or the gradient of that.
enum class Side { kSource, kDestination };

/// Rows of an image, or beyond it.
struct Rows {
  std::int64_t first = 0, count = 0;
};

/// oneDNN 2.6.3's gradients of weights in matrix tiles are wrong, and read beyond their operands,
/// for windows of some images of more than 200 points a side (which ones depends on how they are
/// cut into pieces), for atrous ones of channels that are no multiple of 16 or of many taps, and
/// for some images of a single column. All that were tried were right for windows of a multiple of
/// 16 channels, of at most three taps a side if atrous, within images of no less than the window
/// and no more than 128 points a side. `skipped`: points between taps.
bool may_be_wrong_in_tiles(const SampleShape& src, const std::vector<std::int64_t>& kernel,
                           const std::vector<std::int64_t>& skipped);
/// The product, or the library's next one without tiles for windows of which that may be wrong.
dnnl::convolution_backward_weights::primitive_desc right_weights_gradient(
    dnnl::convolution_backward_weights::primitive_desc product,
    const std::vector<std::int64_t>& skipped);

/// A convolution or a transposed one, which is the library's convolution from what it makes to its
/// source, the other way round. Layouts are the library's choice, but for the network's input,
/// which comes as plain rows. All descriptions throw the library's errors.
class ConvolutionProblem {
 public:
  struct Options {
    dnnl::memory::data_type compute = dnnl::memory::data_type::f32;  ///< of operands
    bool gives_floats = false;  ///< forward, whatever is computed with
    bool training = true;
    bool first = false;  ///< reads the network's input
    bool transposed = false;
  };
  /// `src`: the layout in which the source is there.
  ConvolutionProblem(const Operation& operation, const dnnl::memory::desc& src,
                     const dnnl::memory::dims& weights, const Options& options, Device& device);

  dnnl::primitive_desc describe(ConvolutionProduct product, std::int64_t samples) const;
  dnnl::primitive_desc forward(std::int64_t samples) const;
  dnnl::primitive_desc source_gradient(std::int64_t samples) const;
  dnnl::primitive_desc weights_gradient(std::int64_t samples) const;
  /// DNNL_ARG_..., of the source and the gradient that these read, of what the forward pass makes,
  /// and of the source's gradient.
  int reads_source() const { return options_.transposed ? DNNL_ARG_DIFF_DST : DNNL_ARG_SRC; }
  int reads_gradient() const { return options_.transposed ? DNNL_ARG_SRC : DNNL_ARG_DIFF_DST; }
  int makes() const { return options_.transposed ? DNNL_ARG_DIFF_SRC : DNNL_ARG_DST; }
  int returns() const { return options_.transposed ? DNNL_ARG_DST : DNNL_ARG_DIFF_SRC; }
  /// Of one of these.
  Side side_of(int argument) const {
    return argument == reads_source() || argument == returns() ? Side::kSource : Side::kDestination;
  }

  /// Points a side of a tile.
  static constexpr std::int64_t kWinogradTile = 4;
  /// Lets products of floats be made of transformed tiles (Winograd) where these are faster for so
  /// many samples at a time.
  void allow_winograd_gradients(std::int64_t samples);
  /// The same whatever the number of samples, so that a sample has the same bits among any.
  void allow_winograd_forward();
  bool uses_winograd_gradients() const;
  bool uses_winograd_forward() const;

  /// Whether each destination point of an image is made of the source point at its place alone.
  bool is_by_points() const;
  /// The same of only so many of a sample's points; where is_by_points().
  ConvolutionProblem of_points(std::int64_t points) const;
  /// Whether strips of an image's rows can be made apart, each of the rows that it reaches.
  bool is_by_rows() const;
  /// Of an image whose strips these are: the more numerous of the rows of the smaller image, and
  /// those of the larger one, `stride` at a time.
  std::int64_t rows() const;
  /// What a product of the strip of such rows reads or writes; where is_by_rows().
  Rows rows_of(ConvolutionProduct product, Side side, const Rows& strip) const;
  /// The problem of a strip of so many rows, as this product has it.
  ConvolutionProblem of_rows(ConvolutionProduct product, std::int64_t count) const;
  /// The dense problem without a stride on the images of its phases, which stand in place of a
  /// sample; without phases itself.
  ConvolutionProblem of_phases() const;
  /// In whose images of_phases() has cut it.
  const Phases& phases() const { return phases_; }
  Phases phases_of(Side side) const {
    return phases_.is_first_alone && side == Side::kDestination ? Phases{} : phases_;
  }

  const Operation& operation() const { return operation_; }
  const SampleShape& image_of(Side side) const { return is_from(side) ? from_ : to_; }
  const dnnl::memory::dims& weights_dims() const { return weights_dims_; }
  dnnl::memory::data_type compute() const { return options_.compute; }
  bool is_first() const { return options_.first; }
  bool is_transposed() const { return options_.transposed; }
  Device& device() const { return *device_; }

 private:
  bool is_from(Side side) const { return (side == Side::kSource) != options_.transposed; }
  /// Whether the library's convolution goes back, from what it makes.
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
  SampleShape from_, to_;  ///< of the library's convolution
  dnnl::memory::dims weights_dims_;
  dnnl::memory::dims skipped_;  ///< points between two taps
  Options options_;
  Device* device_;
  Phases phases_, possible_phases_;
  dnnl::algorithm forward_algorithm_ = dnnl::algorithm::convolution_direct;
  dnnl::algorithm source_algorithm_ = dnnl::algorithm::convolution_direct;
  dnnl::algorithm weights_algorithm_ = dnnl::algorithm::convolution_direct;
};

/// Whether weights stand as own products of floats read and write them: tiled_weights_desc().
bool has_tiled_weights(const ConvolutionProblem& problem, const ConvolutionLayouts& layouts);
/// Whether a stride passes over pixels that no tap meets.
bool has_gaps(const Operation& operation);
/// Whether a window has several taps along some axis.
bool has_taps(const Operation& operation);

}  // namespace nn
