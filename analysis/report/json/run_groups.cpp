// Groups of runs, their windows and the choice, as JSON.
#include "analysis/report/json/run_groups.h"

#include <nlohmann/json.hpp>

#include "analysis/findings/run_groups.h"
#include "analysis/numbers.h"
#include "analysis/report/json/optional.h"
#include "runner/base/printable.h"

namespace analysis::report {
namespace {

using Json = nlohmann::ordered_json;

Json number_of(const std::optional<std::size_t>& index) {
  return index ? Json(*index + 1) : Json(nullptr);
}

Json logs_json(const CheckReport& report, const RunGroup& group, std::size_t first,
               std::size_t count) {
  Json logs = Json::array();
  for (std::size_t i = first; i < first + count; ++i) {
    logs.push_back(base::printable(report.files[group.files[group.choice.order[i]]].name));
  }
  return logs;
}

Json runs_json(const CheckReport& report, const RunGroup& group) {
  const RunChoice& choice = group.choice;
  Json runs = Json::array();
  for (std::size_t i = 0; i < choice.order.size(); ++i) {
    const GroupRun& run = choice.runs[choice.order[i]];
    const CheckedFile& file = report.files[group.files[choice.order[i]]];
    Json windows = Json::array();
    const auto [first, last] = choice.windows_with(i);
    for (std::size_t w = first; w <= last; ++w) windows.push_back(w + 1);
    runs.push_back({{"log", base::printable(file.name)},
                    {"launched_ms", optional_json(run.launched_ms)},
                    {"time_to_train_min", optional_json(minutes_of(run.time_s))},
                    {"verdict", to_string(file.verdict)},
                    {"windows", windows}});
  }
  return runs;
}

Json group_json(const CheckReport& report, const RunGroup& group) {
  const RunChoice& choice = group.choice;
  Json windows = Json::array(), medians = Json::array(), picked = Json::array();
  for (const RunWindow& window : choice.windows) {
    windows.push_back({{"logs", logs_json(report, group, window.first, choice.runs_required)},
                       {"score_min", optional_json(minutes_of(window.score_s))}});
  }
  for (const std::size_t i : choice.medians) medians.push_back(i + 1);
  for (const PickedRuns& one : group.picked) {
    Json places = Json::array();
    for (const std::size_t place : one.places) places.push_back(place + 1);
    picked.push_back({{"folder", base::printable(one.folder)},
                      {"runs", places},
                      {"window", number_of(one.window)}});
  }
  return {
      {"benchmark", base::printable(group.benchmark)},
      {"problem", choice.problem.empty() ? Json(nullptr) : Json(base::printable(choice.problem))},
      {"runs_required", choice.runs_required},
      {"runs", runs_json(report, group)},
      {"windows", windows},
      {"chosen_window", number_of(choice.chosen)},
      {"median_windows", medians},
      {"normalization", normalization_of(report, group)},
      {"picked", picked}};
}

Json definition(const char* text, const char* unit) {
  return {{"definition", text}, {"unit", unit}};
}

}  // namespace

Json run_groups_json(const CheckReport& report) {
  if (!report.groups) return nullptr;
  Json folders = Json::object();
  for (const RunGroup& group : *report.groups) {
    folders[base::printable(group.name)] = group_json(report, group);
  }
  return {
      {"folders", folders},
      {"definitions",
       {{"launched_ms", definition("first date in the log: of its first record with one, of "
                                   "init_start or of run_start",
                                   "ms since 1970")},
        {"time_to_train_min",
         definition("run_stop - run_start; null of a run that failed, which counts as infinite",
                    "min")},
        {"score_min",
         definition(
             "mean of a window's times without the fastest and the slowest, of unet3d without "
             "four at each end; failed runs are the slowest; null where more of them failed "
             "than are dropped: infinite",
             "min")},
        {"chosen_window",
         definition(
             "number of the window to submit: its score is the median of all, of an even "
             "number of windows the slower of the two in the middle; null where that is infinite",
             "")},
        {"median_windows",
         definition("numbers of all windows whose scores are as near to the median", "")},
        {"normalization",
         definition("factor of the chosen window's score by the RCP test of its runs, "
                    "which --rcp makes; 1 where it did not pass",
                    "")},
        {"picked", definition("folders whose logs are all of these runs", "")}}}};
}

}  // namespace analysis::report
