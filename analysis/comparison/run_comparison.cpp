// Compares two sets of runs of one benchmark.
#include "analysis/comparison/run_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/comparison/conditions.h"
#include "analysis/comparison/telemetry_comparison.h"
#include "analysis/comparison/time_account.h"
#include "runner/base/error.h"
#include "runner/mllog/keys.h"

namespace analysis::comparison {
namespace {

constexpr std::size_t kDropped = 1;  ///< runs that the olympic mean drops at each end
/// The total and its factors.
constexpr std::size_t kFigures = 1 + kFactorCount;
using Figures = std::array<double, kFigures>;

/// The accounts of a side's successful runs, the fastest first.
struct Accounts {
  std::vector<TimeAccount> runs;
  std::size_t failed = 0;
  double multiplier = 1.0;
};

double multiplier(const Side& side, Per per) {
  if (const auto times = side.count(per)) return *times;
  throw base::ConfigError(fmt::format(
      "{}: --baseline {}: neither its logs nor a systems/<system>.json of a submission tell how "
      "many it has",
      side.name, to_string(per)));
}

Accounts accounts_of(const Side& side, Per per) {
  Accounts accounts;
  for (const RunInSide* run : side.successful()) {
    if (const auto account = account_of(*run->facts)) accounts.runs.push_back(*account);
  }
  accounts.failed = side.runs.size() - accounts.runs.size();
  accounts.multiplier = multiplier(side, per);
  return accounts;
}

/// Removes the epochs of both sides unless all runs of both have them.
void agree_on_epochs(Accounts& first, Accounts& second) {
  const auto tells = [](const Accounts& side) {
    return std::all_of(side.runs.begin(), side.runs.end(),
                       [](const TimeAccount& run) { return run.epochs.has_value(); });
  };
  if (tells(first) && tells(second)) return;
  for (Accounts* side : {&first, &second}) {
    for (TimeAccount& run : side->runs) run.epochs.reset();
  }
}

Figures figures_of(const TimeAccount& account, double multiplier) {
  Figures figures{};
  figures[0] = account.ttt_s * multiplier;
  const auto factors = factors_of(account);
  std::copy(factors.begin(), factors.end(), figures.begin() + 1);
  figures[1] *= multiplier;
  return figures;
}

/// Figures of the means over those `drawn` runs (indices, maybe repeated) that count.
Figures figures_of(const Accounts& side, std::vector<std::size_t> drawn, bool scored) {
  std::sort(drawn.begin(), drawn.end());  // by time
  std::size_t first = 0, last = drawn.size();
  if (scored) {
    const OlympicRange range = olympic_range(drawn.size(), side.failed, kDropped);
    first = range.first;
    last = range.last;
  }
  std::vector<TimeAccount> counted;
  for (std::size_t i = first; i < last; ++i) counted.push_back(side.runs[drawn[i]]);
  return figures_of(mean_of(counted), side.multiplier);
}

Figures figures_of(const Accounts& side, bool scored) {
  std::vector<std::size_t> all(side.runs.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  return figures_of(side, std::move(all), scored);
}

/// Logarithms of one figure of each run.
std::vector<double> logarithms(const Accounts& side, std::size_t figure) {
  std::vector<double> values;
  for (const TimeAccount& run : side.runs) {
    values.push_back(std::log(figures_of(run, side.multiplier)[figure]));
  }
  return values;
}

/// The p-value of the total, unadjusted, and those of the factors, adjusted for each other. Absent
/// if there are too few runs.
std::vector<std::optional<double>> p_values_of(const Accounts& first, const Accounts& second,
                                               std::uint64_t seed) {
  std::vector<std::optional<double>> p_values(kFigures);
  if (least_p_value(first.runs.size(), second.runs.size()) >= kLevel) return p_values;
  p_values[0] = permutation_p_values({logarithms(first, 0)}, {logarithms(second, 0)}, seed).front();
  std::vector<std::vector<double>> one, other;
  for (std::size_t i = 1; i < kFigures; ++i) {
    one.push_back(logarithms(first, i));
    other.push_back(logarithms(second, i));
  }
  const auto together = permutation_p_values(one, other, seed);
  std::copy(together.begin(), together.end(), p_values.begin() + 1);
  return p_values;
}

std::vector<Interval> intervals_of(const Accounts& first, const Accounts& second, bool scored,
                                   const ComparisonOptions& options) {
  return bootstrap_intervals(
      first.runs.size(), second.runs.size(), kFigures, options.seed, options.draws,
      [&](Drawn of_first, Drawn of_second, std::span<double> ratios) {
        const Figures one = figures_of(first, {of_first.begin(), of_first.end()}, scored);
        const Figures other = figures_of(second, {of_second.begin(), of_second.end()}, scored);
        for (std::size_t i = 0; i < kFigures; ++i) ratios[i] = other[i] / one[i];
      });
}

std::string unit_of(Per per) {
  return per == Per::kSystem ? "s" : fmt::format("{} s", to_string(per));
}

void name(FigureComparison& figure, std::size_t index, Per per, bool scored) {
  const std::string times = per == Per::kSystem ? "" : fmt::format(" * {}s", to_string(per));
  if (index == 0) {
    figure.name = "time to train";
    figure.unit = unit_of(per);
    figure.definition = (scored ? "mean ttt_s of the runs that the score counts, without the "
                                  "scaling factor of reviews"
                                : "mean ttt_s of the successful runs, as not both have a score") +
                        times;
    return;
  }
  const FactorInfo& info = factor_infos()[index - 1];
  figure.name = info.name;
  figure.unit = info.unit;
  figure.definition = info.definition + ", of the means over the same runs";
  if (info.factor == Factor::kTraining) {
    figure.definition += times;
    if (per != Per::kSystem) figure.unit = fmt::format("{} {}", to_string(per), info.unit);
  }
}

std::string too_few(std::size_t first, std::size_t second, std::size_t comparisons) {
  if (least_p_value(first, second) >= kLevel) {
    return fmt::format(
        "{} and {} runs are too few to tell a difference from chance, 4 of each side are enough",
        first, second);
  }
  return fmt::format(
      "{} and {} runs are too few to tell a difference from chance in {} comparisons at once, 5 of "
      "each side are enough for 5",
      first, second, comparisons);
}

std::string no_success(const Side& side) {
  return side.name + " has no run that reached its target";
}

/// Compares instances trained at the same time by seconds per model. A set of them is a single
/// measurement, whose variance is unknown.
void compare_instances(const Side& first, const Side& second, Per per, RunComparison& comparison) {
  const auto seconds = [per](const Side& side) -> std::optional<double> {
    if (!side.system->weak || !side.system->ttta_s || side.system->successful == 0) return {};
    const auto models = static_cast<double>(side.system->successful);
    return *side.system->ttta_s / models * multiplier(side, per);
  };
  const auto one = seconds(first), other = seconds(second);
  comparison.first_runs = first.successful().size();
  comparison.second_runs = second.successful().size();
  if (!one || !other || *one <= 0.0) {
    comparison.why_none =
        "instances trained at the same time and runs one after the other have no figure in common";
    return;
  }
  comparison.why_none = "a set of instances trained at the same time is one measurement";
  comparison.total = {"time per model",
                      unit_of(per),
                      "ttta_s / models of instances trained at the same time",
                      *one,
                      *other,
                      *other / *one,
                      kNoInterval,
                      {},
                      false};
}

void compare_times(const Side& first, const Side& second, const ComparisonOptions& options,
                   RunComparison& comparison) {
  Accounts one = accounts_of(first, options.per), other = accounts_of(second, options.per);
  agree_on_epochs(one, other);
  comparison.first_runs = one.runs.size();
  comparison.second_runs = other.runs.size();
  if (one.runs.empty() || other.runs.empty()) {
    comparison.why_none = no_success(one.runs.empty() ? first : second);
    return;
  }
  if (least_p_value(one.runs.size(), other.runs.size()) >= kLevel) {
    comparison.why_none = too_few(one.runs.size(), other.runs.size(), 1);
  }
  const bool scored = first.system->olympic_mean_s && second.system->olympic_mean_s;
  comparison.scored = scored;
  const Figures figures = figures_of(one, scored), others = figures_of(other, scored);
  const std::vector<Interval> intervals = intervals_of(one, other, scored, options);
  const auto p_values = p_values_of(one, other, options.seed);
  for (std::size_t i = 0; i < kFigures; ++i) {
    if (!std::isfinite(figures[i]) || !std::isfinite(others[i])) continue;
    FigureComparison figure;
    name(figure, i, options.per, scored);
    figure.first = figures[i];
    figure.second = others[i];
    figure.ratio = others[i] / figures[i];
    figure.interval = intervals[i];
    // A difference that three digits do not show is not reported, however certain it is.
    constexpr double kShown = 5e-4;
    if (i == 0 || std::abs(figure.ratio - 1.0) >= kShown) figure.p_value = p_values[i];
    figure.distinguishable = figure.p_value && *figure.p_value < kLevel;
    if (i == 0) {
      comparison.total = std::move(figure);
    } else {
      comparison.factors.push_back(std::move(figure));
    }
  }
}

/// Adjusts the p-values of the totals for the number of comparisons.
void adjust(std::vector<RunComparison>& comparisons) {
  std::vector<std::optional<double>> p_values;
  for (RunComparison& one : comparisons) {
    const double least = least_p_value(one.first_runs, one.second_runs);
    const bool can_tell = least * static_cast<double>(comparisons.size()) < kLevel;
    if (one.total && one.total->p_value && !can_tell) {
      one.why_none = too_few(one.first_runs, one.second_runs, comparisons.size());
      one.total->p_value.reset();
      one.total->distinguishable = false;
    }
    p_values.push_back(one.total ? one.total->p_value : std::nullopt);
  }
  p_values = holm_adjusted(p_values);
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    if (!p_values[i]) continue;
    comparisons[i].total->p_value = p_values[i];
    comparisons[i].total->distinguishable = *p_values[i] < kLevel;
  }
}

}  // namespace

std::vector<RunComparison> compare_runs(const Side& first, const std::vector<const Side*>& others,
                                        const ComparisonOptions& options) {
  std::vector<RunComparison> comparisons(others.size());
  for (std::size_t i = 0; i < others.size(); ++i) {
    RunComparison& one = comparisons[i];
    const bool is_weak = first.system->weak || others[i]->system->weak;
    if (is_weak) {
      compare_instances(first, *others[i], options.per, one);
    } else {
      compare_times(first, *others[i], options, one);
    }
    one.unequal = unequal_conditions(first, *others[i]);
    one.differences = other_differences(first, *others[i]);
    one.inside = compare_telemetry(first, *others[i]);
  }
  adjust(comparisons);
  return comparisons;
}

std::string verdict(const std::string& first, const std::string& second,
                    const RunComparison& comparison) {
  if (!comparison.total) {
    return fmt::format("{} against {}: {}", second, first, comparison.why_none);
  }
  const FigureComparison& total = *comparison.total;
  const std::string what = total.unit == "s" ? "time" : total.unit + "econds";
  const std::string within =
      std::isfinite(total.interval.low)
          ? fmt::format(", 95 % within {:.3g} to {:.3g}", total.interval.low, total.interval.high)
          : "";
  const std::string takes =
      fmt::format("{} takes {:.3g} times the {} of {}{}", second, total.ratio, what, first, within);
  if (!total.p_value) {
    return fmt::format(
        "{} and {}: not distinguishable: {}. {}", first, second,
        comparison.why_none.empty() ? "all runs take the same time" : comparison.why_none, takes);
  }
  if (total.distinguishable) return fmt::format("{} (p {:.2g})", takes, *total.p_value);
  return fmt::format("{} and {}: not distinguishable (p {:.2g}). {}", first, second, *total.p_value,
                     takes);
}

}  // namespace analysis::comparison
