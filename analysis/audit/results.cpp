// Audit of several sets: results far from those of other submissions on equal machines in the same
// round.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <compare>
#include <map>
#include <string_view>

#include "analysis/audit/across.h"
#include "analysis/numbers.h"
#include "runner/base/median.h"
#include "runner/base/units.h"

namespace analysis {
namespace {

/// Fewer other submissions do not show what is usual.
constexpr std::size_t kFewestOthers = 4;
/// An outlier is farther from the median than this many spreads. Source: Iglewicz and Hoaglin, How
/// to Detect and Handle Outliers.
constexpr double kFarSpreads = 3.5;
/// Standard deviation / median distance from the median, of a normal distribution.
constexpr double kStdevOverMedianDistance = 1.4826;
/// Lower bound of the spread: results of equal machines differ by this fraction anyway.
constexpr double kLeastSpread = 0.03;

/// A model's name without maker, case and punctuation, which submitters write differently: "NVIDIA
/// H100-SXM5-80GB" and "H100 SXM5 80GB" are h100sxm580gb.
std::string plain_name(const std::string& model) {
  std::string name;
  for (const char c : model) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte)) name += static_cast<char>(std::tolower(byte));
  }
  for (const std::string_view maker : {"nvidia", "intel", "amd"}) {
    if (name.starts_with(maker)) name.erase(0, maker.size());
  }
  return name;
}

/// Common properties of sets whose results can be compared.
struct Machine {
  std::string round, benchmark, division, model;
  double units = 0.0;  ///< accelerators, or processors if there are none

  auto operator<=>(const Machine&) const = default;
};

/// The machine of `set`; without a model or units it cannot be compared.
Machine machine_of(const RunSet& set) {
  const DescribedSystem& system = set.facts->description;
  const bool has_accelerators = system.accelerators_per_node.value_or(0.0) > 0.0;
  Machine machine;
  machine.round = set.usage() + " " + set.round();
  machine.benchmark = set.facts->benchmark;
  machine.division = plain_name(system.division);
  machine.model = plain_name(has_accelerators ? system.accelerator : system.processor);
  machine.units = set.facts->compute_units.value_or(0.0);
  return machine;
}

/// A score as a logarithm, so that twice and half are equally far.
struct Result {
  std::size_t set = 0;
  std::string submission;
  double log_time = 0.0;
};

/// One result for each other submission: the median of its results.
std::vector<double> others_of(const Result& result, const std::vector<Result>& all) {
  std::map<std::string, std::vector<double>> by_submission;
  for (const Result& one : all) {
    if (one.submission != result.submission) {
      by_submission[one.submission].push_back(one.log_time);
    }
  }
  std::vector<double> others;
  for (const auto& [name, times] : by_submission) others.push_back(base::median_of(times));
  return others;
}

void judge(const Result& result, const std::vector<Result>& all, const RunSet& set,
           SetFindings& findings) {
  const std::vector<double> others = others_of(result, all);
  if (others.size() < kFewestOthers) return;
  const double median = base::median_of(others);
  std::vector<double> distances;
  for (const double other : others) distances.push_back(std::abs(other - median));
  const double spread =
      std::max(kStdevOverMedianDistance * base::median_of(distances), kLeastSpread);
  const double distance = result.log_time - median;
  if (std::abs(distance) <= kFarSpreads * spread) return;
  const DescribedSystem& system = set.facts->description;
  const bool has_accelerators = system.accelerators_per_node.value_or(0.0) > 0.0;
  findings.add_finding(
      result.set, Rule::kResultOutlier,
      fmt::format(
          "{:.4g} min, {:.0f} % {} than {:.4g} min, the median of {} other submissions with "
          "{:.0f} {}; up to {:.0f} % is usual among these",
          *minutes_of(std::exp(result.log_time)), base::kPercent * std::abs(std::expm1(distance)),
          distance < 0.0 ? "faster" : "slower", *minutes_of(std::exp(median)), others.size(),
          set.facts->compute_units.value_or(0.0),
          has_accelerators ? system.accelerator : system.processor,
          base::kPercent * std::abs(std::expm1(std::copysign(kFarSpreads * spread, distance)))));
}

}  // namespace

void audit_results(std::span<const RunSet> sets, const std::vector<bool>& is_copy,
                   SetFindings& findings) {
  std::map<Machine, std::vector<Result>> results;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const std::optional<double>& time_s = sets[i].facts->score_s;
    const std::string submission = sets[i].submission();
    if (is_copy[i] || submission.empty() || time_s.value_or(0.0) <= 0.0) continue;
    const Machine machine = machine_of(sets[i]);
    if (machine.model.empty() || machine.units <= 0.0) continue;
    results[machine].push_back({i, submission, std::log(*time_s)});
  }
  for (const auto& [machine, all] : results) {
    for (const Result& result : all) judge(result, all, sets[result.set], findings);
  }
}

}  // namespace analysis
