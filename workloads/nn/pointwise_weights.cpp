// Gradients of pointwise weights within a pass.
// Hides nothing else.
#include "workloads/nn/pointwise_weights.h"

#include <algorithm>
#include <cstring>

namespace nn {
namespace {

using dnnl::memory;

constexpr std::int64_t kLanes = 16;

bool is_pointwise(const Operation& operation) {
  const auto all = [](const auto& values, std::int64_t wanted) {
    return std::all_of(values.begin(), values.end(),
                       [wanted](std::int64_t value) { return value == wanted; });
  };
  return all(operation.kernel, 1) && all(operation.padding.begin, 0) &&
         all(operation.padding.end, 0);
}

/// Activations as PointwiseGradient reads them.
bool is_blocked_bf16(const memory::desc& desc) {
  const ChannelLayout layout = channel_layout(desc);
  return desc.data_type() == memory::data_type::bf16 && layout.width == kLanes &&
         layout.row_stride == kLanes && !layout.padded &&
         layout.block_stride == layout.rows * kLanes;
}

/// Weights as PointwiseGradient writes their gradient.
memory::desc weights_desc(const memory::dims& dims) {
  const auto tag = dims.size() == 3   ? memory::format_tag::OIw16i16o
                   : dims.size() == 4 ? memory::format_tag::OIhw16i16o
                                      : memory::format_tag::OIdhw16i16o;
  return {dims, memory::data_type::f32, tag};
}

/// The source points that destination points are made of, where a stride leaves some out.
std::vector<std::int64_t> taken_points(const Operation& operation, const SampleShape& src) {
  std::vector<std::int64_t> taken = {0};
  for (std::size_t axis = 0; axis < operation.stride.size(); ++axis) {
    std::vector<std::int64_t> further;
    for (const std::int64_t outer : taken) {
      for (std::int64_t at = 0; at < operation.dst.spatial[axis]; ++at) {
        further.push_back(outer * src.spatial[axis] + at * operation.stride[axis]);
      }
    }
    taken = std::move(further);
  }
  return taken;
}

}  // namespace

bool PointwiseWeights::applies(const Operation& operation, const Operands& operands,
                               const Planner& planner) {
  const memory::dims dims = operands.weights.dims();
  return is_pointwise(operation) && is_blocked_bf16(operands.src) &&
         is_blocked_bf16(operands.dst) && operands.weights == weights_desc(dims) &&
         PointwiseGradient::fits({operation.dst.points(), dims[1], dims[0]}, planner.threads(),
                                 planner.kernels());
}

void PointwiseWeights::plan(Planner& planner, const Operation& operation, std::int64_t channels,
                            const ValuePlace& src) {
  const SampleShape& shape = planner.network().shape(operation.src);
  in_ = channels;
  out_ = operation.dst.channels;
  points_ = operation.dst.points();
  src_points_ = shape.points();
  src_place_ = src;
  product_.emplace(PointwiseGradient::Shape{points_, in_, out_}, planner.threads(),
                   planner.kernels());
  const int moment = planner.backward_moment();
  scratch_buffer_ = planner.temporary(product_->scratch_bytes(), moment, "scratchpads");
  if (points_ == src_points_) return;
  taken_ = taken_points(operation, shape);
  const std::int64_t samples = planner.backward_slices().sizes().back();
  taken_buffer_ = planner.temporary(
      samples * in_ * points_ * static_cast<std::int64_t>(sizeof(Bf16)), moment, "scratchpads");
}

void PointwiseWeights::bind(const Arena& arena, BufferId diff_dst) {
  scratch_ = arena.at<std::uint32_t>(scratch_buffer_);
  taken_values_ = arena.at<Bf16>(taken_buffer_);
  src_ = arena.at<Bf16>(src_place_.buffer);
  diff_dst_ = arena.at<Bf16>(diff_dst);
}

/// The source of these samples, without the points that the stride leaves out.
const Bf16* PointwiseWeights::taken_source(const Samples& samples) {
  const Bf16* const src = src_ + src_place_.row_of(samples.first, samples) * in_ * src_points_;
  if (taken_.empty()) return src;
  const std::int64_t columns = samples.count * (in_ / kLanes);
#pragma omp parallel for schedule(static)
  for (std::int64_t column = 0; column < columns; ++column) {
    const Bf16* const from = src + column * src_points_ * kLanes;
    Bf16* const to = taken_values_ + column * points_ * kLanes;
    for (std::int64_t point = 0; point < points_; ++point) {
      std::memcpy(to + point * kLanes, from + taken_[static_cast<std::size_t>(point)] * kLanes,
                  kLanes * sizeof(Bf16));
    }
  }
  return taken_values_;
}

void PointwiseWeights::run(const Samples& samples, float* diff_weights, bool add) {
  product_->run(taken_source(samples), diff_dst_ + samples.first * out_ * points_, samples.count,
                diff_weights, add, scratch_);
}

}  // namespace nn
