// The check of a submission.
#include "analysis/submission/package_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <system_error>

#include "analysis/find_logs.h"
#include "analysis/numbers.h"
#include "analysis/side_files.h"
#include "analysis/statistics.h"
#include "analysis/submission/package_facts.h"
#include "analysis/submission/power_check.h"
#include "analysis/submission/repository_check.h"
#include "analysis/submission/seed_check.h"
#include "analysis/submission/system_description.h"
#include "analysis/submission/throughput_check.h"
#include "analysis/systems.h"

namespace analysis::submission {
namespace {

namespace fs = std::filesystem;

constexpr char kParams[] = "package_checker_params";
/// Seeds and convergence are checked from this round on.
constexpr char kSeedsAndConvergenceSince[] = "1.0";
/// Score factors are written to at least this precision.
constexpr double kFactorTolerance = 1e-4;

/// The checks that package_checker_params or the command line switch off.
struct Bypasses {
  bool rcp = false, seeds = false;
};

class SubmissionCheck {
 public:
  SubmissionCheck(const Submission& submission, const PackageTree& tree,
                  const PackageOptions& options, const ReadPackageLog& read, PackageReport& report)
      : submission_(submission), tree_(tree), options_(options), read_(read), report_(report) {}

  std::vector<PackageFinding> findings() &&;

 private:
  void check_descriptions();
  void check_folder(const BenchmarkFolder& folder);
  PackageRuns read_runs(const BenchmarkFolder& folder);
  Bypasses read_params(const fs::path& folder, Bypasses inherited);
  void count_files(const BenchmarkFolder& folder, PackageSet& set);
  void count_failures(const PackageRuns& runs, PackageSet& set);
  void check_randomness(const PackageRuns& runs, const PackageSet& set, Severity severity);
  void check_convergence(const PackageRuns& runs, PackageSet& set, Severity severity);
  void check_scaling(const BenchmarkFolder& folder, PackageSet& set);
  std::vector<std::string> counting_runs(const PackageRuns& runs, const PackageSet& set) const;
  /// `counting`: the files whose mean is the score.
  void measure_time(const PackageRuns& runs, const std::vector<std::string>& counting,
                    PackageSet& set);
  void measure_energy(const PackageRuns& runs, const std::vector<std::string>& counting,
                      PackageSet& set);
  std::optional<double> scaling_factor(const BenchmarkFolder& folder, const fs::path& path);
  const SystemDescription* description_of(const BenchmarkFolder& folder);

  const Submission& submission_;
  const PackageTree& tree_;
  const PackageOptions& options_;
  const ReadPackageLog& read_;
  PackageReport& report_;
  PackageFindings findings_;
  std::map<std::string, std::optional<SystemDescription>> descriptions_;  ///< by stem
  std::map<std::string, Bypasses> system_bypasses_;                       ///< by system
  SeedsOfFolders seeds_;
};

std::vector<PackageFinding> SubmissionCheck::findings() && {
  check_descriptions();
  for (const fs::path& folder : submission_.system_folders) {
    const Bypasses given{options_.rcp.bypass, options_.seed_checker_bypass};
    system_bypasses_[folder.filename().string()] = read_params(folder, given);
  }
  const fs::path misplaced = submission_.path / kParams;
  std::error_code failed;
  if (fs::exists(misplaced, failed)) {
    findings_.add(tree_.name_of(misplaced), "params.misplaced",
                  "has no effect here, expected in results/<system> or a folder of a benchmark");
  }
  for (const BenchmarkFolder& folder : submission_.benchmarks) check_folder(folder);
  check_repository(submission_, tree_, findings_);
  return std::move(findings_).take();
}

void SubmissionCheck::check_descriptions() {
  std::set<std::string> used;
  for (const fs::path& folder : submission_.system_folders) used.insert(folder.filename().string());
  for (const fs::path& path : submission_.descriptions) {
    const std::string name = tree_.name_of(path);
    const std::string system = path.stem().string();
    descriptions_[system] = check_description_file(path, name, tree_.round, findings_);
    const std::string folder = folder_name(submission_.path);
    if (descriptions_[system] && is_other_organisation(descriptions_[system]->submitter, folder)) {
      findings_.add(name, "system.folder-submitter",
                    fmt::format("the submitter is {}, but the submission's folder is named {}",
                                descriptions_[system]->submitter, folder));
    }
    if (!used.contains(system)) {
      findings_.add(name, "system.unused", "no folder of results for this system");
    }
  }
  for (const fs::path& folder : submission_.system_folders) {
    const std::string system = folder.filename().string();
    if (descriptions_.contains(system)) continue;
    findings_.add(tree_.name_of(folder), "system.missing",
                  fmt::format("expected its description systems/{}.json, found none", system));
  }
}

const SystemDescription* SubmissionCheck::description_of(const BenchmarkFolder& folder) {
  const auto found = descriptions_.find(folder.system);
  if (found == descriptions_.end() || !found->second) return nullptr;
  return &*found->second;
}

void SubmissionCheck::check_folder(const BenchmarkFolder& folder) {
  PackageSet set;
  set.name = folder.name;
  set.system = folder.system;
  set.benchmark = folder.benchmark;
  set.scaling = folder.scaling;
  set.runs = static_cast<std::int64_t>(folder.results.size());
  set.runs_required =
      submission::runs_required(tree_.round.usage, tree_.round.round, folder.benchmark);
  const Bypasses bypasses = read_params(folder.path, system_bypasses_[folder.system]);
  set.bypasses_rcp = bypasses.rcp;
  set.bypasses_seeds = bypasses.seeds;

  count_files(folder, set);
  const PackageRuns runs = read_runs(folder);
  count_failures(runs, set);
  const SystemDescription* const description = description_of(folder);
  if (description) compare_with_logs(*description, runs, findings_);
  if (tree_.round.at_least(kSeedsAndConvergenceSince) && description &&
      description->is_meant_closed()) {
    const Severity severity = description->is_closed() ? Severity::kError : Severity::kWarning;
    check_randomness(runs, set, severity);
    check_convergence(runs, set, severity);
  }
  if (tree_.round.at_least(kSeedsAndConvergenceSince) && !description) {
    findings_.add(set.name, "package.not-judged",
                  "seeds and convergence are not checked: no description tells the division");
  }
  if (set.scaling == Scaling::kWeak) check_throughput(runs, description, findings_);
  check_scaling(folder, set);
  const std::vector<std::string> counting = counting_runs(runs, set);
  measure_time(runs, counting, set);
  measure_energy(runs, counting, set);
  report_.sets.push_back(std::move(set));
}

PackageRuns SubmissionCheck::read_runs(const BenchmarkFolder& folder) {
  PackageRuns runs{&folder, {}};
  for (const fs::path& path : folder.results) {
    PackageRun run{path.filename().string(), tree_.name_of(path), read_(path)};
    run.log.rcp.name = run.file;
    if (!run.log.unreadable.empty()) {
      findings_.add(Severity::kError, run.name, "package.unreadable", run.log.unreadable);
    }
    runs.runs.push_back(std::move(run));
  }
  return runs;
}

Bypasses SubmissionCheck::read_params(const fs::path& folder, Bypasses inherited) {
  const fs::path path = folder / kParams;
  std::error_code failed;
  if (!fs::exists(path, failed)) return inherited;
  const std::string name = tree_.name_of(path);
  std::string problem;
  const std::optional<std::string> text = read_side_text(path, problem);
  if (!text) findings_.add(Severity::kError, name, "package.unreadable", problem);
  std::int64_t number = 0;
  for (std::size_t begin = 0; text && begin < text->size();) {
    const std::size_t end = std::min(text->find('\n', begin), text->size());
    std::string line = text->substr(begin, end - begin);
    line.erase(0, line.find_first_not_of(" \t\r"));
    line.erase(line.find_last_not_of(" \t\r") + 1);
    begin = end + 1;
    ++number;
    if (line.empty()) continue;
    const bool is_known = line == "rcp-bypass" || line == "seed-checker-bypass";
    inherited.rcp = inherited.rcp || line == "rcp-bypass";
    inherited.seeds = inherited.seeds || line == "seed-checker-bypass";
    findings_.add(name, is_known ? "params.bypass" : "params.unknown-option",
                  is_known
                      ? fmt::format("{} is in force here", line)
                      : fmt::format("expected rcp-bypass or seed-checker-bypass, found '{}'", line),
                  number);
  }
  return inherited;
}

void SubmissionCheck::count_files(const BenchmarkFolder& folder, PackageSet& set) {
  if (!set.runs_required) return;
  const std::int64_t required = *set.runs_required;
  const bool is_weak = folder.scaling == Scaling::kWeak;
  if (is_weak ? set.runs >= required : set.runs == required) return;
  findings_.add(folder.name, "package.file-count",
                fmt::format("expected {}{} files result_*.txt, found {}",
                            is_weak ? "at least " : "", required, set.runs));
}

void SubmissionCheck::count_failures(const PackageRuns& runs, PackageSet& set) {
  std::set<std::string> failing = runs_without_power(runs, findings_);
  for (const PackageRun& run : runs.runs) {
    if (!run.log.complies) failing.insert(run.file);
  }
  set.failing_runs.assign(failing.begin(), failing.end());
  if (failing.empty()) return;
  const std::size_t most = dropped_each_end(set.benchmark);
  const bool is_tolerated = failing.size() <= most;
  set.forgives_failing_runs = is_tolerated;
  findings_.add(set.name, is_tolerated ? "package.dropped-run" : "package.failing-runs",
                is_tolerated
                    ? fmt::format("{}: fails and counts as the slowest run, which is dropped",
                                  fmt::join(failing, ", "))
                    : fmt::format("{} runs fail, at most {} may: {}", failing.size(), most,
                                  fmt::join(failing, ", ")));
}

void SubmissionCheck::check_randomness(const PackageRuns& runs, const PackageSet& set,
                                       Severity severity) {
  check_seeds(runs, set.bypasses_seeds ? Severity::kWarning : severity, findings_);
  seeds_.check(runs, findings_);
}

void SubmissionCheck::check_convergence(const PackageRuns& runs, PackageSet& set,
                                        Severity severity) {
  std::vector<RcpRun> rcp_runs;
  for (const PackageRun& run : runs.runs) {
    rcp_runs.push_back(run.log.rcp);
    for (const mllog::Finding& finding : run.log.rcp.findings) {
      findings_.add(run.name, finding);
    }
  }
  const std::string logged = rcp_runs.empty() ? "" : rcp_runs.front().benchmark;
  if (!logged.empty() && logged != set.benchmark) {
    findings_.add(set.name, "package.other-benchmark",
                  fmt::format("the logs are of {}, which decides the RCP test", logged));
  }
  const std::string benchmark = logged.empty() ? set.benchmark : logged;
  RcpOptions options = options_.rcp;
  options.bypass = set.bypasses_rcp;
  const PackageRound& round = tree_.round;
  const auto points = points_of(round.usage, round.round, benchmark, options_.custom_points);
  set.rcp = test_convergence(rcp_runs, points, options);
  // Without points (minigo) there is no test that the runs could fail.
  findings_.add(set.name, finding_of(*set.rcp, points ? severity : Severity::kWarning));
}

std::optional<double> SubmissionCheck::scaling_factor(const BenchmarkFolder& folder,
                                                      const fs::path& path) {
  const std::string name = tree_.name_of(path);
  std::string problem;
  const std::optional<std::string> text = read_side_text(path, problem);
  const std::optional<double> factor = text ? read_scaling_factor(*text, problem) : std::nullopt;
  if (!factor) {
    findings_.add(name, "scaling.unreadable", problem);
  } else {
    for (const std::string& member : repeated_members(*text)) {
      findings_.add(name, "package.repeated-member", member);
    }
  }
  if (factor && !(*factor >= 1.0)) {
    findings_.add(name, "scaling.factor",
                  fmt::format("scaling_factor: expected at least 1, found {}{}", *factor,
                              *factor > 0.0 ? "" : ", which is not applied"));
    if (!(*factor > 0.0)) return std::nullopt;
  }
  if (folder.scaling == Scaling::kWeak) {
    findings_.add(name, "scaling.weak",
                  "throughput has no scaling factor: this file changes nothing");
    return std::nullopt;
  }
  return factor;
}

void SubmissionCheck::check_scaling(const BenchmarkFolder& folder, PackageSet& set) {
  const fs::path path = folder.path / kScalingFile;
  std::error_code failed;
  const bool is_there = fs::exists(path, failed);
  if (is_there) set.scaling_factor = scaling_factor(folder, path);
  if (!set.rcp || folder.scaling == Scaling::kWeak || (is_there && !set.scaling_factor)) return;
  // If the test failed, the committee may have set a factor of its own.
  if (!set.rcp->passed || set.rcp->bypassed) return;
  const double found = set.scaling_factor.value_or(1.0);
  const double expected = set.rcp->normalization;
  if (std::abs(found - expected) <= kFactorTolerance) return;
  set.missing_factor = expected;
  findings_.add(set.name, "scaling.differs",
                is_there
                    ? fmt::format("scaling.json says {:.6f}, the RCP test {:.6f}", found, expected)
                    : fmt::format("no scaling.json, but the RCP test scales by {:.6f}", expected));
}

/// The files whose mean is the score; empty for throughput, as instances that train at the same
/// time have no mean.
std::vector<std::string> SubmissionCheck::counting_runs(const PackageRuns& runs,
                                                        const PackageSet& set) const {
  if (set.scaling == Scaling::kWeak) return {};
  std::vector<TimedRun> valid;
  for (const PackageRun& run : runs.runs) {
    const auto& failing = set.failing_runs;
    if (std::find(failing.begin(), failing.end(), run.file) == failing.end()) {
      valid.push_back({run.file, run.log.time_to_train_s});
    }
  }
  return olympic_runs(valid, set.failing_runs.size(), dropped_each_end(set.benchmark));
}

void SubmissionCheck::measure_time(const PackageRuns& runs,
                                   const std::vector<std::string>& counting, PackageSet& set) {
  if (set.runs != set.runs_required) return;
  std::vector<double> times;
  for (const PackageRun& run : runs.runs) {
    if (std::find(counting.begin(), counting.end(), run.file) == counting.end()) continue;
    times.push_back(run.log.time_to_train_s.value_or(0.0));  // olympic_runs() requires it
  }
  if (!times.empty()) set.time_to_train_s = mean_of(times);
}

void SubmissionCheck::measure_energy(const PackageRuns& runs,
                                     const std::vector<std::string>& counting, PackageSet& set) {
  std::vector<TimedRun> all;
  for (const PackageRun& run : runs.runs) all.push_back({run.file, run.log.time_to_train_s});
  set.energy = energy_of(runs.folder->path, all, counting, set.scaling_factor.value_or(1.0));
  if (!set.energy) return;
  for (const RunEnergy& run : set.energy->runs) {
    const std::string folder = set.name + "/" + run.folder;
    for (const mllog::Finding& finding : run.findings) findings_.add(folder, finding);
    for (const NamedPowerLog& one : run.logs) {
      for (const mllog::Finding& finding : one.log.findings) {
        findings_.add(folder + "/" + one.file, finding);
      }
    }
  }
}

}  // namespace

double PackageSet::score_factor() const {
  if (scaling_factor) return *scaling_factor;
  return rcp ? rcp->score_factor() : 1.0;
}

std::optional<double> PackageSet::raw_score_min() const { return minutes_of(time_to_train_s); }

std::optional<double> PackageSet::score_min() const {
  const std::optional<double> raw = raw_score_min();
  if (!raw) return std::nullopt;
  return *raw * score_factor();
}

bool PackageReport::passes() const {
  return std::none_of(findings.begin(), findings.end(), [](const PackageFinding& one) {
    return one.finding.severity == Severity::kError;
  });
}

PackageReport check_package(const PackageTree& tree, const PackageOptions& options,
                            const ReadPackageLog& read) {
  PackageReport report;
  PackageFindings findings;
  findings.add_all(tree.findings);
  for (const Submission& submission : tree.submissions) {
    findings.add_all(SubmissionCheck(submission, tree, options, read, report).findings());
  }
  report.findings = std::move(findings).take();
  return report;
}

}  // namespace analysis::submission
