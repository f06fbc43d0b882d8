// Planning of memory: what each operation of a network needs, and when.
#pragma once

#include <cstdint>
#include <dnnl.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "workloads/kernels/kernels.h"
#include "workloads/nn/batch_groups.h"
#include "workloads/nn/memory_plan.h"
#include "workloads/nn/network.h"
#include "workloads/nn/onednn.h"
#include "workloads/nn/parameters.h"
#include "workloads/nn/pass_plan.h"
#include "workloads/nn/product_rates.h"

namespace nn {

/// The buffer of a value.
struct ValuePlace {
  BufferId buffer = -1;
  bool is_slice = false;  ///< it holds only the samples of the current slice
  /// The index of `sample` in the buffer while `slice` is the current slice.
  std::int64_t row_of(std::int64_t sample, const Samples& slice) const {
    return is_slice ? sample - slice.first : sample;
  }
};

/// How a reader computes a value that is never stored from one that is, channel by channel.
class ChannelMap {
 public:
  virtual ~ChannelMap() = default;
  /// The normalization of the channels from `at` on, an index as NormColumn::at.
  virtual Normalization norm(std::size_t at) const = 0;
};

/// Collects the memory needs of operations. Moments are the pass plan's segments, first the
/// forward, then the backward ones: all that one segment uses is alive together.
class Planner {
 public:
  struct Options {
    std::int64_t batch = 1;
    bool training = true;
    bool accumulates = false;  ///< several passes make one step
    BatchGroups groups;        ///< training only
    Arithmetic arithmetic;
    std::int64_t slice_samples = 0;  ///< as in PassOptions
    Recompute recompute = Recompute::kNone;
    std::optional<CacheSizes> caches;  ///< none: as the system reports them
    /// Whether weights are kept, or copied, in the layouts that products want, which may depend on
    /// `batch`; otherwise products convert them.
    bool copies_weights = true;
  };
  Planner(const Network& network, const Options& options, Device& device, const Kernels& kernels);

  const Network& network() const { return network_; }
  std::int64_t batch() const { return options_.batch; }
  /// Threads that run the passes.
  int threads() const { return threads_; }
  bool training() const { return options_.training; }
  bool copies_weights() const { return options_.copies_weights; }
  /// Whether the current operation adds its parameter gradients to existing ones.
  bool accumulates() const { return options_.accumulates || backward_slices().count > 1; }
  const BatchGroups& groups() const { return options_.groups; }
  Precision precision() const { return options_.arithmetic.precision; }
  /// The type of activations and their gradients.
  dnnl::memory::data_type value_type() const { return data_type_of(precision()); }
  /// The type in which oneDNN multiplies the layer's operands.
  dnnl::memory::data_type compute_type(const std::string& layer) const;
  /// Which products to use on this CPU.
  const CpuProducts& products() const { return products_; }
  const std::map<std::string, std::string>& methods() const { return options_.arithmetic.methods; }
  bool winograd() const { return options_.arithmetic.winograd_gradients; }
  Device& device() const { return device_; }
  const Kernels& kernels() const { return kernels_; }
  const PassPlan& pass() const { return pass_; }
  bool observes(Pass pass) const {
    const SegmentsOf& here = pass_.of(operation_);
    return (pass == Pass::kForward ? here.observed_forward : here.observed_backward) >= 0;
  }
  /// Makes `operation` the current operation, to whose value, moments and slices later calls refer.
  void at(std::size_t operation) { operation_ = operation; }
  ValueId made() const { return static_cast<ValueId>(operation_); }
  int forward_moment() const { return pass_.of(operation_).forward; }
  int backward_moment() const { return backward_moment_of(operation_); }
  const Slices& forward_slices() const {
    return pass_.forward()[static_cast<std::size_t>(forward_moment())].slices;
  }
  const Slices& backward_slices() const {
    return pass_.backward()[static_cast<std::size_t>(pass_.of(operation_).backward)].slices;
  }
  /// An activation's columns for kernels that process whole rows: with channels last, columns as
  /// wide as kernels support, in pieces of rows.
  ChannelLayout row_layout(const dnnl::memory::desc& desc) const;
  /// The first moment at which the operation's statistics are gathered.
  int forward_observation() const {
    const int observed = pass_.of(operation_).observed_forward;
    return observed < 0 ? forward_moment() : observed;
  }
  int backward_observation() const {
    const int observed = pass_.of(operation_).observed_backward;
    return observed < 0 ? backward_moment() : forward_moments() + observed;
  }

  // Values. A value's buffer lives from its operation to its last use; a recomputed value has two
  // buffers.
  const dnnl::memory::desc& value_desc(ValueId value) const;
  /// Where the forward pass (value_place) and the backward pass (recomputed_value) find a value.
  ValuePlace value_place(ValueId value) const;
  ValuePlace recomputed_value(ValueId value) const;
  /// Sets layout and place of the current operation's value.
  void define_value(const dnnl::memory::desc& desc);
  /// Whether `value` has one reader, which reads it once.
  bool is_read_once(ValueId value) const { return network_.readers(value).size() == 1; }
  /// Whether the current operation recomputes its value in the backward pass.
  bool recomputes() const { return training() && pass_.of(operation_).recomputed_in >= 0; }
  int recompute_moment() const { return forward_moments() + pass_.of(operation_).recomputed_in; }
  const Slices& recompute_slices() const {
    return pass_.backward()[static_cast<std::size_t>(pass_.of(operation_).recomputed_in)].slices;
  }
  /// The current operation's value is never stored: its only reader computes it from `source`.
  void defer_value(const ChannelMap& map, ValueId source);
  struct Deferred {
    const ChannelMap* map = nullptr;  ///< null: the value is stored
    ValueId source = -1;
  };
  const Deferred& deferred(ValueId value) const;
  /// The current operation reads `value` in its forward pass, again when it recomputes its own
  /// value, and with `in_backward` in its backward pass.
  void use_value(ValueId value, bool in_backward);

  // Gradients of values: each reader contributes one buffer in the value's layout; these are added.
  /// A buffer for the current operation to write its contribution to d loss / d value to.
  BufferId contribute(ValueId value);
  /// The same of `bytes` bytes, for a value with one reader.
  BufferId contribute(ValueId value, std::int64_t bytes);
  /// The same in `buffer`, which has the value's layout and is not read after this operation.
  void contribute_in(ValueId value, BufferId buffer);
  /// The contributions to the gradient of the current operation's value.
  const std::vector<BufferId>& incoming() const;
  /// Adds a contribution that the caller fills before the backward pass (the loss).
  BufferId contribute_from_outside(ValueId value);

  /// Memory that the current operation needs only at `moment`, or from `first` to `last`.
  BufferId temporary(std::int64_t bytes, int moment, const std::string& purpose) {
    return temporary(bytes, moment, moment, purpose);
  }
  BufferId temporary(std::int64_t bytes, int first, int last, const std::string& purpose);
  /// Memory from the operation's forward to its backward moment.
  BufferId kept(std::int64_t bytes, const std::string& purpose);

  // Parameters.
  void set_parameter_desc(ParameterId id, const dnnl::memory::desc& desc);
  const std::vector<dnnl::memory::desc>& parameter_descs() const { return parameter_descs_; }
  /// Asks for a copy of weights, whose layout has been set, in layout `wanted`. Nothing if copies
  /// are off, or if this conversion is not supported.
  std::optional<CopyId> copy_weights(ParameterId id, const dnnl::memory::desc& wanted);
  const PlannedCopies& weight_copies() const { return weight_copies_; }
  /// A hash of the layouts of parameters and of their copies: replicas that share them must agree.
  std::uint64_t layouts_hash() const;

  MemoryPlan& memory() { return memory_; }

 private:
  int forward_moments() const { return static_cast<int>(pass_.forward().size()); }
  int backward_moment_of(std::size_t operation) const {
    return forward_moments() + pass_.of(operation).backward;
  }
  /// Bytes of a value's largest slice.
  std::int64_t slice_bytes(const dnnl::memory::desc& desc, const Slices& slices) const;
  const Network& network_;
  Options options_;
  const int threads_;
  Device& device_;
  const Kernels& kernels_;
  const CpuProducts products_;
  const PassPlan pass_;
  std::size_t operation_ = 0;
  MemoryPlan memory_;
  std::vector<dnnl::memory::desc> value_descs_;
  std::vector<ValuePlace> value_places_, values_again_;
  std::vector<Deferred> deferred_;
  std::vector<std::vector<BufferId>> gradients_;
  std::vector<dnnl::memory::desc> parameter_descs_;
  PlannedCopies weight_copies_;
};

}  // namespace nn
