// Planning of segments and slices.
#include "workloads/nn/pass_plan.h"

#include <algorithm>
#include <set>
#include <utility>

#include "runner/base/ceil_div.h"

namespace nn {
namespace {

/// Operations of a segment; more would keep more buffers alive at a time than the cache holds.
constexpr std::size_t kMostRuns = 4;

/// The number of slices of at most `largest` samples. Prefers slices that give each thread the same
/// work, if these are larger than half of `largest`.
std::int64_t even_count(std::int64_t batch, std::int64_t threads, std::int64_t largest) {
  if (largest >= batch) return 1;
  for (std::int64_t size = largest; 2 * size > largest; --size) {
    if (batch % size == 0 && size % threads == 0) return batch / size;
  }
  return base::ceil_div(batch, largest);
}

/// Builds one pass. A segment ends before an operation that needs the statistics of all samples,
/// before and after one that takes all samples at once, and after kMostRuns operations.
class SegmentBuilder {
 public:
  SegmentBuilder(const Network& network, const PassOptions& options, Pass pass)
      : network_(network), options_(options), pass_(pass) {}

  bool observes(std::size_t operation) const {
    const Operation& what = network_.operations()[operation];
    const auto& by_channels = options_.goes_by_channels;
    return what.kind == OperationKind::kBatchNorm && !(by_channels && by_channels(what, pass_));
  }
  /// Begins the run of `operation`, in a new segment if the open one must end before it.
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
  /// The segment of the next step.
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
  /// Bytes that the open segment's steps read and write: of one sample, and of the largest weights.
  struct Touched {
    std::int64_t sample_bytes = 0, weights_bytes = 0;
  };
  Touched touched() const;
  std::int64_t slice_count(const Touched& all) const;
  /// Cache bytes for a slice; a quarter is left to other data.
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
    if (step.work == Work::kRecompute) values.insert(static_cast<ValueId>(step.operation));
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

/// The number of slices: the caches should hold what a segment touches of a slice, but a slice
/// should be so large that adding up weight gradients is cheap compared with computing them.
std::int64_t SegmentBuilder::slice_count(const Touched& all) const {
  if (options_.slice_samples > 0) {
    return even_count(options_.batch, options_.threads, options_.slice_samples);
  }
  // A single operation: nothing reads its output from the caches.
  if (options_.cache_bytes <= 0 || (runs_ == 1 && current_.observed.empty())) return 1;
  if (all.sample_bytes == 0) return 1;  // no runs
  const std::int64_t fitting = std::max<std::int64_t>(1, cache_share() / all.sample_bytes);
  const std::int64_t worth = 2 * all.weights_bytes / all.sample_bytes;
  return even_count(options_.batch, options_.threads, std::max(fitting, worth));
}

/// The stored value that readers of `value` read: the source if `value` is deferred.
ValueId made_value(const Network& network, ValueId value) {
  const auto maker = static_cast<std::size_t>(value);
  return is_deferred(network, maker) ? network.operations()[maker].src : value;
}

/// Builds the backward pass, with the recomputation of values that it reads and that are not kept.
class BackwardBuilder {
 public:
  BackwardBuilder(const Network& network, const PassOptions& options, std::vector<SegmentsOf>& of)
      : network_(network),
        options_(options),
        of_(of),
        builder_(network, options, Pass::kBackward),
        last_need_(of.size(), -1) {}

  /// To be called once all contributions to the gradient of `operation`'s value are planned.
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
  /// Whether the backward pass reads the value as the forward pass left it.
  bool is_kept(std::size_t value) const {
    return last_need_[value] >= 0 && of_[value].recomputed_in < 0;
  }
  std::vector<PassSegment> finish() {
    for (std::size_t i = 0; i < of_.size(); ++i) {
      of_[i].is_transient_recomputed =
          of_[i].recomputed_in >= 0 && last_need_[i] == of_[i].recomputed_in;
    }
    return builder_.finish();
  }

 private:
  /// Whether the value is recomputed where it is needed.
  bool is_recomputed(std::size_t value) const;
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
      case OperationKind::kResponseNorm:
        need(what.src);
        break;
      default:
        break;
    }
    if (what.features) need(*what.features);
    if (keeps_output(what)) need(static_cast<ValueId>(operation));
  }
  void need(ValueId value);

  const Network& network_;
  const PassOptions& options_;
  std::vector<SegmentsOf>& of_;
  SegmentBuilder builder_;
  std::vector<int> last_need_;  ///< last segment that reads each value; -1: none
};

bool BackwardBuilder::is_recomputed(std::size_t value) const {
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
  if (is_recomputed(at) && of_[at].recomputed_in < 0) {
    const Operation& maker = network_.operations()[at];
    need(maker.src);
    if (maker.residual) need(made_value(network_, *maker.residual));
    builder_.add(Work::kRecompute, at);
    of_[at].recomputed_in = builder_.segment();
  }
  last_need_[at] = builder_.segment();
}

}  // namespace

bool is_deferred(const Network& network, std::size_t operation) {
  const Operation& what = network.operations()[operation];
  const auto value = static_cast<ValueId>(operation);
  if (what.kind != OperationKind::kBatchNorm || what.relu || what.residual) return false;
  const std::vector<std::size_t> readers = network.readers(value);
  if (readers.size() != 1) return false;
  const Operation& reader = network.operations()[readers.front()];
  return reader.kind == OperationKind::kBatchNorm && reader.residual == value;
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
  // The backward pass goes in reverse: a value's first reader is the last to contribute to its
  // gradient.
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
  // Inputs and their gradients, which the caller fills and reads, stay until the pass is over.
  for (std::size_t i = 0; i < inputs; ++i) of_[i].backward = builder.segment();
  backward_ = builder.finish();
  for (std::size_t i = inputs; i + 1 < operations.size(); ++i) {
    of_[i].passes = passes(network, i) && !(options.training && builder.is_kept(i));
  }
}

/// Whether all forward readers of the operation's value are in its segment.
bool PassPlan::passes(const Network& network, std::size_t operation) const {
  const std::vector<std::size_t> readers = network.readers(static_cast<ValueId>(operation));
  return std::all_of(readers.begin(), readers.end(), [&](std::size_t reader) {
    return of_[reader].forward == of_[operation].forward &&
           (!is_deferred(network, reader) || passes(network, reader));
  });
}

}  // namespace nn
