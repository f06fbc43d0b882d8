// `trainmark check`.
// Hides files, terminals and what goes where.
#include "analysis/command/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

#include "analysis/command/check_lists.h"
#include "analysis/report/check_report.h"
#include "analysis/report/findings_junit.h"
#include "analysis/report/findings_sarif.h"
#include "analysis/report/judged_files.h"
#include "analysis/report/output_file.h"
#include "analysis/report/write_check.h"
#include "runner/base/printable.h"
#include "runner/base/system_facts.h"

namespace analysis::command {
namespace {

namespace fs = std::filesystem;
using base::ConfigError;
using base::ExitCode;
using mllog::rules::RuleBook;
using mllog::rules::Wanted;
using report::CheckedFile;
using report::CheckReport;
using report::Problem;

constexpr char kStandardOutput[] = "-";

void require_paths(const CheckOptions& options) {
  const bool lists =
      !options.rules.empty() || options.rounds || !options.rcps.empty() || !options.explain.empty();
  if (lists && !options.paths.empty()) {
    throw ConfigError("check: --rules, --rounds, --rcps and --explain take no PATH, got " +
                      options.paths[0]);
  }
  if (!lists && options.paths.empty()) {
    throw ConfigError(
        "check: expected a PATH, --rules BENCHMARK, --rounds, --rcps BENCHMARK or --explain RULE, "
        "got none");
  }
  if (options.submission && options.paths.size() != 1) {
    throw ConfigError(
        fmt::format("check --submission: expected one PATH, got {}", options.paths.size()));
  }
}

void require_consistent(const CheckOptions& options) {
  require_paths(options);
  const std::pair<const char*, bool> given[] = {{"--rcp-era", !options.rcp_era.empty()},
                                                {"--rcp-points", !options.rcp_points.empty()},
                                                {"--custom-rcps", !options.custom_rcps.empty()},
                                                {"--rcp-bypass", options.rcp_bypass}};
  for (const auto& [name, is_given] : given) {
    if (is_given && !options.rcp && !options.submission && options.rcps.empty()) {
      throw ConfigError(fmt::format("check: {} needs --rcp, --rcps or --submission", name));
    }
  }
  if (options.seed_checker_bypass && !options.submission) {
    throw ConfigError("check: --seed-checker-bypass needs --submission");
  }
}

submission::PackageOptions package_options(const CheckOptions& options) {
  submission::PackageOptions package;
  package.custom_points = options.custom_rcps;
  package.seed_checker_bypass = options.seed_checker_bypass;
  package.rcp.bypass = options.rcp_bypass;
  if (options.rcp_points == "all") package.rcp.points = submission::RcpPoints::kAll;
  package.rcp.era = era_of(options).era;
  return package;
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
      report::write_output_file(options.json, json());
      if (!options.quiet) people << "wrote " << base::printable(options.json) << '\n';
    }
  }
  out.flush();
  if (!out) throw base::SystemError("standard output: cannot be written");
}

/// Neither a log nor a file of a submission may become output.
void refuse_to_overwrite(const std::string& output, const CheckOptions& options,
                         const CheckReport& report) {
  if (options.submission) {
    std::error_code failed;
    const fs::path place = fs::weakly_canonical(output, failed);
    const fs::path root = fs::weakly_canonical(options.paths[0], failed);
    const fs::path inside = place.lexically_relative(root);
    if (!inside.empty() && *inside.begin() != "..") {
      throw ConfigError(output + ": lies in the submission that is read");
    }
  }
  for (const CheckedFile& file : report.files) {
    std::error_code failed;
    if (fs::equivalent(output, file.path, failed)) {
      throw ConfigError(output + ": is one of the logs that are read");
    }
  }
}

void write_for_others(const CheckOptions& options, std::ostream& people,
                      const CheckReport& report) {
  const auto write_one = [&](const std::string& path, const std::string& text) {
    refuse_to_overwrite(path, options, report);
    report::write_output_file(path, text);
    if (!options.quiet) people << "wrote " << base::printable(path) << '\n';
  };
  const std::string version = base::build_facts()["version"].get<std::string>();
  if (!options.sarif.empty()) {
    write_one(options.sarif, report::findings_sarif(report::judged_files(report), version));
  }
  if (!options.junit.empty()) {
    write_one(options.junit,
              report::findings_junit(report::judged_files(report), "trainmark check"));
  }
}

bool fails(const CheckReport& report) {
  if (report.submission) return !report.submission->report.passes();
  return report.failed() > 0 ||
         std::any_of(report.sets.begin(), report.sets.end(),
                     [](const report::CheckedSet& set) { return set.rcp && set.rcp->fails(); });
}

/// Whether something that was asked for has no answer.
bool lacks(const CheckReport& report) {
  using submission::RcpOutcome;
  return !report.problems.empty() ||
         std::any_of(report.sets.begin(), report.sets.end(), [](const report::CheckedSet& set) {
           return set.rcp && set.rcp->outcome == RcpOutcome::kNoReferencePoints;
         });
}

ExitCode verdict(const CheckReport& report, std::ostream& people) {
  for (const Problem& problem : report.problems) {
    people << base::printable(problem.path + ": " + problem.text) << '\n';
  }
  if (fails(report)) return ExitCode::kNonCompliant;
  if (report.files.empty()) return ExitCode::kData;
  return lacks(report) ? ExitCode::kIncomplete : ExitCode::kSuccess;
}

CheckReport checked(const CheckOptions& options, const RuleBook& book, const Wanted& wanted) {
  report::JudgingOptions judging;
  judging.wanted = wanted;
  using mllog::rules::Warnings;
  judging.warnings = options.werror ? Warnings::kAreErrors : Warnings::kAllowed;
  judging.reading = {options.threads, options.standard_input};
  judging.test_convergence = options.rcp;
  judging.package = package_options(options);
  if (options.submission) return report::check_submission(options.paths[0], book, judging);
  return report::check_logs(options.paths, book, judging);
}

}  // namespace

ExitCode check(const CheckOptions& options, std::ostream& out, std::ostream& people,
               std::size_t width) {
  require_consistent(options);
  const RuleBook book(options.overlays);
  const Wanted wanted{options.usage, options.round};
  mllog::rules::require_known(book, wanted);
  if (const auto list = listing(options, book, width)) {
    write(
        options, out, people, [&] { out << list->text; }, [&] { return list->json; });
    return ExitCode::kSuccess;
  }
  const CheckReport report = checked(options, book, wanted);
  if (!options.json.empty() && options.json != kStandardOutput) {
    refuse_to_overwrite(options.json, options, report);
  }
  write(
      options, out, people, [&] { report::write_check_text(out, report, options.quiet); },
      [&] { return report::check_json_text(report); });
  write_for_others(options, people, report);
  return verdict(report, people);
}

}  // namespace analysis::command
