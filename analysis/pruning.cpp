// Chooses which instances to leave out of a throughput result.
#include "analysis/pruning.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "runner/base/units.h"

namespace analysis {
namespace {

/// A span of time, and the number of instances that lie within it.
struct InstanceWindow {
  double start_ms = 0.0, stop_ms = 0.0;
  std::size_t count = 0;

  double rate() const { return static_cast<double>(count) / (stop_ms - start_ms); }
  bool is_better_than(const InstanceWindow& other) const {
    if (other.count == 0) return true;
    if (rate() != other.rate()) return rate() > other.rate();
    return count > other.count;
  }
};

using Indices = std::vector<std::size_t>;

/// The window with the highest rate and at least `least` instances. `by_stop` is ordered by end.
InstanceWindow best_window(const std::vector<Instance>& instances, const Indices& by_stop,
                           std::size_t least) {
  InstanceWindow best;
  for (const std::size_t first : by_stop) {
    InstanceWindow window{instances[first].start_ms, 0.0, 0};
    for (const std::size_t i : by_stop) {
      if (instances[i].start_ms < window.start_ms) continue;
      window.stop_ms = instances[i].stop_ms;
      ++window.count;
      // Of several that end together, the last one gives the full count and so the best rate.
      if (window.count >= least && window.stop_ms > window.start_ms &&
          window.is_better_than(best)) {
        best = window;
      }
    }
  }
  return best;
}

/// Usable instances ordered by end, one per seed; the others go to pruning.pruned.
Indices usable(const std::vector<Instance>& instances, Pruning& pruning) {
  Indices by_stop;
  for (std::size_t i = 0; i < instances.size(); ++i) {
    if (instances[i].unusable.empty()) {
      by_stop.push_back(i);
    } else {
      pruning.pruned.emplace_back(i, instances[i].unusable);
    }
  }
  std::stable_sort(by_stop.begin(), by_stop.end(), [&](std::size_t a, std::size_t b) {
    return instances[a].stop_ms < instances[b].stop_ms;
  });
  std::map<std::uint64_t, std::size_t> of_seed;
  std::erase_if(by_stop, [&](std::size_t i) {
    const auto [first, is_new] = of_seed.emplace(instances[i].seed, i);
    if (!is_new) {
      pruning.pruned.emplace_back(i, fmt::format("has the seed {} of another instance, which "
                                                 "ended sooner",
                                                 instances[i].seed));
    }
    return !is_new;
  });
  return by_stop;
}

}  // namespace

double Pruning::models_per_minute() const {
  return ttta_s > 0.0 ? static_cast<double>(kept.size()) / ttta_s * base::kMinute : 0.0;
}

Pruning prune(const std::vector<Instance>& instances, std::size_t least) {
  Pruning pruning;
  Indices by_stop = usable(instances, pruning);
  if (by_stop.empty()) return pruning;
  // With fewer than `least`, none is left out for its times.
  const InstanceWindow best =
      best_window(instances, by_stop, std::clamp<std::size_t>(least, 1, by_stop.size()));
  const double last_ms = instances[by_stop.back()].stop_ms;
  for (const std::size_t i : by_stop) {
    const bool is_early = instances[i].start_ms < best.start_ms;
    const bool is_late = instances[i].stop_ms > best.stop_ms;
    if (!is_early && !is_late) {
      pruning.kept.push_back(i);
      continue;
    }
    const double by_ms =
        is_late ? instances[i].stop_ms - best.stop_ms : best.start_ms - instances[i].start_ms;
    pruning.pruned.emplace_back(
        i, fmt::format("{} {:.1f} s {} those kept: without it more models are trained in a minute",
                       is_late ? "ends" : "begins", by_ms / base::kMsPerSecond,
                       is_late ? "after" : "before"));
  }
  std::sort(pruning.kept.begin(), pruning.kept.end());
  std::sort(pruning.pruned.begin(), pruning.pruned.end());
  if (best.count > 0) {
    double first_ms = last_ms, stop_ms = best.start_ms;
    for (const std::size_t i : pruning.kept) {
      first_ms = std::min(first_ms, instances[i].start_ms);
      stop_ms = std::max(stop_ms, instances[i].stop_ms);
    }
    pruning.ttta_s = (stop_ms - first_ms) / base::kMsPerSecond;
  }
  return pruning;
}

}  // namespace analysis
