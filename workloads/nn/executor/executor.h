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

/// Told of passes while they go on, so that inputs can come late and gradients can leave early.
class PassListener {
 public:
  virtual ~PassListener() = default;
  /// Forward: among the operations of the segment that comes next is the first one to read input
  /// `value`. Not called for the first input, which is there from the start.
  virtual void input_needed(ValueId /*value*/) {}
  /// Backward: input_gradient(value) is final.
  virtual void input_gradient_ready(ValueId /*value*/) {}
  /// Backward: the first `floats` floats of Parameters::all_gradients() are final now. Called after
  /// each segment of the pass.
  virtual void gradients_ready(std::int64_t floats) = 0;
};

/// Told of each piece of an operation's work, which it encloses: an operation may come slice by
/// slice, and again where its value is remade.
class LayerListener {
 public:
  virtual ~LayerListener() = default;
  /// `name`, and `method`, by which its products are made, live as long as the executor.
  virtual void layer_begins(const char* name, const char* method) = 0;
  virtual void layer_ends() = 0;
};

struct ExecutorOptions {
  std::int64_t batch = 1;  ///< samples of one pass on this rank
  bool training = true;
  bool accumulates = false;  ///< several passes make one step
  BatchGroups groups;        ///< training: how the pass's samples fall into batch-norm groups
  std::reference_wrapper<const Kernels> kernels = nn::kernels(base::InstructionSet::kBaseline);
  Arithmetic arithmetic;             ///< kBf16 needs kernels with pairs
  std::int64_t slice_samples = 0;    ///< most samples of a slice; 0: as caches allow
  std::optional<CacheSizes> caches;  ///< none: as the system tells
  Recompute recompute = Recompute::kNormalizations;
  bool plan_only = false;                   ///< takes no memory: it cannot run
  std::shared_ptr<ParameterMemory> memory;  ///< of weights and gradients; null: of its own
  VolumeExchange* volumes = nullptr;        ///< needed for parts of volumes; outlives the executor
};

/// What one operation is and costs, for tables.
struct LayerFacts {
  std::string name, implementation;
  std::int64_t training_flops = 0;  ///< 2 x multiply-accumulates, whole batch, all passes
  std::int64_t operand_bytes = 0, moved_bytes = 0;  ///< as layer_traffic.h has them
  std::vector<ProductMethod> methods;               ///< of products whose method is a choice
};

/// What an operation's passes took.
struct LayerSeconds {
  double forward = 0.0, backward = 0.0;
};

class Executor {
 public:
  /// exchange: needed when a group is shared with other ranks. Both outlive the executor.
  /// Throws ShapeError naming the layer for what oneDNN cannot do, ConfigError for arithmetic that
  /// the CPU or the network does not have.
  Executor(const Network& network, const ExecutorOptions& options, Device& device,
           StatisticsExchange* exchange);
  ~Executor();

  /// The first input [batch, C, spatial...] plain row-major, unless channels stand last: fill
  /// before forward().
  std::span<float> input() const;
  /// Another one, or one whose channels stand last, of T as precision() says: fill before it is
  /// needed (PassListener).
  template <class T>
  std::span<T> input(ValueId value) const {
    return {at<T>(planner_->value_place(value).buffer), values(value)};
  }
  /// d loss / d input of one that wants it, until the next forward(); T as precision() says.
  template <class T>
  std::span<const T> input_gradient(ValueId value) const {
    return {at<T>(input_gradients_.at(static_cast<std::size_t>(value))), values(value)};
  }
  /// Which samples the next passes are of: needed before forward(Mode::kTraining) where training
  /// draws at random.
  void name_samples(SampleStreams streams) { streams_ = std::move(streams); }
  Precision precision() const { return options_.arithmetic.precision; }
  /// What the library's products multiply in bf16, and own ones in f32: kPairs or kFloats.
  Products products() const;
  /// The last value where it is a vector per sample: [batch, outputs]; valid until the next pass,
  /// forward or backward.
  std::span<const float> outputs() const;
  /// d loss / d outputs of such: fill before backward(); keeps its content only until then.
  std::span<float> output_gradient() const;
  /// The same for outputs with spatial extents, converted from and to plain row-major [batch, C,
  /// spatial...].
  std::vector<float> read_outputs() const;
  void write_output_gradient(std::span<const float> plain);
  void forward(Mode mode, PassListener* listener = nullptr);
  /// Fills the gradients of the last forward pass, which was not kInference; listener may be null.
  /// With `accumulate`, adds to them. Once for each forward pass, whose activations it overwrites.
  void backward(bool accumulate, PassListener* listener);

  Parameters& parameters() { return *parameters_; }
  const Parameters& parameters() const { return *parameters_; }
  RunningStatistics& statistics() { return statistics_; }
  const RunningStatistics& statistics() const { return statistics_; }
  const Network& network() const { return network_; }
  std::int64_t batch() const { return options_.batch; }
  /// FLOPs of one pass: forward, and of training forward + backward (no input gradient for the
  /// first layer).
  std::int64_t forward_flops() const;
  std::int64_t training_flops() const;
  /// Layout conversions in one training pass.
  std::int64_t reorders_per_step() const;
  std::vector<LayerFacts> layers() const;
  /// From now on each layer's passes are timed, which takes two looks at the clock each.
  void time_layers();
  /// Of each of layers(), since time_layers() or the last call.
  std::vector<LayerSeconds> take_layer_seconds();
  /// From now on tells of all layers' work; `listener` outlives this.
  void tell_layers(LayerListener& listener) { layer_listener_ = &listener; }
  /// Bytes by part: weights, their copies in other layouts, gradients, activations and scratch
  /// (shared block), and the block's content unshared.
  std::map<std::string, std::int64_t> memory_bytes() const;
  /// What is done when most of the block is in use, and what is in use then.
  struct MemoryPeak {
    std::string at;
    std::map<std::string, std::int64_t> bytes;
  };
  MemoryPeak memory_peak() const;

 private:
  /// Parts of a gradient, of values of the executor's precision, or of floats behind the last such
  /// value.
  struct Addition {
    char* target;
    const char* part;
    std::int64_t sample_bytes;
    bool is_f32;
  };
  void add(const Addition& addition, const Samples& samples) const;
  /// Calls body(step, samples), slice by slice, counts the seconds where layers are timed, and
  /// tells who listens.
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
  std::vector<std::vector<Addition>> additions_;  ///< parts of each value's gradient to add
  std::vector<std::int64_t> ready_;  ///< gradient floats final after a segment's backward
  Mode mode_ = Mode::kInference;     ///< of the last forward pass
  BufferId output_gradient_ = -1;
  std::vector<BufferId> input_gradients_;    ///< of each input; -1: not wanted
  BufferId given_input_ = -1;                ///< floats, where the first value is none; else -1
  std::vector<LayerSeconds> layer_seconds_;  ///< empty: not timed
  LayerListener* layer_listener_ = nullptr;
};

}  // namespace nn
