// The interface of all layers.
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
  kTraining,          ///< batch statistics; keeps what the backward pass needs
  kFrozenStatistics,  ///< running statistics, not updated; a backward pass may follow
  kInference          ///< running statistics; no backward pass
};

/// The memory of planned buffers, and the state that outlives a pass.
struct Arena {
  const MemoryPlan& plan;
  float* block;
  Parameters& parameters;
  RunningStatistics& statistics;
  const BatchGroups* groups;     ///< null without training
  StatisticsExchange* exchange;  ///< null when no group is shared
  const SampleStreams* streams;
  VolumeExchange* volumes;  ///< null when samples are not split over ranks
  template <class T = float>
  T* at(BufferId buffer) const {
    if (buffer < 0) return nullptr;
    return reinterpret_cast<T*>(reinterpret_cast<char*>(block) + plan.offset(buffer));
  }
};

/// The method that computes one of a layer's products, and the methods that could.
struct ProductMethod {
  std::string product;  ///< "forward", ...
  std::string key;      ///< what its speed depends on: method_key()
  std::string method;
  std::vector<std::string> permitted;
};

/// One operation made runnable. Life cycle: the constructor, in forward order, chooses layouts;
/// plan_backward(), in reverse order, in training only; bind(), once memory exists; then passes,
/// forward() and backward() for each slice of samples in order. Where a batch norm's statistics are
/// the batch's and the pass plan observes them, observe() gets each slice of its source before
/// forward(), and observe_gradient() each slice of its gradient before backward(); settle() and
/// settle_gradient() follow the last slice.
class Layer {
 public:
  virtual ~Layer() = default;
  virtual void plan_backward(Planner& planner) = 0;
  virtual void bind(const Arena& arena) = 0;
  virtual void forward(Mode mode, const Samples& samples) = 0;
  /// Writes its contributions to the gradients. With `accumulate`, adds parameter gradients to the
  /// existing ones; the second and later slices always do.
  virtual void backward(bool accumulate, const Samples& samples) = 0;
  /// Recomputes the output of the last forward pass, where the plan asks for it.
  virtual void recompute(const Samples& samples);
  virtual void observe(const Samples& /*samples*/) {}
  virtual void settle() {}
  virtual void observe_gradient(const Samples& /*samples*/) {}
  virtual void settle_gradient(bool /*accumulate*/) {}
  /// Whether the layer itself adds the first two contributions to its gradient.
  virtual bool adds_gradients() const { return false; }
  /// Conversions between layouts in one training step: a cost that good plans avoid.
  virtual std::int64_t reorders_per_step() const { return 0; }
  /// Names of the oneDNN implementations and of this project's methods that the layer runs; "own"
  /// for a layer with a single implementation, which is this project's.
  virtual std::string implementation() const { return "own"; }
  /// The products whose method can be chosen.
  virtual std::vector<ProductMethod> methods() const { return {}; }
  /// Whether one of its products uses the bf16x3 split of floats.
  virtual bool uses_bf16x3() const { return false; }
};

/// Where a layer writes a parameter's gradient: in place, or into a temporary buffer that finish()
/// adds to it.
class GradientTarget {
 public:
  void plan(Planner& planner, std::int64_t bytes) {
    plan(planner, bytes, planner.backward_moment());
  }
  /// For a layer that writes the gradient in several parts, and so always needs the buffer.
  void plan_beside(Planner& planner, std::int64_t bytes);
  /// For a layer that writes the gradient from `first_moment` on.
  void plan(Planner& planner, std::int64_t bytes, int first_moment);
  void bind(const Arena& arena, ParameterId id, const Kernels& kernels);
  /// The memory to write to in this pass.
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
