// Predicts the seconds of each way of reading samples, and takes the least.
#include "staging/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "runner/base/printable.h"

namespace staging {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kLeastGain = 0.05;
/// About what measure_rates() reads and writes on a node.
constexpr double kTooLittle = 64.0 * 1024 * 1024;
/// Later epochs are taken to be like this one.
constexpr std::int64_t kEpochsApart = 10000;

double seconds_for(double bytes, double rate) {
  if (bytes <= 0.0) return 0.0;
  return rate > 0.0 ? bytes / rate : kNever;
}

/// `of_all` bytes are read from the source, of which one node reads `of_node`.
double source_seconds(double of_all, double of_node, const Sizes& sizes, const Rates& rates) {
  double together = rates.source;
  if (rates.source_files > 0.0 && sizes.sample_bytes > 0.0) {
    together = std::min(together, rates.source_files * sizes.sample_bytes);
  }
  const double alone = rates.source_of_node > 0.0 ? of_node / rates.source_of_node : 0.0;
  return std::max(seconds_for(of_all, together), alone);
}

/// What is read from the source.
struct SourceBytes {
  double of_all = 0.0, of_node = 0.0;
};

/// Whether copying reads less, by more than rounding, than streaming does.
bool is_less(const SourceBytes& copied, const SourceBytes& streamed) {
  constexpr double kRounding = 1.0 + 1e-9;
  return copied.of_all * kRounding < streamed.of_all ||
         copied.of_node * kRounding < streamed.of_node;
}

SourceBytes read_to_copy(const CopyingMode& mode, const Sizes& sizes) {
  if (mode.reads == SourceReads::kOncePerNode) {
    return {static_cast<double>(sizes.missing_of_all), static_cast<double>(sizes.missing)};
  }
  return {static_cast<double>(sizes.missing_once),
          static_cast<double>(sizes.missing) / sizes.class_nodes};
}

double staging_seconds(const CopyingMode& mode, const Sizes& sizes, const Rates& rates) {
  if (mode.mode == StagingMode::kStream || sizes.missing_of_all == 0) return 0.0;
  const auto missing = static_cast<double>(sizes.missing);
  const SourceBytes read = read_to_copy(mode, sizes);
  const double seconds = std::max(source_seconds(read.of_all, read.of_node, sizes, rates),
                                  seconds_for(missing * sizes.growth, rates.local_write));
  if (mode.reads == SourceReads::kOncePerNode) return seconds;
  const double from_others = missing * (sizes.class_nodes - 1) / sizes.class_nodes;
  return std::max(seconds, seconds_for(from_others, rates.network));
}

/// Seconds of an epoch, in which `read_s` seconds of reading go on while it is computed.
double epoch_seconds(double read_s, const Horizon& horizon) {
  return std::max(horizon.compute_s, read_s);
}

double streamed_seconds(std::int64_t epoch, const Sizes& sizes, const Rates& rates,
                        const Horizon& horizon) {
  const double share = miss_share(sizes, horizon, epoch);
  return epoch_seconds(
      source_seconds(horizon.epoch_bytes_of_all * share, horizon.epoch_bytes * share, sizes, rates),
      horizon);
}

double local_seconds(std::int64_t epoch, const Sizes& sizes, const Rates& rates,
                     const Horizon& horizon) {
  const double bytes =
      horizon.epoch_bytes * sizes.growth * miss_share(sizes, horizon, epoch, sizes.growth);
  return epoch_seconds(seconds_for(bytes, rates.local_read), horizon);
}

/// The sum of `of_epoch` over the epochs of the run.
template <class OfEpoch>
double over_epochs(const Horizon& horizon, const OfEpoch& of_epoch) {
  double sum = 0.0;
  const std::int64_t apart = std::min(horizon.epochs, kEpochsApart);
  for (std::int64_t epoch = 0; epoch < apart; ++epoch) sum += of_epoch(epoch);
  if (horizon.epochs == apart) return sum;
  return sum + static_cast<double>(horizon.epochs - apart) * of_epoch(apart);
}

/// What copying adds to epochs that all read copies. Beside it, the first epoch reads half of its
/// samples from the source, which both share.
double cost_of_staging(const CopyingMode& mode, double staging_s, const Sizes& sizes,
                       const Rates& rates, const Horizon& horizon) {
  if (!mode.overlaps || horizon.epochs == 0 || staging_s == 0.0) return staging_s;
  constexpr double kFromSource = 0.5;
  const double read_s = source_seconds(horizon.epoch_bytes_of_all * kFromSource,
                                       horizon.epoch_bytes * kFromSource, sizes, rates);
  return epoch_seconds(staging_s + read_s, horizon) - local_seconds(0, sizes, rates, horizon);
}

/// `staging_s`: cost_of_staging().
std::optional<double> break_even(double staging_s, const Sizes& sizes, const Rates& rates,
                                 const Horizon& horizon) {
  if (staging_s <= 0.0) return 0.0;
  if (std::isinf(staging_s)) return std::nullopt;
  double left = staging_s;
  for (std::int64_t epoch = 0; epoch <= kEpochsApart; ++epoch) {
    const double gain = streamed_seconds(epoch, sizes, rates, horizon) -
                        local_seconds(epoch, sizes, rates, horizon);
    if (std::isnan(gain)) return std::nullopt;
    const bool is_last = epoch == kEpochsApart;
    if (gain > 0.0 && (is_last || gain >= left)) return static_cast<double>(epoch) + left / gain;
    left -= gain;
  }
  return std::nullopt;
}

std::string seconds_text(double seconds) {
  if (std::isinf(seconds)) return "an unknown time";
  return fmt::format(fmt::runtime(seconds < 100.0 ? "{:.3g} s" : "{:.0f} s"), seconds);
}

std::string bytes_words(double bytes) { return base::bytes_text(bytes); }

/// Ends a reason.
std::string as_to_compute(const Horizon& horizon) {
  return horizon.compute_s > 0.0
             ? ""
             : "; reading alone counts, as the compute time of an epoch is not known";
}

std::string staging_words(const Prediction& one) {
  return fmt::format("{} of {}", seconds_text(one.staging_s),
                     one.overlaps ? "staging beside the first" : "it staging");
}

std::string staged_reason(const Prediction& best, const Prediction& stream, const Horizon& horizon,
                          const Rates& rates, const Sizes& sizes) {
  std::string reason = fmt::format(
      "{} takes {} for {}, {}, and stream {}", to_string(best.mode), seconds_text(best.total_s),
      base::counted(horizon.epochs, "epoch"), staging_words(best), seconds_text(stream.total_s));
  if (best.break_even_epochs) {
    reason += fmt::format(", so that it pays off after {:.3g} epochs", *best.break_even_epochs);
  }
  const std::string readers =
      sizes.nodes == 1 ? "the node reads" : fmt::format("{} nodes together read", sizes.nodes);
  return fmt::format("{}; {} {}/s from the source{}", reason, readers, bytes_words(rates.source),
                     as_to_compute(horizon));
}

std::string streamed_reason(const Prediction* best, const Prediction& stream, const Sizes& sizes,
                            const Horizon& horizon) {
  if (best == nullptr) return "no mode that copies is available";
  if (!sizes.too_small.empty()) return "a copy has no room on " + sizes.too_small;
  if (std::isinf(best->total_s)) {
    return fmt::format("the time of {} is not known", to_string(best->mode));
  }
  return fmt::format("stream takes {} for {}, and {} {}, {}, which is not 5 % less",
                     seconds_text(stream.total_s), base::counted(horizon.epochs, "epoch"),
                     to_string(best->mode), seconds_text(best->total_s), staging_words(*best)) +
         as_to_compute(horizon);
}

std::string wanted_reason(const Prediction& best) {
  return fmt::format("a copy is to be kept, and of the modes that copy {} takes the least time, {}",
                     to_string(best.mode), seconds_text(best.staging_s));
}

bool is_better(const Prediction& one, const Prediction& other) {
  return one.total_s < other.total_s;
}

}  // namespace

std::vector<CopyingMode> copying_modes(bool overlap) {
  return {copying_mode(StagingMode::kShard, overlap), copying_mode(StagingMode::kScatter, overlap)};
}

CopyingMode copying_mode(StagingMode mode, bool overlap) {
  if (mode == StagingMode::kScatter) return {mode, SourceReads::kOncePerClass, overlap};
  return {mode, SourceReads::kOncePerNode, overlap};
}

double miss_share(const Sizes& sizes, const Horizon& horizon, std::int64_t epoch, double growth) {
  if (sizes.needed <= 0) return 1.0;
  const auto needed = static_cast<double>(sizes.needed);
  const double kept = std::min(1.0, static_cast<double>(horizon.cache_bytes) / (needed * growth));
  const double drawn = std::min(1.0, horizon.epoch_bytes / needed);
  const double seen = 1.0 - std::pow(1.0 - drawn, static_cast<double>(epoch));
  return 1.0 - std::min(kept, seen);
}

Prediction predict(const CopyingMode& mode, const Sizes& sizes, const Rates& rates,
                   const Horizon& horizon) {
  Prediction found;
  found.mode = mode.mode;
  if (mode.mode == StagingMode::kStream) {
    found.total_s = over_epochs(horizon, [&](std::int64_t epoch) {
      return streamed_seconds(epoch, sizes, rates, horizon);
    });
    return found;
  }
  found.staging_s = staging_seconds(mode, sizes, rates);
  found.overlaps = mode.overlaps;
  const double cost_s = cost_of_staging(mode, found.staging_s, sizes, rates, horizon);
  found.total_s = cost_s + over_epochs(horizon, [&](std::int64_t epoch) {
                    return local_seconds(epoch, sizes, rates, horizon);
                  });
  found.break_even_epochs = break_even(cost_s, sizes, rates, horizon);
  return found;
}

const Prediction* Choice::predicted() const {
  const auto found = std::find_if(predictions.begin(), predictions.end(),
                                  [this](const Prediction& one) { return one.mode == mode; });
  return found == predictions.end() ? nullptr : &*found;
}

std::optional<Choice> choose_by_size(const std::vector<CopyingMode>& modes, const Sizes& sizes,
                                     const Horizon& horizon, Wish wish, RatesAre rates) {
  if (modes.empty()) return Choice{StagingMode::kStream, "no mode that copies is available", {}};
  if (sizes.missing_of_all == 0 && sizes.needed > 0) {
    return Choice{modes.front().mode, "every node has a copy of what its ranks need", {}};
  }
  const bool may_measure = rates == RatesAre::kUnknown;
  if (wish == Wish::kCopy) {
    if (!may_measure || static_cast<double>(sizes.missing) > kTooLittle) return std::nullopt;
    return Choice{modes.front().mode,
                  "a copy is to be kept, and it is too little for a measurement of rates to pay",
                  {}};
  }
  const double epochs =
      over_epochs(horizon, [&](std::int64_t epoch) { return miss_share(sizes, horizon, epoch); });
  const SourceBytes streamed{horizon.epoch_bytes_of_all * epochs, horizon.epoch_bytes * epochs};
  const std::string reads =
      fmt::format("stream reads {} from the source in {}", bytes_words(streamed.of_all),
                  base::counted(horizon.epochs, "epoch"));
  if (may_measure && streamed.of_node <= kTooLittle) {
    return Choice{
        StagingMode::kStream, reads + ", too little for a measurement of rates to pay", {}};
  }
  if (std::any_of(modes.begin(), modes.end(), [&](const CopyingMode& mode) {
        return is_less(read_to_copy(mode, sizes), streamed);
      })) {
    return std::nullopt;
  }
  return Choice{StagingMode::kStream,
                fmt::format("{}, and a copy would read {} as well; {} of memory keep what a node "
                            "has read",
                            reads, bytes_words(static_cast<double>(sizes.missing_of_all)),
                            base::bytes_text(horizon.cache_bytes)),
                {}};
}

Choice choose(const std::vector<CopyingMode>& modes, const Sizes& sizes, const Rates& rates,
              const Horizon& horizon, Wish wish) {
  Choice choice;
  choice.predictions.push_back(predict({StagingMode::kStream, {}}, sizes, rates, horizon));
  for (const CopyingMode& mode : modes) {
    choice.predictions.push_back(predict(mode, sizes, rates, horizon));
  }
  const Prediction& stream = choice.predictions.front();
  const auto best =
      std::min_element(choice.predictions.begin() + 1, choice.predictions.end(), is_better);
  if (best == choice.predictions.end()) {
    choice.reason = streamed_reason(nullptr, stream, sizes, horizon);
  } else if (wish == Wish::kCopy) {
    choice.mode = best->mode;
    choice.reason = wanted_reason(*best);
  } else if (sizes.too_small.empty() && !std::isinf(best->total_s) &&
             best->total_s <= (1.0 - kLeastGain) * stream.total_s) {
    choice.mode = best->mode;
    choice.reason = staged_reason(*best, stream, horizon, rates, sizes);
  } else {
    choice.reason = streamed_reason(&*best, stream, sizes, horizon);
  }
  return choice;
}

}  // namespace staging
