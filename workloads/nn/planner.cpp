// Lifetimes of values and gradients while a network becomes a schedule.
// Hides how moments are counted.
#include <algorithm>

#include "runner/base/error.h"
#include "workloads/nn/layer.h"

namespace nn {

Planner::Planner(const Network& network, const Options& options, Device& device,
                 const Kernels& kernels)
    : network_(network), options_(options), device_(device), kernels_(kernels) {
  const std::size_t count = network.operations().size();
  value_descs_.resize(count);
  value_buffers_.assign(count, -1);
  gradients_.resize(count);
  parameter_descs_.resize(network.parameters().size());
}

int Planner::backward_moment_of(std::size_t operation) const {
  return 2 * static_cast<int>(value_descs_.size()) - 1 - static_cast<int>(operation);
}

std::int64_t Planner::buffer_bytes(const dnnl::memory::desc& desc) const {
  const auto bytes = static_cast<std::int64_t>(desc.get_size());
  const ChannelLayout layout = channel_layout(desc);
  if (layout.rows > kFewPoints || options_.batch >= kLeastRows) return bytes;
  return bytes / options_.batch * kLeastRows;
}

const dnnl::memory::desc& Planner::value_desc(ValueId value) const {
  return value_descs_.at(static_cast<std::size_t>(value));
}

BufferId Planner::value_buffer(ValueId value) const {
  return value_buffers_.at(static_cast<std::size_t>(value));
}

void Planner::define_value(const dnnl::memory::desc& desc) {
  value_descs_[operation_] = desc;
  value_buffers_[operation_] =
      memory_.request(buffer_bytes(desc), forward_moment(), forward_moment(), "activations");
}

void Planner::use_value(ValueId value, bool in_backward) {
  memory_.extend(value_buffer(value),
                 options_.training && in_backward ? backward_moment() : forward_moment());
}

BufferId Planner::contribute(ValueId value) {
  const auto maker = static_cast<std::size_t>(value);
  const BufferId buffer = memory_.request(buffer_bytes(value_descs_.at(maker)), backward_moment(),
                                          backward_moment_of(maker), "activation gradients");
  gradients_[maker].push_back(buffer);
  return buffer;
}

void Planner::contribute_in(ValueId value, BufferId buffer) {
  const auto maker = static_cast<std::size_t>(value);
  memory_.extend(buffer, backward_moment_of(maker));
  gradients_[maker].push_back(buffer);
}

BufferId Planner::contribute_from_outside(ValueId value) {
  const auto maker = static_cast<std::size_t>(value);
  const int moment = backward_moment_of(maker);
  gradients_[maker].push_back(memory_.request(buffer_bytes(value_descs_.at(maker)),
                                              static_cast<int>(value_descs_.size()) - 1, moment,
                                              "activation gradients"));
  return gradients_[maker].back();
}

const std::vector<BufferId>& Planner::incoming() const { return gradients_.at(operation_); }

BufferId Planner::temporary(std::int64_t bytes, int moment, const std::string& purpose) {
  return memory_.request(bytes, moment, moment, purpose);
}

BufferId Planner::kept(std::int64_t bytes, const std::string& purpose) {
  return memory_.request(bytes, forward_moment(),
                         options_.training ? backward_moment() : forward_moment(), purpose);
}

void Planner::set_parameter_desc(ParameterId id, const dnnl::memory::desc& desc) {
  parameter_descs_.at(static_cast<std::size_t>(id)) = desc;
}

void GradientTarget::plan(Planner& planner, std::int64_t bytes) {
  if (!planner.accumulates()) return;
  buffer_ = planner.temporary(bytes, planner.backward_moment(), "parameter gradients to add");
}

void GradientTarget::bind(const Arena& arena, ParameterId id, const Kernels& kernels) {
  place_ = arena.parameters.gradient(id);
  beside_ = arena.at(buffer_);
  count_ = arena.parameters.count(id);
  kernels_ = &kernels;
}

void GradientTarget::finish(bool accumulate) const {
  if (accumulate) kernels_->f32.accumulate(place_, beside_, count_);
}

namespace {

/// Whether matrix products beat the library's convolution.
bool has_few_points(const Operation& operation, const Planner& planner) {
  // Each source point may be copied once: more of them than a strided layer before leaves are too
  // many.
  constexpr std::int64_t kMostSourcePoints = 8 * kFewPoints;
  if (planner.precision() != Precision::kF32) return false;  // they are products of floats
  return operation.dst.points() <= kFewPoints &&
         planner.network().shape(operation.src).points() <= kMostSourcePoints;
}

}  // namespace

std::unique_ptr<Layer> make_layer(const Operation& operation, Planner& planner) {
  switch (operation.kind) {
    case OperationKind::kInput:
      break;  // the executor's own
    case OperationKind::kConvolution:
      return has_few_points(operation, planner) ? make_dense(operation, planner)
                                                : make_convolution(operation, planner);
    case OperationKind::kFullyConnected:
      return make_dense(operation, planner);
    case OperationKind::kBatchNorm:
      return make_batch_norm(operation, planner);
    case OperationKind::kMaxPool:
      return make_max_pool(operation, planner);
    case OperationKind::kGlobalAveragePool:
      return make_global_average_pool(operation, planner);
  }
  throw base::Error(base::ExitCode::kInternal, "no layer for " + operation.name);
}

}  // namespace nn
