// `trainmark package`.
#include "analysis/command/package.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <iterator>
#include <nlohmann/json.hpp>
#include <ostream>
#include <system_error>

#include "analysis/command/outputs.h"
#include "analysis/command/package_plan.h"
#include "analysis/command/scaling_files.h"
#include "analysis/findings/check_logs.h"
#include "analysis/report/json/check.h"
#include "runner/base/error.h"
#include "runner/base/exclusive_file.h"
#include "runner/base/input_file.h"
#include "runner/base/json_text.h"
#include "runner/base/make_folder.h"
#include "runner/base/printable.h"
#include "runner/base/replaced_file.h"

namespace analysis::command {
namespace {

namespace fs = std::filesystem;
using base::ConfigError;
using base::ExitCode;
using base::SystemError;
using mllog::rules::RuleBook;
using nlohmann::json;

/// A temporary folder in `parent`, which may be /tmp: a new one that is this user's alone, under a
/// name that nobody can foresee. The destructor removes what was not moved elsewhere, and those
/// folders above that were created for it and are still empty.
class Workshop {
 public:
  explicit Workshop(const fs::path& parent)
      : root_(parent / fmt::format(".trainmark-package-{}", base::unique_token())) {
    std::error_code failed;
    for (fs::path above = parent; !above.empty() && !fs::exists(above, failed);
         above = above.parent_path()) {
      made_.push_back(above);
    }
    if (!parent.empty()) base::make_folder(parent.string());
    constexpr mode_t kPrivate = 0700;
    if (::mkdir(root_.c_str(), kPrivate) == 0) return;
    throw base::system_error(root_.generic_string() + ": cannot be created", errno);
  }
  ~Workshop() {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
    for (const fs::path& folder : made_) fs::remove(folder, ignored);  // fails if not empty
  }
  Workshop(const Workshop&) = delete;
  Workshop& operator=(const Workshop&) = delete;
  const fs::path& root() const { return root_; }

 private:
  fs::path root_;
  std::vector<fs::path> made_;  ///< innermost first
};

[[noreturn]] void fail(const fs::path& path, const char* what, const std::error_code& error) {
  throw SystemError(fmt::format("{}: {}: {}", path.generic_string(), what, error.message()));
}

void copy_log(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::copy_file(from, to, error);
  if (error) fail(from, fmt::format("cannot be copied to {}", to.generic_string()).c_str(), error);
}

std::string bytes_of(const fs::path& path) {
  base::InputFile in(path.string());
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// Throws ConfigError if the package has the file already, unless it has the same bytes as the
/// source, as a shared system description has.
void require_new(const fs::path& package, const PlannedFile& file) {
  const fs::path path = package / file.target;
  if (!fs::exists(path)) return;
  const bool is_same = !file.source.empty() && bytes_of(file.source) == bytes_of(path);
  if (is_same) return;
  throw ConfigError(fmt::format("{}: is there already, and differs; --add puts in what is new",
                                path.generic_string()));
}

void build(const PackagePlan& plan, const fs::path& folder) {
  for (const PlannedFile& file : plan.files) {
    const fs::path path = folder / file.target;
    if (fs::exists(path)) continue;
    base::make_folder(path.parent_path().string());
    if (file.source.empty()) {
      base::write_file(path.string(), file.text);
    } else {
      copy_log(file.source, path);
    }
  }
}

/// Moves the built folder of the submitter to `place`, and the folder that was there, if any, into
/// the workshop. Moves the latter back on failure.
void appear(const fs::path& built, const fs::path& place, const fs::path& workshop) {
  std::error_code error;
  const fs::path before = workshop / "before";
  if (fs::exists(place)) fs::rename(place, before, error);
  if (error) fail(place, "cannot be replaced", error);
  fs::rename(built, place, error);
  if (!error) return;
  std::error_code ignored;
  if (fs::exists(before)) fs::rename(before, place, ignored);
  fail(place, "cannot be made", error);
}

class Packager {
 public:
  Packager(const PackageCommandOptions& options, std::ostream& out, std::ostream& messages)
      : options_(options), out_(out), people_(messages) {}

  ExitCode go();

 private:
  JudgingOptions judging() const;
  PackageRequest request(const CheckReport& logs) const;
  ExitCode judge_and_build(const RuleBook& book, const CheckReport& logs);
  void judge_tree(const CheckReport& checked, PackagePlan& plan) const;
  void print_outcome(const PackagePlan& plan, const CheckReport* checked, const fs::path& place);
  void say(const std::string& text) const { people_ << base::printable(text) << '\n'; }

  const PackageCommandOptions& options_;
  std::ostream& out_;
  std::ostream& people_;
};

JudgingOptions Packager::judging() const {
  JudgingOptions judging;
  judging.wanted = {"", options_.round};
  judging.reading = {options_.threads, nullptr};
  judging.test_convergence = true;  // collects the seeds of each log
  return judging;
}

PackageRequest Packager::request(const CheckReport& logs) const {
  PackageRequest request;
  request.round = logs.files.front().round;  // options_.round, as for all logs
  request.division = options_.division;
  request.org = options_.org;
  request.system = options_.system;
  request.is_weak = options_.weak;
  request.group_runs = options_.runs;
  return request;
}

ExitCode Packager::go() {
  const RuleBook& book = mllog::rules::embedded_rule_book();
  const JudgingOptions judging = this->judging();
  mllog::rules::require_rules(book, judging.wanted);
  if (options_.org.find_first_not_of(" ./") == std::string::npos || options_.org[0] == '.') {
    throw ConfigError(fmt::format("package: --org: expected a name, got '{}'", options_.org));
  }
  if (!options_.json.empty() && options_.json != kStandardOutput) {
    std::vector<fs::path> read = {options_.results.begin(), options_.results.end()};
    read.emplace_back(options_.system);
    refuse_to_overwrite(options_.json, read);
  }
  const CheckReport logs = check_logs(options_.results, book, judging);
  for (const Problem& problem : logs.problems) say(problem.path + ": " + problem.text);
  if (!logs.problems.empty() || logs.files.empty()) return ExitCode::kData;
  return judge_and_build(book, logs);
}

void Packager::judge_tree(const CheckReport& checked, PackagePlan& plan) const {
  for (const submission::PackageFinding& one : checked.submission->report.findings) {
    const bool fails = one.finding.severity == submission::Severity::kError;
    (fails ? plan.refusals : plan.notes)
        .push_back(fmt::format("{}: {} ({})", one.path, one.finding.text, one.finding.rule));
  }
}

ExitCode Packager::judge_and_build(const RuleBook& book, const CheckReport& logs) {
  PackagePlan plan = plan_package(request(logs), logs);
  const fs::path place = fs::path(options_.output) / plan.folder;
  const bool is_there = fs::exists(place);
  if (is_there && !options_.add) {
    throw ConfigError(
        fmt::format("{}: is there already; --add puts another benchmark or system "
                    "into it, --output names another place",
                    place.generic_string()));
  }
  for (const PlannedFile& file : plan.files) {
    if (is_there) require_new(place, file);
  }
  const Workshop workshop(options_.dry_run ? fs::temp_directory_path() : fs::path(options_.output));
  const fs::path built = workshop.root() / plan.folder;
  if (is_there) {
    std::error_code error;
    fs::copy(place, built, fs::copy_options::recursive | fs::copy_options::copy_symlinks, error);
    if (error) fail(place, "cannot be copied", error);
  }
  build(plan, built);
  std::optional<CheckReport> checked;
  if (!plan.sets.empty()) {
    checked = check_submission(workshop.root().string(), book, judging());
    write_files(scaling_files(*checked->submission, people_), people_, true);
    judge_tree(*checked, plan);
  }
  if (plan.refusals.empty() && !options_.dry_run) appear(built, place, workshop.root());
  print_outcome(plan, checked ? &*checked : nullptr, place);
  return plan.refusals.empty() ? ExitCode::kSuccess : ExitCode::kNonCompliant;
}

void Packager::print_outcome(const PackagePlan& plan, const CheckReport* checked,
                             const fs::path& place) {
  const bool is_refused = !plan.refusals.empty();
  const std::string verdict = is_refused ? "refused" : options_.dry_run ? "would pass" : "written";
  json document = {{"schema", 1},         {"package", place.generic_string()},
                   {"verdict", verdict},  {"refusals", plan.refusals},
                   {"notes", plan.notes}, {"files", json::array()}};
  for (const PlannedFile& file : plan.files) {
    document["files"].push_back(
        {{"file", file.target.generic_string()},
         {"from", file.source.empty() ? json() : json(file.source.generic_string())}});
  }
  if (checked) document["check"] = json::parse(report::check_json_text(*checked));
  const std::string text = base::json_text(document, 2);
  const bool has_file = !options_.json.empty() && options_.json != kStandardOutput;
  if (has_file) write_files({{options_.json, text}}, people_, false);
  if (options_.json == kStandardOutput) {
    out_ << text;
  } else {
    for (const PlannedFile& file : plan.files) {
      const std::string from = file.source.empty() ? "" : " <- " + file.source.generic_string();
      out_ << base::printable((place / file.target).generic_string() + from) << '\n';
    }
    out_ << base::printable(fmt::format("package {}: {}", place.generic_string(), verdict)) << '\n';
  }
  end_output(out_);
  for (const std::string& note : plan.notes) say("note: " + note);
  for (const std::string& refusal : plan.refusals) say("refused: " + refusal);
}

}  // namespace

ExitCode package(const PackageCommandOptions& options, std::ostream& out, std::ostream& messages) {
  return Packager(options, out, messages).go();
}

}  // namespace analysis::command
