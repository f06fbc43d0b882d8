// Chooses the N consecutive runs of M that make a result.
#include "analysis/run_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "analysis/statistics.h"
#include "analysis/systems.h"

namespace analysis {
namespace {

/// Indices in order of launch; empty if logs without a date leave the order open.
std::vector<std::size_t> by_launch(std::span<const GroupRun> runs) {
  std::vector<std::size_t> order(runs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto is_before = [&](std::size_t one, std::size_t other) {
    return *runs[one].launched_ms < *runs[other].launched_ms;
  };
  const auto has_date = [&](std::size_t i) { return runs[i].launched_ms.has_value(); };
  std::vector<std::size_t> dated;
  std::ranges::copy_if(order, std::back_inserter(dated), has_date);
  if (dated.size() == runs.size()) {
    std::ranges::stable_sort(order, is_before);
  } else if (dated.empty() || !std::ranges::is_sorted(dated, is_before)) {
    return {};
  }
  return order;
}

std::optional<double> score_of(std::span<const GroupRun> runs, std::span<const std::size_t> window,
                               std::size_t dropped) {
  std::vector<double> times;
  for (const std::size_t i : window) {
    if (runs[i].time_s) times.push_back(*runs[i].time_s);
  }
  std::ranges::sort(times);
  const auto [first, last] = olympic_range(times.size(), window.size() - times.size(), dropped);
  if (first == last) return std::nullopt;
  return mean_of(std::span(times).subspan(first, last - first));
}

/// An absent score is infinite.
bool is_faster(const RunWindow& one, const RunWindow& other) {
  return one.score_s && (!other.score_s || *one.score_s < *other.score_s);
}

void choose_median(RunChoice& choice) {
  const std::vector<RunWindow>& windows = choice.windows;
  std::vector<std::size_t> by_score(windows.size());
  std::iota(by_score.begin(), by_score.end(), std::size_t{0});
  std::ranges::stable_sort(by_score, [&](std::size_t one, std::size_t other) {
    return is_faster(windows[one], windows[other]);
  });
  const RunWindow& lower = windows[by_score[(by_score.size() - 1) / 2]];
  const RunWindow& upper = windows[by_score[by_score.size() / 2]];
  if (!upper.score_s) return;  // the median is infinite
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const auto& score = windows[i].score_s;
    if (score != lower.score_s && score != upper.score_s) continue;
    choice.medians.push_back(i);
    if (!choice.chosen && score == upper.score_s) choice.chosen = i;
  }
}

}  // namespace

std::vector<std::size_t> RunChoice::chosen_runs() const {
  if (!chosen) return {};
  const auto first = order.begin() + static_cast<std::ptrdiff_t>(windows[*chosen].first);
  return {first, first + static_cast<std::ptrdiff_t>(runs_required)};
}

std::pair<std::size_t, std::size_t> RunChoice::windows_with(std::size_t place) const {
  const std::size_t first = place < runs_required ? 0 : place - runs_required + 1;
  return {first, std::min(place, windows.size() - 1)};
}

RunChoice choose_runs(std::vector<GroupRun> given, std::size_t runs_required,
                      std::size_t dropped_each_end) {
  RunChoice choice;
  choice.runs_required = runs_required;
  choice.runs = std::move(given);
  const std::vector<GroupRun>& runs = choice.runs;
  if (runs.size() < runs_required) {
    choice.problem =
        fmt::format("the rules ask for {} runs, there are {}", runs_required, runs.size());
    return choice;
  }
  choice.order = by_launch(runs);
  if (choice.order.empty()) {
    choice.problem = "logs without a date leave open in which order the runs were launched";
    return choice;
  }
  for (std::size_t first = 0; first + runs_required <= runs.size(); ++first) {
    const auto window = std::span(choice.order).subspan(first, runs_required);
    choice.windows.push_back({first, score_of(runs, window, dropped_each_end)});
  }
  choose_median(choice);
  return choice;
}

}  // namespace analysis
