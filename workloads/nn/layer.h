// What every layer of the engine offers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/nn/planner.h"
#include "workloads/nn/running_statistics.h"
#include "workloads/nn/sample_streams.h"
#include "workloads/nn/volume_exchange.h"

namespace nn {

enum class Mode {
  kTraining,          ///< statistics of the batch; what the backward pass needs is kept
  kFrozenStatistics,  ///< running statistics, which stay as they are; a backward pass may follow
  kInference          ///< running statistics; no backward pass
};

/// Where planned buffers really are, and what outlives a pass.
struct Arena {
  const MemoryPlan& plan;
  float* block;
  Parameters& parameters;
  RunningStatistics& statistics;
  const BatchGroups* groups;     ///< null without training
  StatisticsExchange* exchange;  ///< null when no group is shared
  const SampleStreams* streams;
  VolumeExchange* volumes;  ///< null when samples are whole
  template <class T = float>
  T* at(BufferId buffer) const {
    if (buffer < 0) return nullptr;
    return reinterpret_cast<T*>(reinterpret_cast<char*>(block) + plan.offset(buffer));
  }
};

/// How one of a layer's products is made, and how it could be: names of methods.
struct ProductMethod {
  std::string product;  ///< "forward", ...
  std::string key;      ///< what its speed depends on
  std::string method;
  std::vector<std::string> permitted;
};

/// One operation made runnable. Life: constructor (chooses layouts, forward order), plan_backward
/// (reverse order, training only), bind (once memory exists), then passes: forward and backward for
/// each slice of samples, in order. Layers that observe are told of their source before forward(),
/// and of their gradient before backward(), and settle once they have seen all samples; only where
/// statistics are the batch's.
class Layer {
 public:
  virtual ~Layer() = default;
  virtual void plan_backward(Planner& planner) = 0;
  virtual void bind(const Arena& arena) = 0;
  virtual void forward(Mode mode, const Samples& samples) = 0;
  /// Writes its parts of the gradients. With `accumulate`, parameter gradients are added to what is
  /// there; those of the second and later slices always are.
  virtual void backward(bool accumulate, const Samples& samples) = 0;
  /// Makes the value of the last forward pass again, where the plan says that this is done.
  virtual void remake(const Samples& samples);
  virtual void observe(const Samples& /*samples*/) {}
  virtual void settle() {}
  virtual void observe_gradient(const Samples& /*samples*/) {}
  virtual void settle_gradient(bool /*accumulate*/) {}
  /// Whether it adds the first two incoming parts of its gradient itself.
  virtual bool adds_gradients() const { return false; }
  /// Conversions between layouts in one training step: a cost that good plans avoid.
  virtual std::int64_t reorders_per_step() const { return 0; }
  /// The library's names for what runs, and the methods that are not its own; "own": there is one
  /// way alone.
  virtual std::string implementation() const { return "own"; }
  /// Of products whose method is a choice.
  virtual std::vector<ProductMethod> methods() const { return {}; }
  /// Whether one of its products is of floats in three parts each.
  virtual bool multiplies_parts() const { return false; }
};

/// A parameter's gradient as a layer writes it: into place, or beside it and then added.
class GradientTarget {
 public:
  void plan(Planner& planner, std::int64_t bytes) {
    plan(planner, bytes, planner.backward_moment());
  }
  /// For a layer that writes it in several parts.
  void plan_beside(Planner& planner, std::int64_t bytes);
  /// For a layer that writes it from `first_moment` on.
  void plan(Planner& planner, std::int64_t bytes, int first_moment);
  void bind(const Arena& arena, ParameterId id, const Kernels& kernels);
  /// Where to write now.
  float* begin(bool accumulate) const { return accumulate ? beside_ : place_; }
  void finish(bool accumulate) const;

 private:
  BufferId buffer_ = -1;
  float* place_ = nullptr;
  float* beside_ = nullptr;
  std::int64_t count_ = 0;
  const Kernels* kernels_ = nullptr;
};

}  // namespace nn
