// A network made runnable for one batch size: primitives, memory and schedule, created once.
// Hides layers, layouts and buffers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runner/base/system_facts.h"
#include "workloads/nn/batch_groups.h"
#include "workloads/nn/layer.h"
#include "workloads/nn/network.h"
#include "workloads/nn/onednn.h"
#include "workloads/nn/parameters.h"
#include "workloads/nn/running_statistics.h"

namespace nn {

/// Is notified during passes, so that inputs and weights can arrive late and gradients can leave
/// early.
class PassListener {
 public:
  virtual ~PassListener() = default;
  /// Forward: an operation of the next segment is the first to read input `value`. Not called for
  /// the first input, which has to be filled before the pass.
  virtual void input_needed(ValueId /*value*/) {}
  /// Forward: the next segment reads no weights before float `first` of Parameters::all_weights().
  /// Called before each segment; `first` never grows within a pass, and is 0 in the end.
  virtual void weights_needed(std::int64_t /*first*/) {}
  /// Backward: input_gradient(value) is final.
  virtual void input_gradient_ready(ValueId /*value*/) {}
  /// Backward: the first `floats` floats of Parameters::all_gradients() are final. Called after
  /// each segment of the pass.
  virtual void gradients_ready(std::int64_t /*floats*/) {}
};

/// Is notified at the beginning and end of each step of an operation: an operation may have
/// several, one for each slice, and more where its value is recomputed.
class LayerListener {
 public:
  virtual ~LayerListener() = default;
  /// `name`, and `method`, the LayerFacts::implementation, live as long as the executor.
  virtual void layer_begins(const char* name, const char* method) = 0;
  virtual void layer_ends() = 0;
};

struct ExecutorOptions {
  std::int64_t batch = 1;  ///< samples of one pass on this rank
  bool training = true;
  bool accumulates = false;  ///< several passes make one step
  BatchGroups groups;        ///< training: the batch-norm groups of the pass
  std::reference_wrapper<const Kernels> kernels = nn::kernels(base::InstructionSet::kBaseline);
  Arithmetic arithmetic;             ///< kBf16 needs kernels with pairs
  std::int64_t slice_samples = 0;    ///< most samples of a slice; 0: as many as fit the caches
  std::optional<CacheSizes> caches;  ///< none: as the system reports them
  Recompute recompute = Recompute::kNormalizations;
  bool plan_only = false;                   ///< takes no memory, and so cannot run
  std::shared_ptr<ParameterMemory> memory;  ///< of weights and gradients; null: private
  VolumeExchange* volumes = nullptr;        ///< needed for parts of volumes; outlives the executor
};

/// Name, methods and costs of one operation, for tables.
struct LayerFacts {
  std::string name, implementation;
  std::int64_t training_flops = 0;  ///< 2 x multiply-accumulates, whole batch, all passes
  std::int64_t operand_bytes = 0, moved_bytes = 0;  ///< see layer_traffic.h
  std::vector<ProductMethod> methods;               ///< of products whose method can be chosen
};

/// Seconds that an operation's passes took.
struct LayerSeconds {
  double forward = 0.0, backward = 0.0;
};

class Executor {
 public:
  /// `exchange`: required when a group is shared with other ranks. `device` and `exchange` outlive
  /// the executor. Throws ShapeError that names the layer for what oneDNN cannot do, ConfigError
  /// for arithmetic that the CPU or the network does not support.
  Executor(const Network& network, const ExecutorOptions& options, Device& device,
           StatisticsExchange* exchange);
  ~Executor();

  /// The first input, [batch, C, spatial...] plain row-major, unless it is stored channels last: to
  /// be filled before forward().
  std::span<float> input() const;
  /// Any other input, or one stored channels last, of T according to precision(): to be filled
  /// before it is needed (PassListener).
  template <class T>
  std::span<T> input(ValueId value) const {
    return {at<T>(planner_->value_place(value).buffer), values(value)};
  }
  /// d loss / d input for an input that wants it, valid until the next forward(); T according to
  /// precision().
  template <class T>
  std::span<const T> input_gradient(ValueId value) const {
    return {at<T>(input_gradients_.at(static_cast<std::size_t>(value))), values(value)};
  }
  /// Names the samples of the next passes: required before forward(Mode::kTraining) if training
  /// draws random numbers (dropout).
  void name_samples(SampleStreams streams) { streams_ = std::move(streams); }
  Precision precision() const { return options_.arithmetic.precision; }
  /// What oneDNN's products multiply in bf16, and this project's in f32: kPairs or kFloats.
  Products products() const;
  /// The last value if it is a vector per sample, [batch, outputs]; valid until the next pass,
  /// forward or backward.
  std::span<const float> outputs() const;
  /// d loss / d outputs(): to be filled before backward(), which overwrites it.
  std::span<float> output_gradient() const;
  /// The same for outputs with spatial extents, converted from and to plain row-major [batch, C,
  /// spatial...].
  std::vector<float> read_outputs() const;
  void write_output_gradient(std::span<const float> plain);
  void forward(Mode mode, PassListener* listener = nullptr);
  /// Computes the gradients of the last forward pass, which was not kInference; with `accumulate`,
  /// adds parameter gradients to the existing ones. To be called once per forward pass, whose
  /// activations it overwrites. `listener` may be null.
  void backward(bool accumulate, PassListener* listener);

  Parameters& parameters() { return *parameters_; }
  const Parameters& parameters() const { return *parameters_; }
  RunningStatistics& statistics() { return statistics_; }
  const RunningStatistics& statistics() const { return statistics_; }
  const Network& network() const { return network_; }
  std::int64_t batch() const { return options_.batch; }
  /// FLOPs of one forward pass, and of forward + backward (without the gradient of an input that
  /// does not want it).
  std::int64_t forward_flops() const;
  std::int64_t training_flops() const;
  /// Layout conversions in one training pass.
  std::int64_t reorders_per_step() const;
  std::vector<LayerFacts> layers() const;
  /// From now on times each layer's passes, which reads the clock twice per step.
  void time_layers();
  /// Seconds of each of layers() since time_layers() or the last call.
  std::vector<LayerSeconds> take_layer_seconds();
  /// From now on notifies `listener`, which outlives this, of all layers' work.
  void set_layer_listener(LayerListener& listener) { layer_listener_ = &listener; }
  /// Bytes by use: weights, their copies in other layouts, gradients, activations and scratch (the
  /// shared block), and what the block's buffers would take unshared.
  std::map<std::string, std::int64_t> memory_bytes() const;
  /// Of the block of gradients, whose tensors are padded.
  std::int64_t gradient_floats() const;
  /// The segment during which most of the block is in use, and what is in use then.
  struct MemoryPeak {
    std::string at;
    std::map<std::string, std::int64_t> bytes;
  };
  MemoryPeak memory_peak() const;

 private:
  /// An addition of two contributions to a gradient, of the executor's precision, or floats for
  /// values that are floats at any precision.
  struct Addition {
    char* target;
    const char* part;
    std::int64_t sample_bytes;
    bool is_f32;
  };
  void add(const Addition& addition, const Samples& samples) const;
  /// Calls body(step, samples), slice by slice; measures the seconds if layers are timed, and
  /// notifies the layer listener.
  template <class Body>
  void for_each_step(const PassSegment& segment, double LayerSeconds::*direction, const Body& body);
  void plan(bool copies_weights);
  void plan_forward(Planner& planner);
  void plan_backward(Planner& planner);
  void bind(StatisticsExchange* exchange);
  std::size_t inputs() const { return static_cast<std::size_t>(network_.inputs()); }
  std::size_t values(ValueId value) const {
    return static_cast<std::size_t>(options_.batch * network_.shape(value).size());
  }
  void announce_inputs(const PassSegment& segment, PassListener* listener) const;
  ValueId last() const { return static_cast<ValueId>(network_.operations().size()) - 1; }
  template <class T = float>
  T* at(BufferId buffer) const {
    return reinterpret_cast<T*>(reinterpret_cast<char*>(block_.data()) +
                                planner_->memory().offset(buffer));
  }

  const Network network_;
  const ExecutorOptions options_;
  const Kernels& kernels_;
  Device& device_;
  std::unique_ptr<Planner> planner_;
  std::vector<std::unique_ptr<Layer>> layers_;  ///< those of inputs are null
  std::unique_ptr<Parameters> parameters_;
  RunningStatistics statistics_;
  SampleStreams streams_;
  std::vector<std::string> methods_;  ///< implementation() of each of layers_
  AlignedFloats block_;
  std::vector<std::vector<Addition>> additions_;  ///< contributions that layers do not add
  std::vector<std::int64_t> needed_;  ///< first float of weights read so far, by forward segment
  std::vector<std::int64_t> ready_;   ///< final gradient floats, by backward segment
  Mode mode_ = Mode::kInference;      ///< of the last forward pass
  BufferId output_gradient_ = -1;
  std::vector<BufferId> input_gradients_;    ///< of each input; -1: not wanted
  BufferId given_input_ = -1;                ///< input as floats, if its value is in bf16; else -1
  std::vector<LayerSeconds> layer_seconds_;  ///< empty: not timed
  LayerListener* layer_listener_ = nullptr;
};

}  // namespace nn
