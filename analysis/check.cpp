// `trainmark check`.
// Hides files, terminals and what goes where.
#include "analysis/check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>

#include "analysis/audit_rules.h"
#include "analysis/findings_junit.h"
#include "analysis/findings_sarif.h"
#include "analysis/output_file.h"
#include "analysis/printable.h"
#include "analysis/write_check.h"
#include "runner/base/system_facts.h"

namespace analysis {
namespace {

namespace fs = std::filesystem;
using base::ConfigError;
using base::ExitCode;
using mllog::rules::Round;
using mllog::rules::RuleBook;
using mllog::rules::Wanted;

constexpr char kStandardOutput[] = "-";

void require_consistent(const CheckOptions& options) {
  const bool lists = !options.rules.empty() || options.rounds || !options.explain.empty();
  if (lists && !options.paths.empty()) {
    throw ConfigError("check: --rules, --rounds and --explain take no PATH, got " +
                      options.paths[0]);
  }
  if (!lists && options.paths.empty()) {
    throw ConfigError("check: expected a PATH, --rules BENCHMARK, --rounds or --explain, got none");
  }
}

/// The newest round that the flags leave and that has rules for the benchmark.
const Round& round_to_list(const RuleBook& book, const CheckOptions& options) {
  const Wanted wanted{options.usage, options.round};
  const auto choice = mllog::rules::choose_by_path(book, wanted, "");
  const Round* newest = nullptr;
  std::vector<std::string> known;
  for (const Round& round : book.rounds()) {
    const bool wanted_usage = options.usage.empty() || round.usage == options.usage;
    if (!wanted_usage || (choice && choice->round != &round)) continue;
    if (round.judges(options.rules)) newest = &round;
    known = round.benchmarks;
  }
  if (newest != nullptr) return *newest;
  if (!choice) throw ConfigError("--rules: no round has rules for the benchmark " + options.rules);
  throw ConfigError(fmt::format("--rules: {} has no rules for the benchmark {}; it lists {}",
                                choice->round->name(), options.rules, fmt::join(known, ", ")));
}

/// Text to `out`, or JSON there, or JSON to a file.
template <class Text, class Json>
void write(const CheckOptions& options, std::ostream& out, std::ostream& people, const Text& text,
           const Json& json) {
  if (options.json == kStandardOutput) {
    out << json();
  } else {
    text();
    if (!options.json.empty()) {
      write_output_file(options.json, json());
      if (!options.quiet) people << "wrote " << printable(options.json) << '\n';
    }
  }
  out.flush();
  if (!out) throw base::SystemError("standard output: cannot be written");
}

void refuse_to_overwrite_logs(const std::string& output, const CheckReport& report) {
  for (const CheckedFile& file : report.files) {
    std::error_code failed;
    if (fs::equivalent(output, file.path, failed)) {
      throw ConfigError(output + ": is one of the logs that are read");
    }
  }
}

/// Verdict and audit together, for the formats of other programs.
std::vector<JudgedFile> judged_files(const CheckReport& report) {
  std::vector<JudgedFile> files;
  for (const CheckedFile& file : report.files) {
    JudgedFile judged{file.name, file.judgement.passes, {}};
    for (const auto& found : file.judgement.findings) judged.findings.push_back(found.finding);
    judged.findings.insert(judged.findings.end(), file.audit.begin(), file.audit.end());
    files.push_back(std::move(judged));
  }
  return files;
}

void write_for_others(const CheckOptions& options, std::ostream& people,
                      const CheckReport& report) {
  const auto write_one = [&](const std::string& path, const std::string& text) {
    refuse_to_overwrite_logs(path, report);
    write_output_file(path, text);
    if (!options.quiet) people << "wrote " << printable(path) << '\n';
  };
  const std::string version = base::build_facts()["version"].get<std::string>();
  if (!options.sarif.empty()) {
    write_one(options.sarif, findings_sarif(judged_files(report), version));
  }
  if (!options.junit.empty()) {
    write_one(options.junit, findings_junit(judged_files(report), "trainmark check"));
  }
}

ExitCode verdict(const CheckReport& report, std::ostream& people) {
  for (const Problem& problem : report.problems) {
    people << printable(problem.path + ": " + problem.text) << '\n';
  }
  if (report.failed() > 0) return ExitCode::kNonCompliant;
  if (report.files.empty()) return ExitCode::kData;
  return report.problems.empty() ? ExitCode::kSuccess : ExitCode::kIncomplete;
}

}  // namespace

ExitCode check(const CheckOptions& options, std::ostream& out, std::ostream& people,
               std::size_t width) {
  require_consistent(options);
  if (!options.explain.empty()) {
    out << explain_rule(options.explain);
    return ExitCode::kSuccess;
  }
  const RuleBook book(options.overlays);
  const Wanted wanted{options.usage, options.round};
  mllog::rules::require_known(book, wanted);
  if (options.rounds) {
    write(
        options, out, people, [&] { write_rounds_text(out, book, width); },
        [&] { return rounds_json_text(book); });
    return ExitCode::kSuccess;
  }
  if (!options.rules.empty()) {
    const mllog::rules::Ruleset ruleset = book.ruleset(round_to_list(book, options));
    write(
        options, out, people, [&] { write_rules_text(out, ruleset, options.rules, width); },
        [&] { return rules_json_text(ruleset, options.rules); });
    return ExitCode::kSuccess;
  }
  using mllog::rules::Warnings;
  const JudgingOptions judging{wanted,
                               options.werror ? Warnings::kAreErrors : Warnings::kAllowed,
                               {options.threads, options.standard_input}};
  const CheckReport report = check_logs(options.paths, book, judging);
  if (options.json != kStandardOutput) refuse_to_overwrite_logs(options.json, report);
  write(
      options, out, people, [&] { write_check_text(out, report, options.quiet); },
      [&] { return check_json_text(report); });
  write_for_others(options, people, report);
  return verdict(report, people);
}

}  // namespace analysis
