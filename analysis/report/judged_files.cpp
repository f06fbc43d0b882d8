// Verdicts and findings by file, for the formats of other programs.
// Hides that logs, folders and submissions are judged apart.
#include "analysis/report/judged_files.h"

#include <map>
#include <set>
#include <utility>

namespace analysis::report {
namespace {

/// Files in the order in which they are named first.
class Files {
 public:
  JudgedFile& of(const std::string& name) {
    const auto [place, is_new] = places_.emplace(name, files_.size());
    if (is_new) files_.push_back({name, true, {}});
    return files_[place->second];
  }
  /// A log's verdict never depends on what is added.
  void add(const std::string& name, const Finding& finding, bool is_log) {
    JudgedFile& file = of(name);
    if (!is_log && finding.severity == Finding::Severity::kError) file.passed = false;
    file.findings.push_back(finding);
  }
  std::vector<JudgedFile> take() && { return std::move(files_); }

 private:
  std::vector<JudgedFile> files_;
  std::map<std::string, std::size_t> places_;
};

}  // namespace

std::vector<JudgedFile> judged_files(const CheckReport& report) {
  Files files;
  for (const CheckedFile& file : report.files) {
    files.of(file.name).passed = file.judgement.passes;
    for (const auto& found : file.judgement.findings) files.add(file.name, found.finding, true);
    for (const Finding& finding : file.audit) files.add(file.name, finding, true);
  }
  std::set<std::string> logs;
  for (const CheckedFile& file : report.files) logs.insert(file.name);
  for (const CheckedSet& set : report.sets) {
    for (const Finding& finding : set.audit) files.add(set.name, finding, false);
    if (set.rcp) files.add(set.name, submission::finding_of(*set.rcp), false);
  }
  if (!report.submission) return std::move(files).take();
  for (const auto& found : report.submission->report.findings) {
    files.add(found.path, found.finding, logs.contains(found.path));
  }
  return std::move(files).take();
}

}  // namespace analysis::report
