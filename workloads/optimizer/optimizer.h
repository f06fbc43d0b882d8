// The interface of all optimizers, which update weights from gradients. Work is split over threads
// and replicas; results do not depend on the split, as sums are added in a fixed order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "workloads/optimizer/parameter_memory.h"
#include "workloads/optimizer/weight_copy.h"

namespace nn {

/// One trainable tensor, in whatever element order its layer keeps it. Zero padding inside stays
/// zero as long as the gradient's padding is zero.
struct ParameterView {
  std::string name;
  float* weights = nullptr;
  float* gradient = nullptr;  ///< of the loss averaged over the global batch
  std::int64_t count = 0;     ///< elements of both, padding included
  bool decays = true;         ///< false for batch norm and biases: no weight decay, LARS trust 1
  std::int64_t offset = 0;    ///< of weights and gradient in the memory blocks that contain them
  std::span<const KeptCopy> copies = {};  ///< of the weights; every update refreshes them
};

/// How replicas that share weights and the optimizer's state divide an update. Source: the
/// distributed weight update of Sridharan et al., arXiv:1801.08030.
struct UpdateShare {
  /// Memory for the state; null: the optimizer allocates its own.
  std::shared_ptr<ParameterMemory> memory;
  /// Whether this replica updates the block of weights that begins at `offset`; empty: it updates
  /// all.
  std::function<bool(std::int64_t offset)> is_mine;
  /// Where replicas of several nodes divide the update: whether one of this node's replicas updates
  /// that block, so that its state is in `memory`; empty: as one of them updates every block.
  std::function<bool(std::int64_t offset)> is_here;
  /// Adds over the replicas, in place. Collective among them. Required with is_mine.
  std::function<void(std::span<double>)> sum;
  /// Where the tensors are parts of larger ones: adds numbers of tensors over replicas that have
  /// one part each, in place. Collective among them, so they update the same ranges. Empty: they
  /// are whole.
  std::function<void(std::span<double>)> sum_parts;
};
/// A block of an update lies within one cell of this many floats, counted by offset. is_mine must
/// give one answer for each cell, in the same update.
inline constexpr std::int64_t kUpdateCell = 4096;

/// torch: v = m v + g, w -= lr v. keras: v = m v + lr g, w -= v. They differ when lr changes.
enum class MomentumForm { kTorch, kKeras };
/// l2: g + wd w. keras_l2: g + 2 wd w (a loss term wd sum(w^2), as in the TF2 reference's SGD).
/// decoupled: w -= lr wd w in addition to the step.
enum class DecayMode { kL2, kKerasL2, kDecoupled };
/// Which tensors decay and, with LAMB and LARS, have a trust ratio. all: every tensor, as MLPerf
/// HPC's LAMB has it. weights: those for which ParameterView::decays is set; the ratio of others
/// is 1.
enum class DecayScope { kAll, kWeights };
/// The hyperparameters that a log reports.
struct Hyperparameters {
  std::string name;  ///< "sgd", "lars", "adagrad", "lamb", "adam" or "adamw"
  double momentum = 0.0;
  double weight_decay = 0.0;
  double epsilon = 0.0;             ///< all but SGD
  double beta1 = 0.0, beta2 = 0.0;  ///< LAMB and Adam only
  double max_gradient_norm = 0.0;   ///< LAMB only; 0: no limit
  // SGD only.
  MomentumForm form = MomentumForm::kTorch;
  DecayMode decay_mode = DecayMode::kL2;
  bool nesterov = false;
};

/// Part of the optimizer's state, to be saved and restored bit for bit.
struct StateView {
  std::string name;                   ///< "momentum/<parameter>", "previous_learning_rate" ...
  std::int64_t parameter_index = -1;  ///< the parameter whose element order `values` have, or -1
  std::span<float> values;
  /// Where nodes divide the state, in place of `values`: the values of the block that begins at
  /// this element of the parameter (for_each_block()), empty if another node has them.
  std::function<std::span<float>(std::int64_t begin)> block = {};
};

/// Parameters [first, last), counted in the order of the views.
struct ParameterRange {
  std::size_t first = 0, last = 0;
  std::size_t size() const { return last - first; }
};

/// Results are the same on any number of threads, for any share and for any ranges.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  /// Allocates zeroed state for these parameters. step() calls it if nobody did.
  virtual void prepare(std::span<const ParameterView> parameters, UpdateShare share) = 0;
  void prepare(std::span<const ParameterView> parameters) { prepare(parameters, {}); }
  /// Performs one update of this replica's share of the parameters. May read the gradients and
  /// weights of all. Throws ShapeError if the parameters differ from those of prepare().
  void step(std::span<const ParameterView> parameters, double learning_rate) {
    begin_update(parameters, learning_rate);
    update(parameters, {0, parameters.size()});
  }
  /// The same in parts: begin_update(), then update() of each parameter once, in ranges that are
  /// the same on all replicas. Gradients of a range need not be final before it is updated, unless
  /// needs_all_gradients(): then all must be when the update begins.
  virtual void begin_update(std::span<const ParameterView> parameters, double learning_rate) = 0;
  virtual void update(std::span<const ParameterView> parameters, ParameterRange range) = 0;
  virtual bool needs_all_gradients() const { return false; }
  /// Empty before prepare(). Views stay valid until the next prepare().
  virtual std::vector<StateView> state() = 0;
  /// Floats of state per weight.
  virtual int buffers() const = 0;
  /// Floats of state in addition to those.
  virtual int other_floats() const { return 0; }
  virtual const Hyperparameters& hyperparameters() const = 0;
};

}  // namespace nn
