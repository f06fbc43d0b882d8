// Lifetimes of values and gradients while a network becomes a schedule.
#include "workloads/nn/planner.h"

#include <omp.h>

#include <algorithm>
#include <string>
#include <utility>

#include "runner/base/error.h"
#include "runner/base/machine_files.h"
#include "runner/base/random.h"
#include "workloads/kernels/tiling.h"
#include "workloads/nn/accumulation.h"

namespace nn {
namespace {

std::int64_t buffer_bytes(const dnnl::memory::desc& desc) {
  return static_cast<std::int64_t>(desc.get_size());
}

/// Whether a batch norm saves time by processing one column (16 channels) of all samples of a group
/// before the next column: each thread's second-level cache must hold what is read again, and there
/// must be enough columns for all threads.
bool goes_by_channels(const Operation& operation, const Planner::Options& options, Pass pass,
                      int threads, std::int64_t cache_bytes) {
  std::int64_t largest = 0;
  for (const BatchGroup& group : options.groups.groups) {
    if (group.shared) return false;  // its sums wait for other ranks
    largest = std::max(largest, group.size);
  }
  const auto groups = static_cast<std::int64_t>(options.groups.groups.size());
  const std::int64_t units = groups * (operation.dst.channels / kLanes);
  const std::int64_t added = operation.residual ? 1 : 0;
  const std::int64_t arrays = pass == Pass::kForward ? 1 + added : 2 + added;
  const std::int64_t unit_bytes = largest * operation.dst.spatial_size() * kLanes *
                                  bytes_of(options.arithmetic.precision) * arrays;
  return units >= 2 * threads && unit_bytes <= cache_bytes;
}

PassOptions pass_options(const Planner::Options& options, const CpuProducts& products,
                         int threads) {
  const Precision precision = options.arithmetic.precision;
  const CacheSizes caches = options.caches.value_or(
      CacheSizes{base::cache_bytes("/", 2, threads), base::cache_bytes("/", 3, threads)});
  PassOptions pass;
  pass.batch = options.batch;
  pass.value_bytes = bytes_of(precision);
  pass.threads = threads;
  pass.cache_bytes = caches.second + caches.third;
  pass.slice_samples = options.slice_samples;
  pass.training = options.training;
  pass.recompute = options.recompute;
  pass.takes_all = [](const Operation& operation) {
    return operation.kind == OperationKind::kFullyConnected ||
           operation.kind == OperationKind::kConvolutionPool ||
           operation.kind == OperationKind::kGatherVolume ||
           operation.kind == OperationKind::kActivation;
  };
  // With channels last, a few channels are fractions of cache lines from all over the memory.
  if (options.slice_samples > 0 || products.wants_channels_last()) return pass;
  const std::int64_t second = caches.second / threads;
  pass.goes_by_channels = [&options, second, threads](const Operation& operation, Pass which) {
    return goes_by_channels(operation, options, which, threads, second);
  };
  return pass;
}

}  // namespace

Planner::Planner(const Network& network, const Options& options, Device& device,
                 const Kernels& kernels)
    : network_(network),
      options_(options),
      threads_(omp_get_max_threads()),
      device_(device),
      kernels_(kernels),
      products_(options.arithmetic, kernels, device),
      pass_(network, pass_options(options, products_, threads_)) {
  const std::size_t count = network.operations().size();
  value_descs_.resize(count);
  value_places_.resize(count);
  values_again_.resize(count);
  deferred_.resize(count);
  gradients_.resize(count);
  parameter_descs_.resize(network.parameters().size());
  weight_copies_.resize(network.parameters().size());
}

ChannelLayout Planner::row_layout(const dnnl::memory::desc& desc) const {
  const ChannelLayout layout = channel_layout(desc);
  return products_.wants_channels_last() ? layout.in_wide_columns() : layout;
}

dnnl::memory::data_type Planner::compute_type(const std::string& layer) const {
  const Arithmetic& arithmetic = options_.arithmetic;
  if (arithmetic.f32_layers.contains(layer)) return dnnl::memory::data_type::f32;
  if (arithmetic.precision == Precision::kBf16 && products_.library() == Products::kFloats) {
    return dnnl::memory::data_type::f32;
  }
  return value_type();
}

const dnnl::memory::desc& Planner::value_desc(ValueId value) const {
  return value_descs_.at(static_cast<std::size_t>(value));
}

std::int64_t Planner::slice_bytes(const dnnl::memory::desc& desc, const Slices& slices) const {
  return buffer_bytes(desc) / options_.batch * slices.sizes().back();
}

ValuePlace Planner::value_place(ValueId value) const {
  return value_places_.at(static_cast<std::size_t>(value));
}

ValuePlace Planner::recomputed_value(ValueId value) const {
  return values_again_.at(static_cast<std::size_t>(value));
}

void Planner::define_value(const dnnl::memory::desc& desc) {
  value_descs_[operation_] = desc;
  const auto place = [&](bool is_slice, const Slices& slices, int moment) -> ValuePlace {
    const std::int64_t bytes = is_slice ? slice_bytes(desc, slices) : buffer_bytes(desc);
    return {memory_.request(bytes, moment, moment, "activations"), is_slice};
  };
  const SegmentsOf& here = pass_.of(operation_);
  value_places_[operation_] = place(here.passes, forward_slices(), forward_moment());
  values_again_[operation_] = value_places_[operation_];
  if (!recomputes()) return;
  values_again_[operation_] =
      place(here.is_transient_recomputed, recompute_slices(), recompute_moment());
}

void Planner::defer_value(const ChannelMap& map, ValueId source) {
  value_descs_[operation_] = value_desc(source);
  deferred_[operation_] = {&map, source};
}

const Planner::Deferred& Planner::deferred(ValueId value) const {
  return deferred_.at(static_cast<std::size_t>(value));
}

void Planner::use_value(ValueId value, bool in_backward) {
  memory_.extend(value_place(value).buffer, forward_moment());
  if (recomputes()) memory_.extend(recomputed_value(value).buffer, recompute_moment());
  if (training() && in_backward) memory_.extend(recomputed_value(value).buffer, backward_moment());
}

BufferId Planner::contribute(ValueId value) {
  return contribute(value, buffer_bytes(value_descs_.at(static_cast<std::size_t>(value))));
}

BufferId Planner::contribute(ValueId value, std::int64_t bytes) {
  const auto maker = static_cast<std::size_t>(value);
  const BufferId buffer =
      memory_.request(bytes, backward_moment(), backward_moment_of(maker), "activation gradients");
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
  gradients_[maker].push_back(memory_.request(
      buffer_bytes(value_descs_.at(maker)), forward_moments() - 1, moment, "activation gradients"));
  return gradients_[maker].back();
}

const std::vector<BufferId>& Planner::incoming() const { return gradients_.at(operation_); }

BufferId Planner::temporary(std::int64_t bytes, int first, int last, const std::string& purpose) {
  return memory_.request(bytes, first, last, purpose);
}

BufferId Planner::kept(std::int64_t bytes, const std::string& purpose) {
  return memory_.request(bytes, forward_moment(),
                         options_.training ? backward_moment() : forward_moment(), purpose);
}

void Planner::set_parameter_desc(ParameterId id, const dnnl::memory::desc& desc) {
  parameter_descs_.at(static_cast<std::size_t>(id)) = desc;
}

std::optional<CopyId> Planner::copy_weights(ParameterId id, const dnnl::memory::desc& wanted) {
  if (!options_.copies_weights) return std::nullopt;
  const auto at = static_cast<std::size_t>(id);
  std::vector<WeightCopy>& copies = weight_copies_.at(at);
  const std::optional<BlockedLayout> have = layout_of(parameter_descs_.at(at)),
                                     want = layout_of(wanted);
  if (!have || !want) return std::nullopt;
  for (std::size_t i = 0; i < copies.size(); ++i) {
    if (copies[i].layout() == *want) return CopyId{id, i};
  }
  std::optional<WeightCopy> copy = WeightCopy::between(*have, *want, kernels_);
  if (!copy) return std::nullopt;
  copies.push_back(std::move(*copy));
  return CopyId{id, copies.size() - 1};
}

std::uint64_t Planner::layouts_hash() const {
  std::string text;
  const auto add = [&text](std::int64_t number) { text += std::to_string(number) + " "; };
  const auto add_layout = [&](const BlockedLayout& layout) {
    add(static_cast<std::int64_t>(layout.type));
    for (std::size_t axis = 0; axis < layout.dims.size(); ++axis) {
      add(layout.padded[axis]);
      add(layout.strides[axis]);
    }
    for (const BlockedLayout::Block& block : layout.blocks) {
      add(block.axis);
      add(block.extent);
    }
  };
  for (std::size_t i = 0; i < parameter_descs_.size(); ++i) {
    add(static_cast<std::int64_t>(i));
    if (const auto layout = layout_of(parameter_descs_[i])) add_layout(*layout);
    for (const WeightCopy& copy : weight_copies_[i]) add_layout(copy.layout());
  }
  return base::hash_name(text);
}

}  // namespace nn
