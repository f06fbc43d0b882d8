// Verdicts and findings by file, for SARIF and JUnit.
#include "analysis/findings/judged_files.h"

#include <map>
#include <set>
#include <utility>

#include "analysis/find_logs.h"
#include "analysis/findings/run_groups.h"

namespace analysis {
namespace {

/// Files in the order of their first use.
class Files {
 public:
  JudgedFile& of(const std::string& name, const std::string& path) {
    const auto [place, is_new] = places_.emplace(name, files_.size());
    if (is_new) files_.push_back({path, Verdict::kSuccess, "", {}});
    return files_[place->second];
  }
  std::vector<JudgedFile> take() && { return std::move(files_); }

 private:
  std::vector<JudgedFile> files_;
  std::map<std::string, std::size_t> places_;
};

/// The names of failing logs that are forgiven.
std::set<std::string> forgiven_in(const CheckedSubmission& submission) {
  std::set<std::string> names;
  for (const submission::PackageSet& set : submission.report.sets) {
    if (!set.forgives_failing_runs) continue;
    for (const std::string& run : set.failing_runs) names.insert(set.name + "/" + run);
  }
  return names;
}

void add_groups(const CheckReport& report, Files& files) {
  for (const RunGroup& group : *report.groups) {
    if (!group.is_invalid()) continue;
    const auto folder = folder_of(report.files[group.files.front()].path);
    files.of(group.name, folder.generic_string()).verdict = Verdict::kFail;
  }
}

void add_submission(const CheckedSubmission& submission, Files& files) {
  for (const submission::PackageFinding& found : submission.report.findings) {
    const auto path = found.path == "." ? submission.path : submission.path / found.path;
    JudgedFile& file = files.of(found.path, path.generic_string());
    if (found.finding.severity == Finding::Severity::kError) file.verdict = Verdict::kFail;
    file.findings.push_back(found.finding);
  }
}

}  // namespace

std::vector<JudgedFile> judged_files(const CheckReport& report) {
  Files files;
  const std::set<std::string> forgiven =
      report.submission ? forgiven_in(*report.submission) : std::set<std::string>();
  for (const CheckedFile& log : report.files) {
    JudgedFile& file = files.of(log.name, log.path.generic_string());
    const bool is_forgiven =
        forgiven.contains(log.name) || (log.verdict == Verdict::kFail && is_of_group(report, log));
    file.verdict = is_forgiven ? Verdict::kSuccess : log.verdict;
    file.unknown_because = log.unknown_because;
    for (const auto& found : log.judgement.findings) file.findings.push_back(found.finding);
    file.findings.insert(file.findings.end(), log.audit.begin(), log.audit.end());
  }
  for (const CheckedSet& set : report.sets) {
    if (set.audit.empty() && !set.rcp) continue;
    JudgedFile& folder = files.of(set.name, set.path.generic_string());
    folder.findings.insert(folder.findings.end(), set.audit.begin(), set.audit.end());
    if (!set.rcp) continue;
    if (set.rcp->fails()) folder.verdict = Verdict::kFail;
    folder.findings.push_back(submission::finding_of(*set.rcp));
  }
  if (report.groups) add_groups(report, files);
  if (report.submission) add_submission(*report.submission, files);
  for (const Problem& problem : report.problems) {
    JudgedFile& file = files.of(problem.path, problem.path);
    file.verdict = Verdict::kFail;
    file.findings.push_back({Finding::Severity::kError, 0, 0, problem.text, "log/unreadable"});
  }
  return std::move(files).take();
}

}  // namespace analysis
