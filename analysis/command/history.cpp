// `trainmark history`.
#include "analysis/command/history.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <span>

#include "analysis/command/outputs.h"
#include "analysis/history/index.h"
#include "analysis/history/regression.h"
#include "analysis/numbers.h"
#include "analysis/report/json/optional.h"
#include "analysis/report/text/page.h"
#include "runner/base/json_text.h"
#include "runner/base/printable.h"

namespace analysis::command {
namespace {

namespace fs = std::filesystem;
using base::ConfigError;
using base::ExitCode;
using history::Change;
using history::PastRun;
using history::Trend;
using report::optional_json;
using Align = report::TextTable::Align;
using Json = nlohmann::ordered_json;

constexpr int kHistorySchema = 1;

std::string date_text(std::int64_t ms) {
  if (ms <= 0) return "-";
  return fmt::format("{:%Y-%m-%d %H:%M}", fmt::gmtime(static_cast<std::time_t>(ms / 1000)));
}

/// Milliseconds since 1970 of midnight UTC on a date such as "2026-11-23".
std::int64_t parse_date(const std::string& text) {
  const auto number = [&](std::size_t at, std::size_t length) {
    unsigned value = 0;
    const char* const begin = text.data() + at;
    const auto [end, error] = std::from_chars(begin, begin + length, value);
    return error == std::errc() && end == begin + length ? value : 0U;
  };
  constexpr unsigned kFirstYear = 1970;
  if (text.size() == 10 && text[4] == '-' && text[7] == '-' && number(0, 4) >= kFirstYear) {
    const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(number(0, 4))),
                                           std::chrono::month(number(5, 2)),
                                           std::chrono::day(number(8, 2))};
    if (date.ok()) {
      return std::chrono::duration_cast<std::chrono::milliseconds>(
                 std::chrono::sys_days(date).time_since_epoch())
          .count();
    }
  }
  throw ConfigError(fmt::format("--since: expected a date such as 2026-11-23, got '{}'", text));
}

history::Query query_of(const HistoryOptions& options) {
  history::Query query;
  query.workload = options.workload;
  query.system = options.system;
  query.outcome = options.outcome;
  query.revision = options.revision;
  query.text = options.text;
  if (!options.since.empty()) query.since_ms = parse_date(options.since);
  for (const std::string& setting : options.settings) {
    const std::size_t equals = setting.find('=');
    if (equals == 0 || equals == std::string::npos) {
      throw ConfigError(fmt::format("--with: expected KEY=VALUE, got '{}'", setting));
    }
    query.settings.emplace_back(setting.substr(0, equals), setting.substr(equals + 1));
  }
  return query;
}

/// The given index, else the folder's own if it can be written, else one in memory, for which every
/// call reads all logs.
fs::path index_of(const HistoryOptions& options, std::ostream& messages) {
  if (!options.index.empty()) return options.index;
  const fs::path folder = options.folder;
  const fs::path file = folder / history::Index::kFile;
  // SQLite keeps a journal next to its file.
  std::error_code failed;
  const bool is_open = !fs::exists(file, failed) || ::access(file.c_str(), W_OK) == 0;
  if (is_open && ::access(folder.c_str(), W_OK) == 0) return file;
  messages << base::printable(file.string())
           << ": cannot be written; the index is kept in memory\n";
  return ":memory:";
}

/// The differences between a run and the previous run of its workload and system.
struct Changes {
  std::string before;  ///< log of the previous run
  std::vector<std::string> list;
};
/// By the run's log. The first run of a workload and system has no entry.
using ChangesByLog = std::map<std::string, Changes>;

Changes changes_between(const PastRun& before, const PastRun& run) {
  Changes changes{before.log, {}};
  std::map<std::string, std::string> settings = run.settings;
  settings.insert(before.settings.begin(), before.settings.end());
  for (const auto& [name, value] : settings) {
    // The number of ranks is in the telemetry, which a run in progress does not have yet.
    const bool is_known =
        name != "ranks" || (run.settings.contains(name) && before.settings.contains(name));
    if (!history::is_comparable(name) || !is_known) continue;
    const auto of = [&, key = name](const PastRun& one) {
      const auto found = one.settings.find(key);
      return found == one.settings.end() ? std::string("none") : found->second;
    };
    if (of(run) != of(before)) {
      changes.list.push_back(fmt::format("{}: {} (before: {})", name, of(run), of(before)));
    }
  }
  const bool both_known = !run.revision.empty() && !before.revision.empty();
  if (both_known && run.revision != before.revision) {
    changes.list.push_back(fmt::format("revision: {} (before: {})",
                                       history::short_revision(run.revision),
                                       history::short_revision(before.revision)));
  }
  return changes;
}

/// `runs`: all runs, newest first.
ChangesByLog changes_of(const std::vector<PastRun>& runs) {
  ChangesByLog changes;
  std::map<std::pair<std::string, std::string>, const PastRun*> last;
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    const PastRun*& before = last[{run->workload, run->system}];
    if (before) changes[run->log] = changes_between(*before, *run);
    before = &*run;
  }
  return changes;
}

void write_changes(report::TextPage& page, std::span<const PastRun> runs,
                   const ChangesByLog& changes) {
  std::int64_t without = 0, first = 0;
  for (const PastRun& run : runs) {
    const auto found = changes.find(run.log);
    if (found == changes.end()) ++first;
    if (found != changes.end() && found->second.list.empty()) ++without;
    if (found == changes.end() || found->second.list.empty()) continue;
    page.heading(fmt::format("{}, against {} before it", found->first, found->second.before), {});
    for (const std::string& change : found->second.list) page.item(change);
  }
  if (without > 0) {
    page.paragraph(fmt::format("No changes: {} had the settings and revision of the run before.",
                               base::counted(without, "run")));
  }
  if (first > 0) {
    page.paragraph(fmt::format("Nothing before: {}, the first of a workload and system.",
                               base::counted(first, "run")));
  }
}

void write_runs(report::TextPage& page, const std::vector<PastRun>& runs,
                const ChangesByLog& changes, const HistoryOptions& options) {
  if (runs.empty()) {
    page.paragraph("No such run.");
    return;
  }
  const auto all = static_cast<std::int64_t>(runs.size());
  const std::int64_t shown = options.limit == 0 ? all : std::min(options.limit, all);
  report::TextTable table;
  for (const char* const heading : {"started (UTC)", "system", "workload", "log", "outcome"}) {
    table.add_column(heading, Align::kLeft);
  }
  for (const char* const heading : {"time to train", "epochs", "samples/s", "quality"}) {
    table.add_column(heading, Align::kRight);
  }
  table.add_column("revision", Align::kLeft);
  for (std::int64_t i = 0; i < shown; ++i) {
    const PastRun& run = runs[static_cast<std::size_t>(i)];
    table.add_row({date_text(run.started_ms), run.system, run.workload,
                   fs::path(run.log).filename().string(),
                   run.resumed ? run.outcome + ", resumed" : run.outcome, duration_text(run.ttt_s),
                   short_number(run.epochs), short_number(run.train_throughput),
                   quality_text(run.best_quality), history::short_revision(run.revision)});
  }
  page.table(table);
  if (shown < all) {
    page.paragraph(fmt::format("The newest {} of {} runs; --limit 0 shows all.", shown, all));
  }
  if (!options.changes) return;
  write_changes(page, std::span(runs).first(static_cast<std::size_t>(shown)), changes);
}

void write_trends(report::TextPage& page, const std::vector<Trend>& trends) {
  if (trends.empty()) {
    page.paragraph(
        "No runs of one workload, system and configuration have a revision before theirs whose "
        "runs all reached the target.");
  }
  for (const Trend& trend : trends) page.item(sentence(trend));
}

Json settings_json(const std::map<std::string, std::string>& settings) {
  Json object = Json::object();
  for (const auto& [name, value] : settings) object[base::printable(name)] = base::printable(value);
  return object;
}

Json json_of(const PastRun& run, const ChangesByLog& changes) {
  Json changed = Json::array();
  if (const auto found = changes.find(run.log); found != changes.end()) {
    for (const std::string& change : found->second.list) changed.push_back(base::printable(change));
  }
  return {{"log", base::printable(run.log)},
          {"workload", base::printable(run.workload)},
          {"system", base::printable(run.system)},
          {"outcome", base::printable(run.outcome)},
          {"resumed", run.resumed},
          {"started_ms", run.started_ms},
          {"ttt_s", optional_json(run.ttt_s)},
          {"epochs", optional_json(run.epochs)},
          {"train_throughput", optional_json(run.train_throughput)},
          {"best_quality", optional_json(run.best_quality)},
          {"revision", base::printable(run.revision)},
          {"settings", settings_json(run.settings)},
          {"changes", std::move(changed)}};
}

Json json_of(const Trend& trend) {
  Json figures = Json::array(), logs = Json::array(), before = Json::array();
  for (const history::ChangedFigure& figure : trend.figures) {
    figures.push_back({{"name", figure.name},
                       {"unit", figure.unit},
                       {"before", figure.before},
                       {"now", figure.now},
                       {"slower", figure.slower},
                       {"p_value", optional_json(figure.p_value)},
                       {"change", to_string(figure.change)}});
  }
  for (const std::string& log : trend.logs) logs.push_back(base::printable(log));
  for (const std::string& log : trend.before_logs) before.push_back(base::printable(log));
  return {{"workload", base::printable(trend.workload)},
          {"system", base::printable(trend.system)},
          {"revision", base::printable(trend.revision)},
          {"before_revision", base::printable(trend.before_revision)},
          {"logs", std::move(logs)},
          {"before_logs", std::move(before)},
          {"failed", trend.failed},
          {"change", to_string(trend.change)},
          {"figures", std::move(figures)},
          {"settings", settings_json(trend.settings)}};
}

std::string json_text(const std::vector<PastRun>& runs, const ChangesByLog& changes,
                      const std::vector<Trend>& trends, const HistoryOptions& options) {
  Json list = Json::array(), definitions = Json::object();
  Json document = {{"schema", kHistorySchema}};
  if (options.regressions) {
    for (const Trend& trend : trends) list.push_back(json_of(trend));
    for (const auto& [name, text] : history::trend_definitions()) definitions[name] = text;
    document["trends"] = std::move(list);
  } else {
    for (const PastRun& run : runs) list.push_back(json_of(run, changes));
    for (const auto& [name, text] : history::past_run_definitions()) definitions[name] = text;
    document["runs"] = std::move(list);
  }
  document["definitions"] = std::move(definitions);
  return base::json_text(document);
}

bool has_regression(const std::vector<Trend>& trends) {
  return std::any_of(trends.begin(), trends.end(), [](const Trend& trend) {
    return trend.change == Change::kSlower || trend.change == Change::kFailing;
  });
}

}  // namespace

ExitCode history(const HistoryOptions& options, std::ostream& out, std::ostream& messages,
                 std::size_t width) {
  const history::Query query = query_of(options);
  const bool asks_for_some = !options.outcome.empty() || !options.revision.empty() ||
                             !options.text.empty() || !options.since.empty() ||
                             !options.settings.empty();
  if (options.regressions && asks_for_some) {
    throw ConfigError(
        "history: --regressions looks at all runs; expected no option beside it that "
        "picks some, but --workload and --system");
  }
  std::error_code failed;
  if (!fs::is_directory(options.folder, failed)) {
    throw base::DataError(options.folder + ": expected a folder of results, found none");
  }
  const bool has_file = !options.json.empty() && options.json != kStandardOutput;
  if (has_file) refuse_to_overwrite(options.json, {options.folder});
  history::Index index(index_of(options, messages));
  const history::Update update = index.update(options.folder, options.rebuild, options.threads);
  if (!update.rebuilt_because.empty()) {
    messages << "the index was built anew: " << base::printable(update.rebuilt_because) << '\n';
  }
  for (const std::string& problem : update.problems) messages << base::printable(problem) << '\n';
  // Changes and trends compare all runs of the workload and system, not only those found.
  history::Query all;
  all.workload = query.workload;
  all.system = query.system;
  const bool needs_all = options.changes || options.regressions || !options.json.empty();
  const std::vector<PastRun> every = needs_all ? index.find(all) : std::vector<PastRun>();
  const std::vector<Trend> trends =
      options.regressions ? history::trends_of(every, options.seed) : std::vector<Trend>();
  const std::vector<PastRun> runs =
      options.regressions ? std::vector<PastRun>() : index.find(query);
  const ChangesByLog changes = changes_of(every);
  if (has_file) {
    write_files({{options.json, json_text(runs, changes, trends, options)}}, messages, false);
  }
  if (options.json == kStandardOutput) {
    out << json_text(runs, changes, trends, options);
  } else {
    report::TextPage page(out, width);
    if (options.regressions) {
      write_trends(page, trends);
    } else {
      write_runs(page, runs, changes, options);
    }
  }
  end_output(out);
  if (has_regression(trends)) return ExitCode::kRegression;
  return update.problems.empty() ? ExitCode::kSuccess : ExitCode::kIncomplete;
}

}  // namespace analysis::command
