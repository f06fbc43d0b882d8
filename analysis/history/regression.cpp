// Compares the newest runs of a kind with the last good ones before them.
#include "analysis/history/regression.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/comparison/significance.h"
#include "analysis/statistics.h"

namespace analysis::history {
namespace {

using comparison::kLevel;
using comparison::least_p_value;
using comparison::permutation_p_values;

/// All runs of one revision.
struct Batch {
  std::string revision;
  std::vector<const PastRun*> runs;
  bool is_good() const {
    return std::all_of(runs.begin(), runs.end(),
                       [](const PastRun* run) { return run->succeeded(); });
  }
  std::vector<std::string> logs() const {
    std::vector<std::string> names;
    for (const PastRun* run : runs) names.push_back(run->log);
    return names;
  }
};

struct Kind {
  std::string workload, system;
  std::map<std::string, std::string> settings;
  std::vector<Batch> batches;  ///< newest first
};

std::map<std::string, std::string> comparable(const PastRun& run) {
  std::map<std::string, std::string> settings;
  for (const auto& [name, value] : run.settings) {
    if (is_comparable(name)) settings[name] = value;
  }
  return settings;
}

/// Whether a later run went on with this one from a checkpoint: it has the same settings and seed.
bool goes_on_later(const PastRun& run, const std::vector<PastRun>& runs) {
  if (run.outcome != "aborted") return false;
  const auto seed = run.settings.find("seed");
  return seed != run.settings.end() && std::ranges::any_of(runs, [&](const PastRun& other) {
           const auto same = other.settings.find("seed");
           return other.resumed && other.started_ms > run.started_ms &&
                  same != other.settings.end() && same->second == seed->second &&
                  other.workload == run.workload && other.system == run.system &&
                  comparable(other) == comparable(run);
         });
}

std::vector<Kind> kinds_of(const std::vector<PastRun>& runs) {
  std::vector<Kind> kinds;
  for (const PastRun& run : runs) {
    if (run.revision.empty() || run.outcome == "incomplete" || run.resumed) continue;
    if (goes_on_later(run, runs)) continue;
    auto settings = comparable(run);
    auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const Kind& one) {
      return one.workload == run.workload && one.system == run.system && one.settings == settings;
    });
    if (kind == kinds.end()) {
      kind = kinds.insert(kind, {run.workload, run.system, std::move(settings), {}});
    }
    auto batch = std::find_if(kind->batches.begin(), kind->batches.end(),
                              [&](const Batch& one) { return one.revision == run.revision; });
    if (batch == kind->batches.end()) batch = kind->batches.insert(batch, {run.revision, {}});
    batch->runs.push_back(&run);
  }
  return kinds;
}

using Read = std::optional<double> (*)(const PastRun&);

struct Figure {
  const char* name;
  const char* unit;
  bool more_is_worse;
  Read read;
};
constexpr Figure kFigures[] = {
    {"time to train", "s", true, [](const PastRun& run) { return run.ttt_s; }},
    {"training throughput", "samples/s", false,
     [](const PastRun& run) { return run.train_throughput; }}};

/// The figure of each run; empty if a run lacks it.
std::vector<double> values_of(const Batch& batch, Read read) {
  std::vector<double> values;
  for (const PastRun* run : batch.runs) {
    const auto value = read(*run);
    if (!value || *value <= 0.0) return {};
    values.push_back(*value);
  }
  return values;
}

std::vector<double> logarithms(std::vector<double> values) {
  for (double& value : values) value = std::log(value);
  return values;
}

Change judged(const ChangedFigure& figure) {
  if (!figure.p_value) return Change::kTooFew;
  if (*figure.p_value >= kLevel) return Change::kSame;
  return figure.slower > 1.0 ? Change::kSlower : Change::kFaster;
}

/// The figures that both have, with p-values adjusted for each other.
std::vector<ChangedFigure> changed(const Batch& before, const Batch& now, std::uint64_t seed) {
  std::vector<ChangedFigure> figures;
  std::vector<std::vector<double>> first, second;
  for (const Figure& one : kFigures) {
    const std::vector<double> old = values_of(before, one.read), fresh = values_of(now, one.read);
    if (old.empty() || fresh.empty()) continue;
    ChangedFigure figure{one.name, one.unit, mean_of(old),   mean_of(fresh),
                         1.0,      {},       Change::kTooFew};
    figure.slower = one.more_is_worse ? figure.now / figure.before : figure.before / figure.now;
    figures.push_back(std::move(figure));
    first.push_back(logarithms(old));
    second.push_back(logarithms(fresh));
  }
  if (figures.empty()) return figures;
  if (least_p_value(before.runs.size(), now.runs.size()) < kLevel) {
    const auto p_values = permutation_p_values(first, second, seed);
    // All values equal: nothing changed.
    for (std::size_t i = 0; i < figures.size(); ++i) figures[i].p_value = p_values[i].value_or(1.0);
  }
  return figures;
}

/// The change that stands for all figures: slower, else faster, else the same.
Change worst_of(const std::vector<ChangedFigure>& figures) {
  for (const Change change : {Change::kSlower, Change::kFaster, Change::kSame}) {
    for (const ChangedFigure& figure : figures) {
      if (figure.change == change) return change;
    }
  }
  return figures.empty() ? Change::kNothing : Change::kTooFew;
}

std::optional<double> least_p(const Trend& trend) {
  std::optional<double> least;
  for (const ChangedFigure& figure : trend.figures) {
    if (figure.p_value && (!least || *figure.p_value < *least)) least = figure.p_value;
  }
  return least;
}

/// Adjusts p-values for the number of trends: the smallest p-value of each trend by Holm's method,
/// its others by the same factor.
void adjust(std::vector<Trend>& trends) {
  std::vector<std::optional<double>> p_values;
  for (const Trend& trend : trends) p_values.push_back(least_p(trend));
  const auto adjusted = comparison::holm_adjusted(p_values);
  for (std::size_t i = 0; i < trends.size(); ++i) {
    for (ChangedFigure& figure : trends[i].figures) {
      if (figure.p_value) {
        figure.p_value = std::min(1.0, *figure.p_value * (*adjusted[i] / *p_values[i]));
      }
      figure.change = judged(figure);
    }
    trends[i].change = trends[i].failed > 0 ? Change::kFailing : worst_of(trends[i].figures);
  }
}

}  // namespace

const char* to_string(Change change) {
  switch (change) {
    case Change::kSlower:
      return "slower";
    case Change::kFaster:
      return "faster";
    case Change::kSame:
      return "not distinguishable";
    case Change::kTooFew:
      return "too few runs to tell";
    case Change::kFailing:
      return "some of the newest failed";
    case Change::kNothing:
      return "nothing to compare";
  }
  return "";
}

std::vector<Trend> trends_of(const std::vector<PastRun>& runs, std::uint64_t seed) {
  std::vector<Trend> trends;
  for (const Kind& kind : kinds_of(runs)) {
    const auto good = std::find_if(kind.batches.begin() + 1, kind.batches.end(),
                                   [](const Batch& batch) { return batch.is_good(); });
    if (good == kind.batches.end()) continue;
    const Batch& newest = kind.batches.front();
    Batch now{newest.revision, newest.runs};
    std::erase_if(now.runs, [](const PastRun* run) { return !run->succeeded(); });
    Trend trend;
    trend.workload = kind.workload;
    trend.system = kind.system;
    trend.settings = kind.settings;
    trend.revision = newest.revision;
    trend.before_revision = good->revision;
    trend.logs = newest.logs();
    trend.before_logs = good->logs();
    trend.failed = newest.runs.size() - now.runs.size();
    if (!now.runs.empty()) trend.figures = changed(*good, now, seed);
    trends.push_back(std::move(trend));
  }
  adjust(trends);
  return trends;
}

std::string sentence(const Trend& trend) {
  std::string text =
      fmt::format("{} on {}: revision {} ({} runs) against {} ({} runs): ", trend.workload,
                  trend.system, short_revision(trend.revision), trend.logs.size(),
                  short_revision(trend.before_revision), trend.before_logs.size());
  text += trend.failed > 0 ? fmt::format("{} of the newest failed", trend.failed)
                           : to_string(trend.change);
  for (const ChangedFigure& figure : trend.figures) {
    text += fmt::format("; {} {:.5g} {} for {:.5g} ({:.3f} times as slow", figure.name, figure.now,
                        figure.unit, figure.before, figure.slower);
    text += figure.p_value ? fmt::format(", p {:.2g})", *figure.p_value) : ")";
  }
  return text;
}

const std::vector<std::pair<std::string, std::string>>& trend_definitions() {
  static const std::vector<std::pair<std::string, std::string>> all = {
      {"trend",
       "runs of one workload, system and configuration (seeds and paths of files do not count): "
       "those of the newest revision against those of the last revision before it whose runs all "
       "reached the target. A revision's runs are taken together, whenever they ran"},
      {"slower",
       "mean of the newest runs / mean of the last good ones; for throughput the inverse"},
      {"p_value",
       "how often runs that are exchanged at random between the revisions are at least as far "
       "apart in the mean logarithm of either figure; slower and faster are reported below 0.04, "
       "after an adjustment for the number of trends (Holm). Absent with too few runs: 4 of each "
       "revision are enough for one trend"},
  };
  return all;
}

}  // namespace analysis::history
