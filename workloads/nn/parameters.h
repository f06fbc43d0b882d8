// Weights and gradients of a network, each in one block, in the layouts that the layers chose.
// Hides oneDNN's layouts behind plain row-major reads and writes.
#pragma once

#include <cstdint>
#include <dnnl.hpp>
#include <memory>
#include <span>
#include <vector>

#include "workloads/nn/network.h"
#include "workloads/nn/onednn.h"
#include "workloads/optimizer/optimizer.h"
#include "workloads/optimizer/parameter_memory.h"

namespace nn {

/// Identifies one of the copies of a parameter's weights.
struct CopyId {
  ParameterId parameter = -1;
  std::size_t index = 0;
};
/// Copies of weights, by parameter.
using PlannedCopies = std::vector<std::vector<WeightCopy>>;

/// Floats of a block of parameters in these layouts.
std::int64_t block_floats(const std::vector<dnnl::memory::desc>& layouts);

/// A parameter drawn from its initializer, a function of (seed, name) alone; plain row-major.
std::vector<float> initial_values(const ParameterSpec& spec, std::uint64_t seed);

/// Both blocks are in the order in which the backward pass finishes, the last parameter of the
/// network first, so that the final gradients are always a prefix. Where replicas share weights,
/// one of them writes: the writing calls do nothing on the others. publish() follows the last
/// write.
class Parameters {
 public:
  /// descs[i] is the layout of parameter i; copies[i] are the copies of its weights.
  Parameters(const Network& network, std::vector<dnnl::memory::desc> descs,
             const PlannedCopies& copies, Device& device, std::shared_ptr<ParameterMemory> memory);

  float* weights(ParameterId id) const { return weights_.data() + offset(id); }
  float* gradient(ParameterId id) const { return gradients_.data() + offset(id); }
  /// The weights in another layout; up to date after write_weights() and the optimizer's step.
  void* copy(const CopyId& id) const {
    return copies_.at(static_cast<std::size_t>(id.parameter)).at(id.index).place;
  }
  /// Elements in memory, padding included.
  std::int64_t count(ParameterId id) const;
  /// Floats of the blocks before this parameter.
  std::int64_t first(ParameterId id) const { return offset(id); }
  /// Floats of the gradient block up to and including this parameter.
  std::int64_t prefix(ParameterId id) const { return offset(id) + aligned_count(id); }
  const dnnl::memory::desc& desc(ParameterId id) const {
    return descs_.at(static_cast<std::size_t>(id));
  }
  std::span<float> all_weights() const { return weights_; }
  std::span<float> all_gradients() const { return gradients_; }

  /// For the optimizer, in block order.
  std::vector<ParameterView> views() const;
  /// Whether the writing calls take effect on this replica.
  bool is_writer() const { return memory_->is_writer(); }
  /// Collective among replicas that share weights. Makes what was written visible to all.
  void publish() { memory_->publish(); }
  /// Sets every parameter to its initial_values(), and publishes.
  void initialize(std::uint64_t seed);
  std::vector<float> read_weights(ParameterId id) const;
  std::vector<float> read_gradient(ParameterId id) const;
  /// plain: row-major in the parameter's shape.
  void write_weights(ParameterId id, std::span<const float> plain);
  /// Elements in the parameter's order (weights or optimizer state) to plain row-major.
  std::vector<float> to_plain(ParameterId id, std::span<const float> elements) const;
  void from_plain(ParameterId id, std::span<const float> plain, std::span<float> elements) const;
  /// A hash of the weights' bits.
  std::uint64_t weights_hash() const;
  /// Whether no weight is infinite or NaN.
  bool is_finite() const;

 private:
  std::int64_t offset(ParameterId id) const { return offsets_.at(static_cast<std::size_t>(id)); }
  std::int64_t aligned_count(ParameterId id) const;
  void place_copies(const PlannedCopies& copies);
  void require_count(ParameterId id, std::span<const float> plain) const;
  std::vector<ParameterSpec> specs_;
  std::vector<dnnl::memory::desc> descs_;
  std::vector<std::int64_t> offsets_;
  Device& device_;
  std::shared_ptr<ParameterMemory> memory_;
  std::span<float> weights_, gradients_;
  std::vector<std::vector<KeptCopy>> copies_;  ///< by parameter
};

}  // namespace nn
