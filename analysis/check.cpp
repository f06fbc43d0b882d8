// `trainmark check`.
// Hides files, terminals and what goes where.
#include "analysis/check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <ostream>

#include "analysis/output_file.h"
#include "analysis/printable.h"
#include "analysis/write_check.h"

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
  const bool lists = !options.rules.empty() || options.rounds;
  if (lists && !options.paths.empty()) {
    throw ConfigError("check: --rules and --rounds list rules and take no PATH, got " +
                      options.paths[0]);
  }
  if (!lists && options.paths.empty()) {
    throw ConfigError("check: expected a PATH, --rules BENCHMARK or --rounds, got none");
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
  return verdict(report, people);
}

}  // namespace analysis
