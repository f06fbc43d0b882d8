// The rounds of logs and submissions.
#include "analysis/findings/log_rounds.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <string>
#include <utility>

#include "analysis/log_file.h"
#include "runner/base/error.h"
#include "runner/base/for_each_index.h"
#include "runner/mllog/benchmarks.h"
#include "runner/mllog/keys.h"

namespace analysis {
namespace {

namespace fs = std::filesystem;
using mllog::rules::Choice;
using mllog::rules::RuleBook;
using mllog::rules::Wanted;

/// A key that logs of one submission share, or else logs of one folder.
std::string key_of(const fs::path& path, const Choice& choice) {
  const fs::path folder = path.parent_path(), submission = submission_around(folder);
  return choice.round->usage + " " + (submission.empty() ? folder : submission).generic_string();
}

bool is_earlier(const Choice& one, const Choice& other) {
  return mllog::is_earlier_round(one.round->number, other.round->number);
}

/// The newest round among the logs of each submission.
class SubmissionRounds {
 public:
  /// `path` is absolute; `choice` is by the log's content.
  void add(const fs::path& path, const Choice& choice) {
    const auto [at, is_new] = newest_.emplace(key_of(path, choice), choice);
    if (!is_new && is_earlier(at->second, choice)) at->second = choice;
  }

  Choice newest(const fs::path& path, const Choice& choice) const {
    const auto found = newest_.find(key_of(path, choice));
    if (found == newest_.end() || !is_earlier(choice, found->second)) return choice;
    return {found->second.round, "a log of the same submission is newer: " + found->second.why};
  }

 private:
  std::map<std::string, Choice> newest_;  ///< by submission and usage
};

std::optional<Choice> choose_by_own_path(const fs::path& path, const RuleBook& book,
                                         const Wanted& wanted) {
  return mllog::rules::choose_by_path(book, wanted, full_path(path).generic_string());
}

/// The round by the log's content; nothing if it cannot be read, which is reported when it is
/// judged.
std::optional<Choice> choice_of(const FoundLog& log, const RuleBook& book, const Wanted& wanted) {
  try {
    base::InputFile in = open_log(log.path);
    return mllog::rules::choose_by_log(book, wanted, mllog::rules::gather_evidence(in));
  } catch (const base::SystemError&) {
    return std::nullopt;
  }
}

/// The newest round among the logs of the same usage as the first.
std::optional<Choice> newest_told(const FoundLogs& logs, const RuleBook& book,
                                  const Wanted& wanted) {
  std::optional<Choice> newest;
  for (const FoundLog& log : logs.logs) {
    std::optional<Choice> chosen = choice_of(log, book, wanted);
    if (!chosen) continue;
    const bool is_newer =
        newest && chosen->round->usage == newest->round->usage && is_earlier(*newest, *chosen);
    if (newest && !is_newer) continue;
    chosen->why = "as chosen by " + log.name + ": " + chosen->why;
    newest = std::move(chosen);
  }
  return newest;
}

/// The round that options and paths name; nothing if they name none. Throws ConfigError for
/// several.
std::optional<Choice> choose_by_paths(const fs::path& folder, const FoundLogs& logs,
                                      const RuleBook& book, const Wanted& wanted) {
  if (auto choice = choose_by_own_path(folder, book, wanted)) return choice;
  std::map<std::string, Choice> chosen;  // by the round's name
  for (const FoundLog& log : logs.logs) {
    if (const auto choice = choose_by_own_path(log.path, book, wanted))
      chosen.emplace(choice->round->name(), *choice);
  }
  if (chosen.empty()) return std::nullopt;
  if (chosen.size() == 1) return chosen.begin()->second;
  std::vector<std::string> names;
  for (const auto& [name, choice] : chosen) names.push_back(name);
  throw base::ConfigError(
      fmt::format("{}: holds submissions of several rounds ({}); expected those "
                  "of one, or --round",
                  folder.string(), fmt::join(names, ", ")));
}

}  // namespace

mllog::rules::Evidence evidence_of(const ParsedLog& log) {
  mllog::rules::Evidence evidence;
  evidence.format = log.format;
  evidence.time_ms = log.first_date_ms;
  const auto benchmark = log.config.find(mllog::keys::kSubmissionBenchmark);
  if (benchmark == log.config.end()) return evidence;
  if (const auto* name = std::get_if<std::string>(&benchmark->second.first)) {
    evidence.benchmark = *name;
  }
  return evidence;
}

Choice choose_by_content(const RuleBook& book, const Wanted& wanted, std::istream& in) {
  const mllog::rules::Evidence evidence = mllog::rules::gather_evidence(in);
  in.clear();
  in.seekg(0);
  return mllog::rules::choose_by_log(book, wanted, evidence);
}

std::vector<std::optional<Choice>> choose_rounds(const std::vector<FoundLog>& logs,
                                                 const RuleBook& book, const Wanted& wanted,
                                                 int threads) {
  std::vector<std::optional<Choice>> choices(logs.size());
  std::vector<char> by_log(logs.size(), 0);
  base::for_each_index(logs.size(), threads, [&](std::size_t i) {
    if (logs[i].path == kStandardInput) return;
    choices[i] = choose_by_own_path(logs[i].path, book, wanted);
    if (choices[i]) return;
    choices[i] = choice_of(logs[i], book, wanted);
    by_log[i] = choices[i].has_value();
  });
  SubmissionRounds rounds;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    if (by_log[i]) rounds.add(full_path(logs[i].path), *choices[i]);
  }
  for (std::size_t i = 0; i < logs.size(); ++i) {
    if (by_log[i]) choices[i] = rounds.newest(full_path(logs[i].path), *choices[i]);
  }
  return choices;
}

Choice choose_submission_round(const fs::path& folder, const FoundLogs& logs, const RuleBook& book,
                               const Wanted& wanted) {
  auto choice = choose_by_paths(folder, logs, book, wanted);
  if (!choice) choice = newest_told(logs, book, wanted);
  if (!choice) {
    throw base::ConfigError(folder.string() +
                            ": holds no log that tells its round; expected --round");
  }
  if (!choice->round->no_rules_because.empty()) {
    throw base::ConfigError(fmt::format("{}: {} is not checked: {}", folder.string(),
                                        choice->round->name(), choice->round->no_rules_because));
  }
  return *choice;
}

}  // namespace analysis
