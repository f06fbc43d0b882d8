// The plan in the making: what each operation of a network needs of memory, and when.
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

/// Where a value stands.
struct ValuePlace {
  BufferId buffer = -1;
  bool is_slice = false;  ///< only the samples of the slice at hand are there
  /// Which sample of the place `sample` is while `slice` is at hand.
  std::int64_t row_of(std::int64_t sample, const Samples& slice) const {
    return is_slice ? sample - slice.first : sample;
  }
};

/// A value that is never stored, as its reader makes it of another one, channel by channel.
class ChannelMap {
 public:
  virtual ~ChannelMap() = default;
  /// Of the channels from `at` on, as the reader counts them: see NormColumn.
  virtual Normalization norm(std::size_t at) const = 0;
};

/// The plan in the making. Moments are the pass plan's segments, first those forward, then those
/// backward: what one segment uses is alive together.
class Planner {
 public:
  struct Options {
    std::int64_t batch = 1;
    bool training = true;
    bool accumulates = false;  ///< several passes make one step
    BatchGroups groups;        ///< training only
    Arithmetic arithmetic;
    std::int64_t slice_samples = 0;  ///< as PassOptions has it
    Recompute recompute = Recompute::kNone;
    std::optional<CacheSizes> caches;  ///< none: as the system tells
    /// Weights are kept, or copied, in the layouts that products want, which may depend on `batch`;
    /// else products convert them.
    bool copies_weights = true;
  };
  Planner(const Network& network, const Options& options, Device& device, const Kernels& kernels);

  const Network& network() const { return network_; }
  std::int64_t batch() const { return options_.batch; }
  /// That passes run on.
  int threads() const { return threads_; }
  bool training() const { return options_.training; }
  bool copies_weights() const { return options_.copies_weights; }
  /// Whether the operation at hand adds its gradients of parameters to what is there.
  bool accumulates() const { return options_.accumulates || backward_slices().count > 1; }
  const BatchGroups& groups() const { return options_.groups; }
  Precision precision() const { return options_.arithmetic.precision; }
  /// Of activations and their gradients.
  dnnl::memory::data_type value_type() const { return data_type_of(precision()); }
  /// What the layer's operands are multiplied in by the library.
  dnnl::memory::data_type compute_type(const std::string& layer) const;
  /// What is multiplied on this CPU.
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
  /// The operation being planned, the value that it makes, its moments and slices.
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
  /// An activation's columns, for what goes over whole rows: where channels are last, as wide as
  /// kernels take them, in pieces of rows.
  ChannelLayout row_layout(const dnnl::memory::desc& desc) const;
  /// When the operation's statistics begin to be gathered.
  int forward_observation() const {
    const int observed = pass_.of(operation_).observed_forward;
    return observed < 0 ? forward_moment() : observed;
  }
  int backward_observation() const {
    const int observed = pass_.of(operation_).observed_backward;
    return observed < 0 ? backward_moment() : forward_moments() + observed;
  }

  // Values. A value's buffer lives from its operation to its last use; one that is made again has
  // two buffers.
  const dnnl::memory::desc& value_desc(ValueId value) const;
  /// Where the forward pass finds a value, and where the backward pass does.
  ValuePlace value_place(ValueId value) const;
  ValuePlace value_again(ValueId value) const;
  /// Sets layout and place of the value that the operation at hand makes.
  void define_value(const dnnl::memory::desc& desc);
  /// Whether one operation reads `value`, once.
  bool is_read_once(ValueId value) const { return network_.readers(value).size() == 1; }
  /// Whether the operation at hand makes its value again.
  bool remakes() const { return training() && pass_.of(operation_).remade >= 0; }
  int remake_moment() const { return forward_moments() + pass_.of(operation_).remade; }
  const Slices& remake_slices() const {
    return pass_.backward()[static_cast<std::size_t>(pass_.of(operation_).remade)].slices;
  }
  /// The value of the operation at hand is never stored: its only reader makes it of `source`.
  void defer_value(const ChannelMap& map, ValueId source);
  struct Deferred {
    const ChannelMap* map = nullptr;  ///< null: the value is stored
    ValueId source = -1;
  };
  const Deferred& deferred(ValueId value) const;
  /// The operation at hand reads `value` forward, again if it makes its own again, and with
  /// `in_backward` in its backward pass.
  void use_value(ValueId value, bool in_backward);

  // Gradients of values: each consumer contributes one buffer in the value's layout; they are to be
  // added.
  /// A buffer for the operation at hand to write its part of d loss / d value into, backward.
  BufferId contribute(ValueId value);
  /// The same for a gradient of `bytes` bytes, of a value that one operation reads.
  BufferId contribute(ValueId value, std::int64_t bytes);
  /// The same in place of `buffer`, which the operation at hand reads for the last time and which
  /// has the value's layout.
  void contribute_in(ValueId value, BufferId buffer);
  /// The parts of the gradient of the value that the operation at hand made.
  const std::vector<BufferId>& incoming() const;
  /// Adds a part that the caller fills before the backward pass (the loss).
  BufferId contribute_from_outside(ValueId value);

  /// Memory that the operation at hand needs only at `moment`, or from `first` to `last`.
  BufferId temporary(std::int64_t bytes, int moment, const std::string& purpose) {
    return temporary(bytes, moment, moment, purpose);
  }
  BufferId temporary(std::int64_t bytes, int first, int last, const std::string& purpose);
  /// Memory from the operation's forward to its backward moment.
  BufferId kept(std::int64_t bytes, const std::string& purpose);

  // Parameters.
  void set_parameter_desc(ParameterId id, const dnnl::memory::desc& desc);
  const std::vector<dnnl::memory::desc>& parameter_descs() const { return parameter_descs_; }
  /// Weights, whose layout has been set, are wanted in `wanted`, too: nothing where nobody knows
  /// how to keep such a copy.
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
  /// Of the part of a value that is there while one of `slices` is at hand.
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
