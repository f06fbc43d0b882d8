// Score and throughput of a run set.
#include "analysis/set_score.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/statistics.h"
#include "analysis/systems.h"
#include "runner/base/median.h"
#include "runner/base/units.h"
#include "runner/mllog/benchmarks.h"

namespace analysis {
namespace {

/// The round of the members' facts.
std::string round_of(const std::vector<ScoredMember>& members) {
  return members.empty() ? "" : members.front().facts->round;
}

std::optional<std::int64_t> required(const std::string& benchmark, const std::string& round) {
  const mllog::Benchmark* const row = mllog::find_benchmark(benchmark);
  return row == nullptr ? std::nullopt : std::optional(row->runs(round));
}

using Members = std::vector<const ScoredMember*>;

/// Members that reached their target, the fastest first.
Members successful(const std::vector<ScoredMember>& members) {
  Members good;
  for (const ScoredMember& member : members) {
    if (member.has_ended && succeeded(*member.facts)) good.push_back(&member);
  }
  std::stable_sort(good.begin(), good.end(), [](const ScoredMember* a, const ScoredMember* b) {
    return *a->facts->ttt_s < *b->facts->ttt_s;
  });
  return good;
}

std::vector<double> times_of(const Members& members) {
  std::vector<double> times;
  for (const ScoredMember* member : members) times.push_back(*member->facts->ttt_s);
  return times;
}

std::optional<double> mean_in(const std::vector<double>& times, const OlympicRange& range) {
  if (range.first == range.last) return std::nullopt;
  return mean_of(std::span(times).subspan(range.first, range.last - range.first));
}

std::int64_t ended(const std::vector<ScoredMember>& members) {
  return std::ranges::count_if(members, [](const ScoredMember& one) { return one.has_ended; });
}

std::string unusable(const ScoredMember& member) {
  if (!member.has_ended) return "has not ended";
  if (!succeeded(*member.facts)) return "did not reach its target";
  return "";
}

}  // namespace

SetSpread spread_of(const std::vector<ScoredMember>& members, const std::string& benchmark) {
  SetSpread spread;
  const std::vector<double> times = times_of(successful(members));
  spread.successful = static_cast<std::int64_t>(times.size());
  if (times.empty()) return spread;
  spread.min_s = times.front();
  spread.max_s = times.back();
  spread.mean_s = mean_of(times);
  spread.median_s = base::median_of(times);
  if (times.size() > 1) spread.variation = sample_stdev(times) / *spread.mean_s;
  const auto failing = static_cast<std::size_t>(ended(members)) - times.size();
  spread.olympic_mean_s =
      mean_in(times, olympic_range(times.size(), failing, dropped_each_end(benchmark)));
  return spread;
}

SetScore score_of(const std::vector<ScoredMember>& members, const SetSize& size,
                  const std::string& benchmark) {
  SetScore score;
  score.runs_required = required(benchmark, round_of(members));
  const std::size_t dropped = dropped_each_end(benchmark);
  Members valid = successful(members);
  std::string first_break;
  std::erase_if(valid, [&](const ScoredMember* member) {
    if (first_break.empty()) first_break = member->rule_breaks;
    return !member->rule_breaks.empty();
  });
  const std::int64_t failing = size.runs - static_cast<std::int64_t>(valid.size());
  if (!score.runs_required) {
    score.reason = fmt::format("no rule says how many runs of '{}' make a result", benchmark);
  } else if (size.runs != *score.runs_required) {
    score.reason = fmt::format("the rules ask for {} runs of {}, this set has {}",
                               *score.runs_required, benchmark, size.runs);
  } else if (size.pending > 0) {
    score.reason = fmt::format("{} of {} runs have ended", size.runs - size.pending, size.runs);
  } else if (failing > static_cast<std::int64_t>(dropped)) {
    score.reason = fmt::format("{} of {} runs fail, the rules forgive {}{}", failing, size.runs,
                               dropped, first_break.empty() ? "" : "; one " + first_break);
  }
  if (!score.reason.empty()) return score;
  const OlympicRange range =
      olympic_range(valid.size(), static_cast<std::size_t>(failing), dropped);
  score.time_to_train_s = mean_in(times_of(valid), range);
  for (std::size_t i = range.first; i < range.last; ++i) score.counted.push_back(valid[i]->result);
  return score;
}

SetThroughput throughput_of(const std::vector<ScoredMember>& members, const SetSize& size,
                            const std::string& benchmark) {
  SetThroughput throughput;
  throughput.runs_required = required(benchmark, round_of(members));
  std::int64_t breaking = 0;
  std::string first_break;
  std::vector<Instance> instances;
  for (const ScoredMember& member : members) {
    if (!member.rule_breaks.empty() && breaking++ == 0) first_break = member.rule_breaks;
    instances.push_back({member.facts->run_start_ms.value_or(0.0),
                         member.facts->run_stop_ms.value_or(0.0), member.seed, unusable(member)});
  }
  const std::int64_t least = throughput.runs_required.value_or(1);
  const Pruning pruning = prune(instances, static_cast<std::size_t>(least));
  double first_ms = 0.0, last_ms = 0.0;
  for (const std::size_t i : pruning.kept) {
    const double start_ms = instances[i].start_ms;
    first_ms = throughput.kept.empty() ? start_ms : std::min(first_ms, start_ms);
    last_ms = throughput.kept.empty() ? start_ms : std::max(last_ms, start_ms);
    throughput.kept.push_back(members[i].result);
  }
  for (const auto& [i, reason] : pruning.pruned) {
    throughput.pruned.emplace_back(members[i].result, reason);
  }
  std::sort(throughput.kept.begin(), throughput.kept.end());
  std::sort(throughput.pruned.begin(), throughput.pruned.end());
  if (!pruning.kept.empty()) {
    throughput.ttta_s = pruning.ttta_s;
    throughput.models_per_minute = pruning.models_per_minute();
    throughput.start_spread_s = (last_ms - first_ms) / base::kMsPerSecond;
  }
  const auto kept = static_cast<std::int64_t>(pruning.kept.size());
  if (size.pending > 0) {
    throughput.reason =
        fmt::format("{} of {} instances have ended", size.runs - size.pending, size.runs);
  } else if (!throughput.runs_required) {
    throughput.reason =
        fmt::format("no rule says how many models of '{}' make a result", benchmark);
  } else if (kept < least) {
    throughput.reason = fmt::format("the rules ask for at least {} models, {} of {} can count",
                                    least, kept, size.runs);
  }
  return throughput;
}

}  // namespace analysis
