// Pieces of values, widened, multiplied and rounded.
// Hides how threads share the conversions.
#include "workloads/nn/widened_convolution.h"

#include <algorithm>

namespace nn {
namespace {

using dnnl::memory;

constexpr auto kFloatBytes = static_cast<std::int64_t>(sizeof(float));

std::int64_t sample_floats(const memory::desc& values) {
  return channel_layout(values).sample_numbers();
}

/// What a piece of floats may have: it stays within the second caches of the few cores that share a
/// rank, unless weights are so large that to go over them for each piece would cost more.
/// Winograd's are transformed for each, and its scratchpads grow with it.
std::int64_t piece_bytes(bool is_winograd, const memory::desc& weights) {
  constexpr std::int64_t kLeast = 4 << 20, kLeastTransformed = 8 << 20;
  const auto bytes = static_cast<std::int64_t>(weights.get_size());
  return is_winograd ? std::max(kLeastTransformed, bytes) : std::max(kLeast, 2 * bytes);
}

}  // namespace

PieceCut::PieceCut(const ConvolutionProblem& problem, const Slices& slices,
                   std::int64_t sample_bytes, std::int64_t bytes)
    : by_points_(problem.is_by_points() && sample_bytes > bytes),
      phases_(problem.phases()),
      points_(problem.operation().dst.points()) {
  const std::int64_t unit_bytes = by_points_ ? sample_bytes / points_ : sample_bytes;
  most_ = std::max<std::int64_t>(1, bytes / std::max<std::int64_t>(1, unit_bytes));
  for (const std::int64_t samples : slices.sizes()) {
    for (const std::int64_t size : cut(by_points_ ? points_ : samples).sizes()) {
      if (std::find(sizes_.begin(), sizes_.end(), size) == sizes_.end()) sizes_.push_back(size);
    }
  }
}

Slices PieceCut::cut(std::int64_t units) const { return {units, (units + most_ - 1) / most_}; }

std::int64_t PieceCut::most() const { return *std::max_element(sizes_.begin(), sizes_.end()); }

std::vector<ValuePiece> PieceCut::pieces_of(const Samples& slice) const {
  std::vector<ValuePiece> pieces;
  const Slices slices = cut(by_points_ ? points_ : slice.count);
  const std::int64_t times = by_points_ ? slice.count : 1;
  for (std::int64_t sample = slice.first; sample < slice.first + times; ++sample) {
    for (std::int64_t i = 0; i < slices.count; ++i) {
      const Samples part = slices.at(i);
      if (by_points_) {
        pieces.push_back({sample, 1, part.first, part.count});
      } else {
        pieces.push_back({slice.first + part.first, part.count, 0, 0});
      }
    }
  }
  return pieces;
}

Samples PieceCut::key_of(const ValuePiece& piece) const {
  if (!by_points_) return {piece.sample, piece.samples};
  return {piece.sample * points_ + piece.point, piece.points};
}

memory::desc PieceCut::floats_desc(const memory::desc& values, std::int64_t size) const {
  const memory::desc floats = retyped(values, memory::data_type::f32);
  if (phases_.apart > 1) {
    const SampleShape image = {values.dims()[1], {phases_.rows(), phases_.columns()}};
    return with_samples(like(floats, image), size * phases_.count());
  }
  if (!by_points_) return with_samples(floats, size);
  SampleShape shape = {values.dims()[1], std::vector<std::int64_t>(values.dims().size() - 2, 1)};
  shape.spatial.back() = size;
  return with_samples(like(floats, shape), 1);
}

bool WidenedValue::fits(const memory::desc& values) {
  const ChannelLayout layout = channel_layout(values);
  return layout.row_stride == layout.width &&
         (layout.padded || layout.channels % layout.width == 0);
}

void WidenedValue::plan(Planner& planner, const memory::desc& values, const PieceCut& cut,
                        int moment) {
  layout_ = channel_layout(values);
  phases_ = cut.phases();
  is_float_ = values.data_type() == memory::data_type::f32;
  buffer_ =
      planner.temporary(static_cast<std::int64_t>(cut.floats_desc(values, cut.most()).get_size()),
                        moment, "widened values");
}

void WidenedValue::bind(const Arena& arena, const Kernels& kernels, const ValuePlace& place) {
  place_ = place;
  values_ = arena.at<void>(place.buffer);
  floats_ = arena.at(buffer_);
  kernels_ = &kernels;
}

/// A block's points of a sample are neighbours in both.
template <class T, class Convert>
void WidenedValue::convert(T* values, const ValuePiece& piece, const Samples& slice,
                           const Convert& convert) const {
  constexpr std::int64_t kPart = 1 << 13;
  const std::int64_t points = piece.points > 0 ? piece.points : layout_.rows;
  const std::int64_t run = points * layout_.width, parts = (run + kPart - 1) / kPart;
  const std::int64_t first = place_.row_of(piece.sample, slice);
#pragma omp parallel for schedule(static)
  for (std::int64_t item = 0; item < piece.samples * layout_.blocks * parts; ++item) {
    const std::int64_t block = item / parts, at = item % parts * kPart;
    const std::int64_t from =
        layout_.offset(first + block / layout_.blocks, block % layout_.blocks) +
        piece.point * layout_.width + at;
    convert(values + from, floats_ + block * run + at, std::min(kPart, run - at));
  }
}

/// Calls convert(point, floats) for each point of the images of phases, whose neighbours are none
/// among the values; the point is null where the image goes beyond them.
template <class T, class Convert>
void WidenedValue::convert_phases(T* values, const ValuePiece& piece, const Samples& slice,
                                  const Convert& convert) const {
  const std::int64_t rows = phases_.rows(), columns = phases_.columns();
  const std::int64_t first = place_.row_of(piece.sample, slice);
#pragma omp parallel for schedule(static)
  for (std::int64_t item = 0; item < piece.samples * phases_.count() * layout_.blocks; ++item) {
    const std::int64_t block = item % layout_.blocks, image = item / layout_.blocks;
    const std::int64_t phase = image % phases_.count();
    T* const from = values + layout_.offset(first + image / phases_.count(), block);
    float* to = floats_ + item * rows * columns * layout_.width;
    for (std::int64_t i = 0; i < rows * columns; ++i, to += layout_.width) {
      const std::int64_t row = i / columns * phases_.apart + phase / phases_.apart;
      const std::int64_t column = i % columns * phases_.apart + phase % phases_.apart;
      const bool is_there = row < phases_.height && column < phases_.width;
      convert(is_there ? from + (row * phases_.width + column) * layout_.width : nullptr, to);
    }
  }
}

void WidenedValue::widen(const ValuePiece& piece, const Samples& slice) const {
  const auto all = [&](const auto* values) {
    if (phases_.apart == 1) {
      return convert(values, piece, slice, [this](const auto* from, float* to, std::int64_t count) {
        widen(from, to, count);
      });
    }
    convert_phases(values, piece, slice, [this](const auto* point, float* to) {
      if (point == nullptr) {
        std::fill_n(to, layout_.width, 0.0F);
      } else {
        widen(point, to, layout_.width);
      }
    });
  };
  is_float_ ? all(static_cast<const float*>(values_)) : all(static_cast<const Bf16*>(values_));
}

void WidenedValue::round(const ValuePiece& piece, const Samples& slice) const {
  const auto all = [&](auto* values) {
    if (phases_.apart == 1) {
      return convert(values, piece, slice, [this](auto* to, const float* from, std::int64_t count) {
        round(from, to, count);
      });
    }
    convert_phases(values, piece, slice, [this](auto* point, const float* from) {
      if (point != nullptr) round(from, point, layout_.width);
    });
  };
  is_float_ ? all(static_cast<float*>(values_)) : all(static_cast<Bf16*>(values_));
}

namespace {

/// One of the problem's products, of a piece at a time.
void plan_pieces(Planner& planner, SlicedPrimitive& product, const ConvolutionProblem& problem,
                 const PieceCut& cut,
                 dnnl::primitive_desc (ConvolutionProblem::*describe)(std::int64_t) const,
                 int moment, const std::vector<Operand>& operands) {
  product.plan(
      planner, cut.sizes(), moment,
      [&](std::int64_t size) {
        return cut.by_points() ? (problem.of_points(size).*describe)(1) : (problem.*describe)(size);
      },
      operands,
      [&](const memory::desc& values, std::int64_t size) { return cut.floats_desc(values, size); });
}

}  // namespace

void WidenedForward::plan(Planner& planner, const ConvolutionProblem& of,
                          const ConvolutionLayouts& layouts, const Slices& slices, int moment) {
  ConvolutionProblem problem = of;
  // What comes out is rounded to bfloat16, beside which its rounding errors are none.
  if (planner.winograd()) problem.allow_winograd_forward();
  weights_ = problem.operation().weights;
  bias_ = problem.operation().bias;
  const std::int64_t bytes =
      kFloatBytes * (sample_floats(layouts.src) + sample_floats(layouts.dst));
  cut_ = PieceCut(problem, slices, bytes,
                  piece_bytes(problem.uses_winograd_forward(), layouts.weights));
  src_.plan(planner, layouts.src, cut_, moment);
  dst_.plan(planner, layouts.dst, cut_, moment);
  std::vector<Operand> operands = {
      {problem.reads_source(), layouts.src, Extent::kSlice},
      {DNNL_ARG_WEIGHTS, layouts.weights, Extent::kWhole, false, weights_},
      {problem.makes(), layouts.dst, Extent::kSlice, true}};
  if (bias_ >= 0) {
    operands.push_back(
        {DNNL_ARG_BIAS, plain_desc({problem.operation().dst.channels}), Extent::kWhole});
  }
  plan_pieces(planner, product_, problem, cut_, &ConvolutionProblem::forward, moment, operands);
}

void WidenedForward::bind(const Arena& arena, Device& device, const Kernels& kernels,
                          const ValuePlace& src, const ValuePlace& dst) {
  src_.bind(arena, kernels, src);
  dst_.bind(arena, kernels, dst);
  std::vector<void*> places = {src_.floats(), arena.parameters.weights(weights_), dst_.floats()};
  if (bias_ >= 0) places.push_back(arena.parameters.weights(bias_));
  product_.bind(arena, device, places);
}

void WidenedForward::run(const Samples& slice) {
  for (const ValuePiece& piece : cut_.pieces_of(slice)) {
    src_.widen(piece, slice);
    product_.run(cut_.key_of(piece));
    dst_.round(piece, slice);
  }
}

void WidenedBackward::plan(Planner& planner, const ConvolutionProblem& problem,
                           const ConvolutionLayouts& layouts, bool has_source_gradient) {
  weights_ = problem.operation().weights;
  const Slices& slices = planner.backward_slices();
  const int moment = planner.backward_moment();
  // Of the source and its gradient, which follow each other through the caches, both.
  const std::int64_t bytes =
      kFloatBytes * (2 * sample_floats(layouts.src) + sample_floats(layouts.dst));
  cut_ = PieceCut(problem, slices, bytes,
                  piece_bytes(problem.uses_winograd_gradients(), layouts.weights));
  src_.plan(planner, layouts.src, cut_, moment);
  diff_dst_.plan(planner, layouts.dst, cut_, moment);
  plan_pieces(planner, weights_product_, problem, cut_, &ConvolutionProblem::weights_gradient,
              moment,
              {{problem.reads_source(), layouts.src, Extent::kSlice},
               {problem.reads_gradient(), layouts.dst, Extent::kSlice},
               {DNNL_ARG_DIFF_WEIGHTS, layouts.weights, Extent::kWhole, true}});
  const auto weights_bytes = static_cast<std::int64_t>(layouts.weights.get_size());
  if (cut_.pieces_of({0, slices.batch}).size() > 1) {
    target_.plan_beside(planner, weights_bytes);
  } else {
    target_.plan(planner, weights_bytes);
  }
  if (!has_source_gradient) return;
  diff_src_ = src_.in_its_place();
  data_product_.share_scratch(weights_product_);
  plan_pieces(planner, data_product_, problem, cut_, &ConvolutionProblem::source_gradient, moment,
              {{problem.reads_gradient(), layouts.dst, Extent::kSlice},
               {DNNL_ARG_WEIGHTS, layouts.weights, Extent::kWhole, false, weights_},
               {problem.returns(), layouts.src, Extent::kSlice, true}});
}

void WidenedBackward::bind(const Arena& arena, Device& device, const Kernels& kernels,
                           const ValuePlace& src, const ValuePlace& diff_dst, BufferId diff_src) {
  src_.bind(arena, kernels, src);
  diff_dst_.bind(arena, kernels, diff_dst);
  target_.bind(arena, weights_, kernels);
  weights_product_.bind(arena, device, {src_.floats(), diff_dst_.floats(), target_.begin(false)});
  if (!data_product_.planned()) return;
  diff_src_.bind(arena, kernels, {diff_src, false});
  data_product_.bind(arena, device,
                     {diff_dst_.floats(), arena.parameters.weights(weights_), diff_src_.floats()});
}

void WidenedBackward::run(bool accumulate, const Samples& slice) {
  bool adds = accumulate || slice.first > 0;
  for (const ValuePiece& piece : cut_.pieces_of(slice)) {
    const Samples key = cut_.key_of(piece);
    diff_dst_.widen(piece, slice);
    if (data_product_.planned()) {
      data_product_.run(key);
      diff_src_.round(piece, slice);
    }
    src_.widen(piece, slice);
    weights_product_.run(key, target_.begin(adds));
    target_.finish(adds);
    adds = true;
  }
}

}  // namespace nn
