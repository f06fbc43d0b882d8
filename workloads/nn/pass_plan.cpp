// Segments and slices.
// Hides how much of a cache a slice may fill.
#include "workloads/nn/pass_plan.h"

#include <algorithm>
#include <set>
#include <utility>

namespace nn {
namespace {

/// Longer segments would keep more buffers alive at a time than the cache holds.
constexpr std::size_t kMostRuns = 4;

/// The number of slices of at most `largest` samples; if it can be had for slices of more than half
/// that size, one which gives each thread the same work in each slice.
std::int64_t even_count(std::int64_t batch, std::int64_t threads, std::int64_t largest) {
  if (largest >= batch) return 1;
  for (std::int64_t size = largest; 2 * size > largest; --size) {
    if (batch % size == 0 && size % threads == 0) return batch / size;
  }
  return (batch + largest - 1) / largest;
}

/// Builds one pass: segments end where an operation needs what all samples have told.
class SegmentBuilder {
 public:
  SegmentBuilder(const Network& network, const PassOptions& options, Pass pass)
      : network_(network), options_(options), pass_(pass) {}

  bool observes(std::size_t operation) const {
    const Operation& what = network_.operations()[operation];
    const auto& by_channels = options_.goes_by_channels;
    return what.kind == OperationKind::kBatchNorm && !(by_channels && by_channels(what, pass_));
  }
  /// The next steps belong to the run of `operation`, whose segment is open then.
  void begin_run(std::size_t operation) {
    const Operation& what = network_.operations()[operation];
    const bool takes_all = (options_.takes_all && options_.takes_all(what)) ||
                           (what.kind == OperationKind::kBatchNorm && !observes(operation));
    const auto& observed = current_.observed;
    const bool waits = std::find(observed.begin(), observed.end(), operation) != observed.end();
    if (waits || takes_all || took_all_ || runs_ == kMostRuns) close();
    took_all_ = takes_all;
    ++runs_;
  }
  void add(Work work, std::size_t operation) {
    current_.steps.push_back({work, operation});
    if (work == Work::kObserve) current_.observed.push_back(operation);
  }
  /// Segment that the next step falls into.
  int segment() const { return static_cast<int>(segments_.size()); }
  std::vector<PassSegment> finish() {
    close();
    return std::move(segments_);
  }

 private:
  void close() {
    if (current_.steps.empty()) return;
    const Touched all = touched();
    current_.slices = {options_.batch, took_all_ ? 1 : slice_count(all)};
    current_.is_cached = all.sample_bytes * current_.slices.sizes().back() <= cache_share();
    runs_ = 0;
    segments_.push_back(std::exchange(current_, {}));
  }
  /// Bytes of what the open segment's steps read and write: of a sample, and of the largest
  /// weights.
  struct Touched {
    std::int64_t sample_bytes = 0, weights_bytes = 0;
  };
  Touched touched() const;
  std::int64_t slice_count(const Touched& all) const;
  /// What else runs wants some of the cache, too.
  std::int64_t cache_share() const { return options_.cache_bytes / 4 * 3; }
  std::int64_t bytes_of(ValueId value) const {
    return network_.shape(value).size() * options_.value_bytes;
  }

  const Network& network_;
  const PassOptions& options_;
  std::vector<PassSegment> segments_;
  PassSegment current_;
  const Pass pass_;
  bool took_all_ = false;
  std::size_t runs_ = 0;
};

SegmentBuilder::Touched SegmentBuilder::touched() const {
  const bool backward = pass_ == Pass::kBackward;
  std::set<ValueId> values, gradients;
  Touched all;
  for (const PassStep& step : current_.steps) {
    if (step.work == Work::kRemake) values.insert(static_cast<ValueId>(step.operation));
    if (step.work != Work::kRun) continue;
    const Operation& operation = network_.operations()[step.operation];
    auto& results = backward ? gradients : values;
    values.insert(operation.src);
    results.insert(static_cast<ValueId>(step.operation));
    if (backward) gradients.insert(operation.src);
    if (operation.residual) results.insert(*operation.residual);
    if (operation.features) values.insert(*operation.features);
    if (operation.features && backward) gradients.insert(*operation.features);
    values.insert(operation.others.begin(), operation.others.end());
    if (backward) gradients.insert(operation.others.begin(), operation.others.end());
    if (backward && operation.weights >= 0) {
      const auto& weights = network_.parameters()[static_cast<std::size_t>(operation.weights)];
      all.weights_bytes =
          std::max(all.weights_bytes, weights.count() * static_cast<std::int64_t>(sizeof(float)));
    }
  }
  for (const ValueId value : values) all.sample_bytes += bytes_of(value);
  for (const ValueId value : gradients) all.sample_bytes += bytes_of(value);
  return all;
}

/// So many slices that what a segment touches fits into the caches, and that adding up a slice's
/// gradients of weights is little beside what it is made of.
std::int64_t SegmentBuilder::slice_count(const Touched& all) const {
  if (options_.slice_samples > 0) {
    return even_count(options_.batch, options_.threads, options_.slice_samples);
  }
  // What one operation alone writes, nobody looks for in the cache.
  if (options_.cache_bytes <= 0 || (runs_ == 1 && current_.observed.empty())) return 1;
  if (all.sample_bytes == 0) return 1;  // nothing runs
  const std::int64_t fitting = std::max<std::int64_t>(1, cache_share() / all.sample_bytes);
  const std::int64_t worth = 2 * all.weights_bytes / all.sample_bytes;
  return even_count(options_.batch, options_.threads, std::max(fitting, worth));
}

/// The value that is there where an operation asks for `value`.
ValueId made_value(const Network& network, ValueId value) {
  const auto maker = static_cast<std::size_t>(value);
  return is_deferred(network, maker) ? network.operations()[maker].src : value;
}

/// Builds the backward pass, and makes again what it needs and was not kept.
class BackwardBuilder {
 public:
  BackwardBuilder(const Network& network, const PassOptions& options, std::vector<SegmentsOf>& of)
      : network_(network),
        options_(options),
        of_(of),
        builder_(network, options, Pass::kBackward),
        last_need_(of.size(), -1) {}

  /// All parts of the gradient of what `operation` made are there.
  void complete(std::size_t operation) {
    builder_.add(Work::kGather, operation);
    if (!builder_.observes(operation)) return;
    need_sources(operation);
    builder_.add(Work::kObserve, operation);
    of_[operation].observed_backward = builder_.segment();
  }
  void run(std::size_t operation) {
    builder_.begin_run(operation);
    need_sources(operation);
    builder_.add(Work::kRun, operation);
    of_[operation].backward = builder_.segment();
  }
  int segment() const { return builder_.segment(); }
  /// Whether the value is read backward, and stands there since the forward pass.
  bool is_kept(std::size_t value) const { return last_need_[value] >= 0 && of_[value].remade < 0; }
  std::vector<PassSegment> finish() {
    for (std::size_t i = 0; i < of_.size(); ++i) {
      of_[i].passes_again = of_[i].remade >= 0 && last_need_[i] == of_[i].remade;
    }
    return builder_.finish();
  }

 private:
  /// Whether it is made again once it is needed.
  bool is_remade(std::size_t value) const;
  void need_sources(std::size_t operation) {
    const Operation& what = network_.operations()[operation];
    switch (what.kind) {
      case OperationKind::kConvolution:
      case OperationKind::kDepthwise:
      case OperationKind::kDeconvolution:
      case OperationKind::kFullyConnected:
      case OperationKind::kBatchNorm:
      case OperationKind::kDotInteraction:
      case OperationKind::kConvolutionPool:
      case OperationKind::kSpread:
        need(what.src);
        break;
      default:
        break;
    }
    if (what.features) need(*what.features);
    // Which of its values passed the ReLU.
    if (what.kind == OperationKind::kFullyConnected && what.relu) {
      need(static_cast<ValueId>(operation));
    }
  }
  void need(ValueId value);

  const Network& network_;
  const PassOptions& options_;
  std::vector<SegmentsOf>& of_;
  SegmentBuilder builder_;
  std::vector<int> last_need_;  ///< segment in which each value is read last; -1: in none
};

bool BackwardBuilder::is_remade(std::size_t value) const {
  const Operation& maker = network_.operations()[value];
  const bool normalizes = maker.kind == OperationKind::kBatchNorm;
  if (options_.recompute == Recompute::kNone) return false;
  if (options_.recompute == Recompute::kNormalizations) return normalizes;
  if (network_.readers(static_cast<ValueId>(value)).size() != 1) return false;
  const bool takes_all = options_.takes_all && options_.takes_all(maker);
  const bool convolves =
      maker.kind == OperationKind::kConvolution || maker.kind == OperationKind::kDepthwise;
  return normalizes || (convolves && !takes_all);
}

void BackwardBuilder::need(ValueId value) {
  const auto at = static_cast<std::size_t>(value);
  if (is_remade(at) && of_[at].remade < 0) {
    const Operation& maker = network_.operations()[at];
    need(maker.src);
    if (maker.residual) need(made_value(network_, *maker.residual));
    builder_.add(Work::kRemake, at);
    of_[at].remade = builder_.segment();
  }
  last_need_[at] = builder_.segment();
}

}  // namespace

bool is_deferred(const Network& network, std::size_t operation) {
  const Operation& what = network.operations()[operation];
  const auto value = static_cast<ValueId>(operation);
  if (what.kind != OperationKind::kBatchNorm || what.relu || what.residual) return false;
  const std::vector<std::size_t> readers = network.readers(value);
  return readers.size() == 1 && network.operations()[readers.front()].residual == value;
}

Samples Slices::at(std::int64_t slice) const {
  const std::int64_t first = slice * batch / count;
  return {first, (slice + 1) * batch / count - first};
}

std::vector<std::int64_t> Slices::sizes() const {
  std::vector<std::int64_t> sizes = {batch / count};
  if (batch % count != 0) sizes.push_back(sizes.front() + 1);
  return sizes;
}

PassPlan::PassPlan(const Network& network, const PassOptions& options)
    : of_(network.operations().size()) {
  plan_forward(network, options);
  plan_backward(network, options);
}

void PassPlan::plan_forward(const Network& network, const PassOptions& options) {
  const auto& operations = network.operations();
  SegmentBuilder builder(network, options, Pass::kForward);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (operations[i].kind != OperationKind::kInput) {
      builder.begin_run(i);
      builder.add(Work::kRun, i);
    }
    of_[i].forward = builder.segment();
    for (std::size_t reader = i + 1; reader < operations.size(); ++reader) {
      if (!builder.observes(reader) || operations[reader].src != static_cast<ValueId>(i)) continue;
      builder.add(Work::kObserve, reader);
      of_[reader].observed_forward = builder.segment();
    }
  }
  forward_ = builder.finish();
}

void PassPlan::plan_backward(const Network& network, const PassOptions& options) {
  const auto& operations = network.operations();
  // The first operation that reads a value is the last one to give a part of its gradient.
  std::vector<std::vector<std::size_t>> completed_by(operations.size());
  const auto inputs = static_cast<std::size_t>(network.inputs());
  for (std::size_t value = operations.size(); value-- > inputs;) {
    const std::vector<std::size_t> readers = network.readers(static_cast<ValueId>(value));
    if (!readers.empty()) completed_by[readers.front()].push_back(value);
  }
  BackwardBuilder builder(network, options, of_);
  builder.complete(operations.size() - 1);
  for (std::size_t i = operations.size(); i-- > inputs;) {
    builder.run(i);
    for (const std::size_t value : completed_by[i]) builder.complete(value);
  }
  // What is given and told from outside stays until the pass is over.
  for (std::size_t i = 0; i < inputs; ++i) of_[i].backward = builder.segment();
  backward_ = builder.finish();
  for (std::size_t i = inputs; i + 1 < operations.size(); ++i) {
    of_[i].passes = passes(network, i) && !(options.training && builder.is_kept(i));
  }
}

/// Whether all that read the operation's value forward do so in its segment.
bool PassPlan::passes(const Network& network, std::size_t operation) const {
  const std::vector<std::size_t> readers = network.readers(static_cast<ValueId>(operation));
  return std::all_of(readers.begin(), readers.end(), [&](std::size_t reader) {
    return of_[reader].forward == of_[operation].forward &&
           (!is_deferred(network, reader) || passes(network, reader));
  });
}

}  // namespace nn
