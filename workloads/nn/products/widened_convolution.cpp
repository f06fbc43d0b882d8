// Widens, multiplies and rounds pieces of values.
#include "workloads/nn/products/widened_convolution.h"

#include <algorithm>

#include "runner/base/ceil_div.h"
#include "workloads/nn/precision.h"

namespace nn {
namespace {

using dnnl::memory;
using enum ConvolutionProduct;

/// Floats of a sample as products read or write it, padding channels included.
std::int64_t sample_floats(const memory::desc& values, const ConvolutionProblem& problem,
                           Side side) {
  return channel_layout(values).padded_channels() * problem.image_of(side).spatial_size() *
         problem.phases_of(side).count();
}

/// Pieces of pixels and of small samples stay in the L2 caches of the few cores of a rank. Pieces
/// of rows are larger, as rows that strips share are widened for each strip. All are larger if
/// weights are so large that reading them for each piece would cost more. Winograd transforms
/// weights for each piece, and its scratchpads grow with the piece.
PieceSizes piece_sizes(bool is_winograd, const memory::desc& weights) {
  constexpr std::int64_t kLeast = 4 << 20, kLeastTransformed = 8 << 20, kLeastOfRows = 16 << 20;
  const auto bytes = static_cast<std::int64_t>(weights.get_size());
  return {is_winograd ? std::max(kLeastTransformed, bytes) : std::max(kLeast, 2 * bytes),
          std::max(kLeastOfRows, 2 * bytes), is_winograd ? ConvolutionProblem::kWinogradTile : 1};
}

}  // namespace

bool WidenedValue::applies(const memory::desc& values) {
  const ChannelLayout layout = channel_layout(values);
  return layout.row_stride == layout.width &&
         (layout.padded || layout.channels % layout.width == 0);
}

void WidenedValue::plan(Planner& planner, const memory::desc& values, const PieceCut& cut,
                        Side side, const std::vector<ConvolutionProduct>& products, int moment) {
  layout_ = channel_layout(values);
  phases_ = cut.problem().phases_of(side);
  is_float_ = type_of(values) == memory::data_type::f32;
  std::size_t bytes = 0;
  for (const ConvolutionProduct product : products) {
    bytes = std::max(bytes, cut.floats_desc(values, cut.most(), product, side).get_size());
  }
  buffer_ = planner.temporary(static_cast<std::int64_t>(bytes), moment, "widened values");
}

void WidenedValue::bind(const Arena& arena, const Kernels& kernels, const ValuePlace& place) {
  place_ = place;
  values_ = arena.at<void>(place.buffer);
  floats_ = arena.at(buffer_);
  kernels_ = &kernels;
}

/// Calls convert(values, floats, count) for elements that are contiguous in both; `values` is null
/// where the piece lies outside the image.
template <class T, class Convert>
void WidenedValue::convert(T* values, const ValuePiece& piece, const Samples& slice,
                           const Convert& convert) const {
  if (phases_.apart > 1) {
    convert_phases(values, piece, slice, convert);
  } else {
    convert_points(values, piece, slice, convert);
  }
}

/// Without phases: a block's pixels of a sample are contiguous in the value and in the piece.
template <class T, class Convert>
void WidenedValue::convert_points(T* values, const ValuePiece& piece, const Samples& slice,
                                  const Convert& convert) const {
  constexpr std::int64_t kPart = 1 << 13;
  const std::int64_t points = piece.points > 0 ? piece.points : layout_.rows;
  const std::int64_t run = points * layout_.width, parts = base::ceil_div(run, kPart);
  const std::int64_t sample = place_.row_of(piece.sample, slice);
  const std::int64_t begin = -piece.point * layout_.width;  // of the image, within the run
  const std::int64_t end = begin + layout_.rows * layout_.width;
#pragma omp parallel for schedule(static)
  for (std::int64_t item = 0; item < piece.samples * layout_.blocks * parts; ++item) {
    const std::int64_t block = item / parts, first = item % parts * kPart;
    const std::int64_t last = std::min(run, first + kPart);
    T* const image =
        values + layout_.offset(sample + block / layout_.blocks, block % layout_.blocks);
    float* const floats = floats_ + block * run;
    const std::int64_t from = std::clamp(begin, first, last), to = std::clamp(end, from, last);
    if (first < from) convert(static_cast<T*>(nullptr), floats + first, from - first);
    if (from < to) convert(image + (from - begin), floats + from, to - from);
    if (to < last) convert(static_cast<T*>(nullptr), floats + to, last - to);
  }
}

/// Neighbouring pixels of a phase are not contiguous in the value: converts each separately.
template <class T, class Convert>
void WidenedValue::convert_phases(T* values, const ValuePiece& piece, const Samples& slice,
                                  const Convert& convert) const {
  const std::int64_t columns = phases_.columns(), apart = phases_.apart;
  const std::int64_t points = piece.points > 0 ? piece.points : phases_.rows() * columns;
  const std::int64_t first = place_.row_of(piece.sample, slice);
#pragma omp parallel for schedule(static)
  for (std::int64_t item = 0; item < piece.samples * phases_.count() * layout_.blocks; ++item) {
    const std::int64_t block = item % layout_.blocks, image = item / layout_.blocks;
    const std::int64_t phase = image % phases_.count();
    T* const from = values + layout_.offset(first + image / phases_.count(), block);
    float* to = floats_ + item * points * layout_.width;
    for (std::int64_t i = piece.point; i < piece.point + points; ++i, to += layout_.width) {
      const std::int64_t row = i / columns * apart + phase / apart;
      const std::int64_t column = i % columns * apart + phase % apart;
      const bool is_there = row < phases_.height && column < phases_.width;
      convert(is_there ? from + (row * phases_.width + column) * layout_.width : nullptr, to,
              layout_.width);
    }
  }
}

/// Zeroes the value from the piece's first pixel to the next piece's first; pixels of other phases
/// stay zero.
template <class T>
void WidenedValue::clear(T* values, const ValuePiece& piece, const Samples& slice) const {
  const std::int64_t columns = phases_.columns();
  const auto place_of = [&](std::int64_t point) {
    const std::int64_t at =
        (point / columns * phases_.width + point % columns) * phases_.apart * layout_.width;
    return std::min(at, layout_.rows * layout_.width);
  };
  const std::int64_t points = piece.points > 0 ? piece.points : phases_.rows() * columns;
  const std::int64_t begin = place_of(piece.point), end = place_of(piece.point + points);
  const std::int64_t first = place_.row_of(piece.sample, slice);
#pragma omp parallel for schedule(static)
  for (std::int64_t item = 0; item < piece.samples * layout_.blocks; ++item) {
    T* const image = values + layout_.offset(first + item / layout_.blocks, item % layout_.blocks);
    std::fill(image + begin, image + end, T{});
  }
}

void WidenedValue::widen(const ValuePiece& piece, const Samples& slice) const {
  const auto all = [&](const auto* values) {
    convert(values, piece, slice, [this](const auto* from, float* to, std::int64_t count) {
      if (from == nullptr) {
        std::fill_n(to, count, 0.0F);
      } else {
        this->widen(from, to, count);
      }
    });
  };
  is_float_ ? all(static_cast<const float*>(values_)) : all(static_cast<const Bf16*>(values_));
}

void WidenedValue::round(const ValuePiece& piece, const Samples& slice) const {
  const auto all = [&](auto* values) {
    if (phases_.only_first) clear(values, piece, slice);
    convert(values, piece, slice, [this](auto* to, const float* from, std::int64_t count) {
      if (to != nullptr) this->round(from, to, count);
    });
  };
  is_float_ ? all(static_cast<float*>(values_)) : all(static_cast<Bf16*>(values_));
}

namespace {

/// Plans one of a problem's products, which computes a piece at a time.
void plan_pieces(Planner& planner, SlicedPrimitive& product, const PieceCut& cut,
                 ConvolutionProduct which, int moment, const std::vector<Operand>& operands) {
  product.plan(
      planner, cut.sizes(), moment, [&](std::int64_t size) { return cut.describe(which, size); },
      operands,
      [&](const Operand& operand, std::int64_t size) {
        return cut.floats_desc(operand.desc, size, which, cut.problem().side_of(operand.argument));
      });
}

}  // namespace

bool WidenedForward::supports(const ConvolutionProblem& problem, const ConvolutionLayouts& layouts,
                              const Planner& /*planner*/) {
  return problem.compute() == memory::data_type::f32 &&
         type_of(layouts.src) == memory::data_type::bf16 && WidenedValue::applies(layouts.src) &&
         WidenedValue::applies(layouts.dst);
}

WidenedForward::WidenedForward(Planner& planner, const ConvolutionProblem& of,
                               const ConvolutionLayouts& layouts, const Slices& slices, int moment,
                               const ValuePlace& src, const ValuePlace& dst)
    : src_place_(src), dst_place_(dst) {
  ConvolutionProblem problem = of;
  // The result is rounded to bfloat16: Winograd's rounding errors are negligible.
  if (planner.winograd()) problem.allow_winograd_forward();
  weights_ = problem.operation().weights;
  bias_ = problem.operation().bias;
  const std::int64_t bytes =
      kFloatBytes * (sample_floats(layouts.src, problem, Side::kSource) +
                     sample_floats(layouts.dst, problem, Side::kDestination));
  cut_ = PieceCut(problem, slices, bytes,
                  piece_sizes(problem.uses_winograd_forward(), layouts.weights));
  src_.plan(planner, layouts.src, cut_, Side::kSource, {kForward}, moment);
  dst_.plan(planner, layouts.dst, cut_, Side::kDestination, {kForward}, moment);
  std::vector<Operand> operands = {
      {problem.reads_source(), layouts.src, Extent::kSlice},
      {DNNL_ARG_WEIGHTS, layouts.weights, Extent::kWhole, false, weights_},
      {problem.makes(), layouts.dst, Extent::kSlice, true}};
  if (bias_ >= 0) {
    operands.push_back(
        {DNNL_ARG_BIAS, plain_desc({problem.operation().dst.channels}), Extent::kWhole});
  }
  plan_pieces(planner, product_, cut_, kForward, moment, operands);
}

void WidenedForward::bind(const Arena& arena, Device& device, const Kernels& kernels) {
  src_.bind(arena, kernels, src_place_);
  dst_.bind(arena, kernels, dst_place_);
  std::vector<void*> places = {src_.floats(), arena.parameters.weights(weights_), dst_.floats()};
  if (bias_ >= 0) places.push_back(arena.parameters.weights(bias_));
  product_.bind(arena, device, places);
}

void WidenedForward::run(const Samples& slice, bool /*adds*/) {
  for (const Piece& piece : cut_.pieces_of(slice)) {
    src_.widen(cut_.value_of(piece, kForward, Side::kSource), slice);
    product_.run(cut_.key_of(piece));
    dst_.round(cut_.value_of(piece, kForward, Side::kDestination), slice);
  }
}

WidenedBackward::WidenedBackward(Planner& planner, const ConvolutionProblem& problem,
                                 const ConvolutionLayouts& layouts, const ValuePlace& src,
                                 const ValuePlace& diff_dst, BufferId diff_src)
    : src_place_(src), diff_dst_place_(diff_dst), diff_src_buffer_(diff_src) {
  weights_ = problem.operation().weights;
  const Slices& slices = planner.backward_slices();
  const int moment = planner.backward_moment();
  // Counts both the source and its gradient, which follow each other through the caches.
  const std::int64_t bytes =
      kFloatBytes * (2 * sample_floats(layouts.src, problem, Side::kSource) +
                     sample_floats(layouts.dst, problem, Side::kDestination));
  PieceSizes sizes = piece_sizes(problem.uses_winograd_gradients(), layouts.weights);
  // Winograd gradients of strips would need paddings that oneDNN does not support for them.
  if (problem.uses_winograd_gradients()) sizes.strip_rows = 0;
  cut_ = PieceCut(problem, slices, bytes, sizes);
  const std::vector<ConvolutionProduct> products = {kSourceGradient, kWeightsGradient};
  src_.plan(planner, layouts.src, cut_, Side::kSource, products, moment);
  diff_dst_.plan(planner, layouts.dst, cut_, Side::kDestination, products, moment);
  plan_pieces(planner, weights_product_, cut_, kWeightsGradient, moment,
              {{problem.reads_source(), layouts.src, Extent::kSlice},
               {problem.reads_gradient(), layouts.dst, Extent::kSlice},
               {DNNL_ARG_DIFF_WEIGHTS, layouts.weights, Extent::kWhole, true}});
  const auto weights_bytes = static_cast<std::int64_t>(layouts.weights.get_size());
  if (cut_.pieces_of({0, slices.batch}).size() > 1) {
    target_.plan_beside(planner, weights_bytes);
  } else {
    target_.plan(planner, weights_bytes);
  }
  if (diff_src < 0) return;
  diff_src_ = src_.in_its_place();
  data_product_.share_scratch(weights_product_);
  plan_pieces(planner, data_product_, cut_, kSourceGradient, moment,
              {{problem.reads_gradient(), layouts.dst, Extent::kSlice},
               {DNNL_ARG_WEIGHTS, layouts.weights, Extent::kWhole, false, weights_},
               {problem.returns(), layouts.src, Extent::kSlice, true}});
}

void WidenedBackward::bind(const Arena& arena, Device& device, const Kernels& kernels) {
  src_.bind(arena, kernels, src_place_);
  diff_dst_.bind(arena, kernels, diff_dst_place_);
  target_.bind(arena, weights_, kernels);
  weights_product_.bind(arena, device, {src_.floats(), diff_dst_.floats(), target_.begin(false)});
  if (!data_product_.planned()) return;
  diff_src_.bind(arena, kernels, {diff_src_buffer_, false});
  data_product_.bind(arena, device,
                     {diff_dst_.floats(), arena.parameters.weights(weights_), diff_src_.floats()});
}

std::int64_t WidenedBackward::reorders() const {
  return weights_product_.reorders() + data_product_.reorders();
}

std::vector<const SlicedPrimitive*> WidenedBackward::primitives() const {
  if (!data_product_.planned()) return {&weights_product_};
  return {&data_product_, &weights_product_};
}

void WidenedBackward::run(const Samples& slice, bool adds) {
  for (const Piece& piece : cut_.pieces_of(slice)) {
    const Samples key = cut_.key_of(piece);
    const ValuePiece weighed = cut_.value_of(piece, kWeightsGradient, Side::kDestination);
    ValuePiece widened;
    if (data_product_.planned()) {
      widened = cut_.value_of(piece, kSourceGradient, Side::kDestination);
      diff_dst_.widen(widened, slice);
      data_product_.run(key);
      diff_src_.round(cut_.value_of(piece, kSourceGradient, Side::kSource), slice);
    }
    // The two products read different rows around a strip.
    if (widened != weighed) diff_dst_.widen(weighed, slice);
    src_.widen(cut_.value_of(piece, kWeightsGradient, Side::kSource), slice);
    weights_product_.run(key, target_.begin(adds));
    target_.finish(adds);
    adds = true;
  }
}

}  // namespace nn
