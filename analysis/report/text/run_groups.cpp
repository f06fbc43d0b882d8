// Groups of runs, their windows and the choice, as text.
#include "analysis/report/text/run_groups.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>
#include <ostream>

#include "analysis/findings/run_groups.h"
#include "analysis/numbers.h"
#include "analysis/report/text/table.h"
#include "runner/base/printable.h"
#include "runner/base/units.h"

namespace analysis::report {
namespace {

using Align = TextTable::Align;

std::string minutes(const std::optional<double>& seconds) {
  return seconds ? short_number(minutes_of(seconds)) : "infinite";
}

/// The time of launch in UTC; "-" if unknown.
std::string launch_of(const std::optional<double>& launched_ms) {
  if (!launched_ms) return "-";
  return fmt::format("{:%Y-%m-%d %H:%M:%S}",
                     fmt::gmtime(static_cast<std::time_t>(*launched_ms / base::kMsPerSecond)));
}

/// The windows that contain a run: "1", "2 to 5".
std::string windows_with(std::size_t place, const RunChoice& choice) {
  const auto [first, last] = choice.windows_with(place);
  return first == last ? fmt::format("{}", first + 1)
                       : fmt::format("{} to {}", first + 1, last + 1);
}

std::string remark_on(std::size_t window, const RunGroup& group) {
  const RunChoice& choice = group.choice;
  std::vector<std::string> remarks;
  if (choice.chosen == window) {
    remarks.emplace_back("to submit: its score is the median");
  } else if (std::ranges::find(choice.medians, window) != choice.medians.end()) {
    remarks.emplace_back("as near to the median");
  }
  for (const PickedRuns& picked : group.picked) {
    if (picked.window == window) remarks.push_back("picked in " + base::printable(picked.folder));
  }
  return fmt::format("{}", fmt::join(remarks, "; "));
}

class GroupText {
 public:
  GroupText(std::ostream& out, const CheckReport& report, const RunGroup& group, std::size_t width)
      : out_(out), report_(report), group_(group), width_(width) {}

  void write() {
    const RunChoice& choice = group_.choice;
    const std::string name = base::printable(group_.name == "." ? "these logs" : group_.name);
    if (!choice.problem.empty()) {
      out_ << name << ": no runs chosen: " << base::printable(choice.problem) << '\n';
      return;
    }
    out_ << fmt::format("{}: {} runs of {}, of which {} consecutive ones make a result\n", name,
                        group_.files.size(), base::printable(group_.benchmark),
                        choice.runs_required);
    write_runs();
    write_windows();
    if (!choice.chosen) {
      out_ << "  No window to submit: the median of their scores is infinite, so the result is "
              "invalid.\n";
      return;
    }
    std::vector<std::string> logs;
    for (const std::size_t i : group_.chosen_files()) {
      logs.push_back(base::printable(report_.files[i].path.filename().string()));
    }
    out_ << fmt::format(
        "  Submit window {}{}: {}.\n  Keep all {} logs: the committee may ask for them.\n",
        *choice.chosen + 1, score_text(), fmt::join(logs, ", "), group_.files.size());
  }

 private:
  const CheckedFile& file_at(std::size_t place) const {
    return report_.files[group_.files[group_.choice.order[place]]];
  }
  std::string log_at(std::size_t place) const {
    return base::printable(file_at(place).path.filename().string());
  }

  /// ", 12.5 min"; with --rcp, normalised like a submission's score.
  std::string score_text() const {
    const double raw_s = *group_.choice.windows[*group_.choice.chosen].score_s;
    const double factor = normalization_of(report_, group_);
    if (factor == 1.0) return fmt::format(", {} min", minutes(raw_s));
    return fmt::format(", {} min, normalised by {:.6g} from {} min", minutes(raw_s * factor),
                       factor, minutes(raw_s));
  }

  void write_runs() {
    const RunChoice& choice = group_.choice;
    TextTable table;
    table.add_column("log", Align::kLeft);
    table.add_column("run", Align::kRight);
    table.add_column("launched (UTC)", Align::kLeft);
    table.add_column("minutes", Align::kRight);
    table.add_column("verdict", Align::kLeft);
    table.add_column("windows", Align::kLeft);
    for (std::size_t i = 0; i < choice.order.size(); ++i) {
      const GroupRun& run = choice.runs[choice.order[i]];
      table.add_row({log_at(i), fmt::format("{}", i + 1), launch_of(run.launched_ms),
                     minutes(run.time_s), to_string(file_at(i).verdict), windows_with(i, choice)});
    }
    table.write(out_, width_);
  }

  void write_windows() {
    const RunChoice& choice = group_.choice;
    TextTable table;
    table.add_column("window", Align::kRight);
    table.add_column("runs", Align::kLeft);
    table.add_column("minutes", Align::kRight);
    table.add_column("", Align::kLeft);
    for (std::size_t i = 0; i < choice.windows.size(); ++i) {
      const RunWindow& window = choice.windows[i];
      table.add_row({fmt::format("{}", i + 1),
                     fmt::format("{} to {}", window.first + 1, window.first + choice.runs_required),
                     minutes(window.score_s), remark_on(i, group_)});
    }
    table.write(out_, width_);
  }

  std::ostream& out_;
  const CheckReport& report_;
  const RunGroup& group_;
  std::size_t width_;
};

}  // namespace

void write_run_groups(std::ostream& out, const CheckReport& report, std::size_t width) {
  if (!report.groups) return;
  for (const RunGroup& group : *report.groups) GroupText(out, report, group, width).write();
}

}  // namespace analysis::report
