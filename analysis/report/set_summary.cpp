// Summary of a set of runs.
#include "analysis/report/set_summary.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <sstream>
#include <vector>

#include "analysis/findings/check_logs.h"
#include "analysis/numbers.h"
#include "analysis/report/json/optional.h"
#include "analysis/report/text/page.h"
#include "analysis/set_score.h"
#include "runner/base/json_text.h"
#include "runner/base/printable.h"
#include "runner/base/units.h"
#include "runner/mllog/keys.h"

namespace analysis::report {
namespace {

using Align = TextTable::Align;

/// Columns of the text. Fixed, as the summary may later be printed on another terminal.
constexpr std::size_t kSummaryColumns = 100;

std::string text_of(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

bool is_together(const nlohmann::json& facts) { return text_of(facts, "mode") == "together"; }

/// "breaks RULESET: TEXT", with the first error; "" for a log that does not fail.
std::string rule_breaks(const CheckedFile& log) {
  if (log.verdict != Verdict::kFail) return "";
  for (const mllog::rules::KeyFinding& found : log.judgement.findings) {
    if (found.finding.severity != Finding::Severity::kError) continue;
    return fmt::format("breaks {}: {}", log.judgement.ruleset, found.finding.text);
  }
  return "breaks " + log.judgement.ruleset;
}

/// The members' logs, judged, by file name.
std::map<std::string, CheckedFile> judged_logs(const nlohmann::json& facts) {
  std::vector<std::string> paths;
  std::error_code failed;
  for (const nlohmann::json& member : facts["members"]) {
    const std::string log = text_of(member, "log");
    const std::string path = text_of(facts, "folder") + "/" + log;
    if (!log.empty() && std::filesystem::exists(path, failed)) paths.push_back(path);
  }
  std::map<std::string, CheckedFile> logs;
  if (paths.empty()) return logs;
  const mllog::rules::RuleBook& book = mllog::rules::embedded_rule_book();
  JudgingOptions options;
  options.wanted.round = text_of(facts, "round");
  options.reading.threads = 1;  // other ranks and other runs may be using this node
  options.reading.traces = false;
  CheckReport report = check_logs(paths, book, options);
  for (CheckedFile& log : report.files) {
    const std::string name = log.path.filename().string();
    logs.emplace(name, std::move(log));
  }
  return logs;
}

class Summary {
 public:
  explicit Summary(const nlohmann::json& facts) : document_(facts), logs_(judged_logs(facts)) {}

  SetSummary make() {
    for (nlohmann::json& member : document_["members"]) take(member);
    spread_ = spread_of(scored_, benchmark_);
    put_spread();
    document_["score"] = nullptr;
    document_["throughput"] = nullptr;
    document_["pruned"] = document_["pruning"] = nlohmann::json::array();
    if (is_together(document_)) {
      put_throughput();
    } else {
      put_score();
    }
    SetSummary summary;
    summary.text = text();
    put_lines(summary.text);
    summary.document = std::move(document_);
    return summary;
  }

 private:
  /// Whether the member does not run again. Once instances have started together, one that was cut
  /// off is not repeated.
  bool is_over(const nlohmann::json& member) const {
    const std::string state = text_of(member, "state");
    return state == "finished" || (state == "cut_off" && document_["started"] == true);
  }
  SetSize size() const {
    return {document_["runs"].get<std::int64_t>(),
            static_cast<std::int64_t>(document_["missing"].size())};
  }
  void take(nlohmann::json& member);
  void put_spread();
  void put_score();
  void put_throughput();
  void put_lines(const std::string& text);
  std::string text() const;
  void write_members(TextPage& page) const;
  void write_result(TextPage& page) const;
  void write_failures(TextPage& page) const;

  nlohmann::json document_;
  std::map<std::string, CheckedFile> logs_;
  std::vector<ScoredMember> scored_;
  std::string benchmark_;
  SetSpread spread_;
  SetScore score_;
  SetThroughput throughput_;
};

/// Adds figures from the member's log.
void Summary::take(nlohmann::json& member) {
  for (const char* key : {"time_to_train_s", "epochs", "quality", "complies", "ruleset"}) {
    member[key] = nullptr;
  }
  const auto found = logs_.find(text_of(member, "log"));
  if (found == logs_.end() || !found->second.facts) return;
  const RunFacts& facts = *found->second.facts;
  const bool has_ended = is_over(member);
  if (facts.outcome == Outcome::kSuccess && !facts.resumed) {
    member["time_to_train_s"] = optional_json(facts.ttt_s);
  }
  member["epochs"] = optional_json(facts.progress.epochs_run);
  member["quality"] = optional_json(facts.final_quality);
  if (benchmark_.empty()) benchmark_ = facts.config_text(mllog::keys::kSubmissionBenchmark);
  if (has_ended) {
    member["complies"] = found->second.judgement.passes;
    member["ruleset"] = found->second.judgement.ruleset;
  }
  scored_.push_back({member["result"].get<std::int64_t>(), member["seed"].get<std::uint64_t>(),
                     &facts, has_ended, rule_breaks(found->second)});
}

void Summary::put_spread() {
  document_["spread"] = {{"successful", spread_.successful},
                         {"min_s", optional_json(spread_.min_s)},
                         {"median_s", optional_json(spread_.median_s)},
                         {"mean_s", optional_json(spread_.mean_s)},
                         {"max_s", optional_json(spread_.max_s)},
                         {"coefficient_of_variation", optional_json(spread_.variation)},
                         {"olympic_mean_s", optional_json(spread_.olympic_mean_s)}};
  nlohmann::json missing = nlohmann::json::array(), failures = nlohmann::json::array();
  for (const nlohmann::json& member : document_["members"]) {
    if (!is_over(member)) {
      missing.push_back(member["member"]);
    } else if (text_of(member, "status") != "success") {
      failures.push_back({{"member", member["member"]},
                          {"result", member["result"]},
                          {"status", member["status"]},
                          {"reason", member["reason"]}});
    }
  }
  document_["missing"] = std::move(missing);
  document_["failures"] = std::move(failures);
  document_["benchmark"] =
      benchmark_.empty() ? nlohmann::json() : nlohmann::json(base::printable(benchmark_));
}

void Summary::put_score() {
  score_ = score_of(scored_, size(), benchmark_);
  if (benchmark_.empty()) score_.reason = "no run has begun";
  document_["score"] = {{"time_to_train_s", optional_json(score_.time_to_train_s)},
                        {"reason", base::printable(score_.reason)},
                        {"runs_required", optional_json(score_.runs_required)},
                        {"counted", score_.counted}};
}

void Summary::put_throughput() {
  throughput_ = throughput_of(scored_, size(), benchmark_);
  if (benchmark_.empty()) throughput_.reason = "no instance has begun";
  document_["throughput"] = {{"models_per_minute", optional_json(throughput_.models_per_minute)},
                             {"time_to_train_all_s", optional_json(throughput_.ttta_s)},
                             {"number_of_models", throughput_.kept.size()},
                             {"start_spread_s", optional_json(throughput_.start_spread_s)},
                             {"reason", base::printable(throughput_.reason)},
                             {"runs_required", optional_json(throughput_.runs_required)},
                             {"kept", throughput_.kept}};
  for (const auto& [result, reason] : throughput_.pruned) {
    document_["pruned"].push_back(result);
    document_["pruning"].push_back({{"result", result}, {"reason", base::printable(reason)}});
  }
}

void Summary::put_lines(const std::string& text) {
  document_["text"] = nlohmann::json::array();
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) document_["text"].push_back(line);
}

std::string Summary::text() const {
  std::ostringstream out;
  TextPage page(out, kSummaryColumns);
  page.heading(fmt::format("Set of {} {} in {}, master seed {}", base::json_line(document_["runs"]),
                           is_together(document_) ? "instances at the same time" : "runs",
                           text_of(document_, "folder"), base::json_line(document_["master_seed"])),
               {});
  write_members(page);
  write_result(page);
  write_failures(page);
  return out.str();
}

void Summary::write_members(TextPage& page) const {
  TextTable table;
  table.add_column("log", Align::kLeft);
  table.add_column("run", Align::kRight);
  for (const char* name : {"time s", "epochs", "quality"}) table.add_column(name, Align::kRight);
  table.add_column("status", Align::kLeft);
  table.add_column("seed", Align::kRight);
  const auto number = [](const nlohmann::json& value) {
    return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
  };
  for (const nlohmann::json& member : document_["members"]) {
    const std::string state = text_of(member, "state"), status = text_of(member, "status");
    const std::string log = text_of(member, "log");
    table.add_row({log.empty() ? "-" : log, base::json_line(member["member"]),
                   short_number(number(member["time_to_train_s"])),
                   short_number(number(member["epochs"])), quality_text(number(member["quality"])),
                   state == "finished" ? status : state, base::json_line(member["seed"])});
  }
  page.table(table);
}

void Summary::write_result(TextPage& page) const {
  if (is_together(document_)) {
    const std::string rate =
        throughput_.models_per_minute
            ? fmt::format(
                  "{} models per minute: {} models in {} (first run_start to last run_stop)",
                  short_number(throughput_.models_per_minute), throughput_.kept.size(),
                  duration_text(throughput_.ttta_s))
            : "none";
    page.fact("throughput", rate, {});
    if (!throughput_.reason.empty()) page.fact("no result", throughput_.reason, {});
    if (throughput_.start_spread_s) {
      page.fact("starts within", fmt::format("{:.3f} s", *throughput_.start_spread_s), {});
    }
    for (const auto& [result, reason] : throughput_.pruned) {
      page.fact("prune", fmt::format("result_{}: {}", result, reason), {});
    }
  } else if (score_.time_to_train_s) {
    page.fact("score",
              fmt::format("{} s, the mean of {} of {} runs", short_number(score_.time_to_train_s),
                          score_.counted.size(), base::json_line(document_["runs"])),
              {});
  } else {
    page.fact("score", "none: " + score_.reason, {});
  }
  if (!spread_.min_s) return;
  std::string spread = fmt::format("{} to {} s, median {} s", short_number(spread_.min_s),
                                   short_number(spread_.max_s), short_number(spread_.median_s));
  if (spread_.variation) {
    spread +=
        fmt::format(", coefficient of variation {:.2f} %", *spread_.variation * base::kPercent);
  }
  page.fact("spread", fmt::format("{}; {} successful", spread, spread_.successful), {});
}

void Summary::write_failures(TextPage& page) const {
  for (const nlohmann::json& failure : document_["failures"]) {
    page.fact("failed",
              fmt::format("run {}: {}: {}", base::json_line(failure["member"]),
                          text_of(failure, "status"), text_of(failure, "reason")),
              {});
  }
  bool may_continue = false;
  for (const nlohmann::json& member : document_["members"]) {
    const std::string state = text_of(member, "state");
    if (is_over(member)) continue;
    const bool runs = state == "running";
    may_continue = may_continue || !runs;
    if (state == "waiting") continue;
    std::string what =
        runs ? "on " + text_of(member, "host") : "was cut off: " + text_of(member, "reason");
    if (!text_of(member, "job").empty()) what += " in " + text_of(member, "job");
    page.fact(runs ? "running" : "missing",
              fmt::format("run {} {}", base::json_line(member["member"]), what), {});
  }
  if (!may_continue) return;
  const std::int64_t ranks = document_.value("ranks", std::int64_t{1});
  const std::string command = text_of(document_, "command");
  page.fact("continue with", ranks > 1 ? fmt::format("on {} ranks: {}", ranks, command) : command,
            {});
}

}  // namespace

SetSummary summarize_set(const nlohmann::json& facts) { return Summary(facts).make(); }

}  // namespace analysis::report
