// The rounds of logs whose path names none.
// Hides which folders make a submission.
#include "analysis/report/log_rounds.h"

#include "runner/mllog/benchmarks.h"
#include "runner/mllog/keys.h"

namespace analysis::report {
namespace {

namespace fs = std::filesystem;
using mllog::rules::Choice;

/// The folder that holds results/ around a log, or else the log's own.
std::string submission_of(const fs::path& path) {
  for (fs::path at = path.parent_path(); at != at.parent_path(); at = at.parent_path()) {
    if (at.filename() == "results") return at.parent_path().generic_string();
  }
  return path.parent_path().generic_string();
}

std::string key_of(const fs::path& path, const Choice& choice) {
  return choice.round->usage + " " + submission_of(path);
}

bool is_earlier(const Choice& one, const Choice& other) {
  return mllog::is_earlier_round(one.round->number, other.round->number);
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

void SubmissionRounds::add(const fs::path& path, const Choice& choice) {
  const auto [at, is_new] = newest_.emplace(key_of(path, choice), choice);
  if (!is_new && is_earlier(at->second, choice)) at->second = choice;
}

Choice SubmissionRounds::newest(const fs::path& path, const Choice& choice) const {
  const auto found = newest_.find(key_of(path, choice));
  if (found == newest_.end() || !is_earlier(choice, found->second)) return choice;
  return {found->second.round, "a log of the same submission is newer: " + found->second.why};
}

}  // namespace analysis::report
