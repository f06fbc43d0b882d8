// Checks whether a submission's files are fit for a git repository on GitHub.
#include "analysis/submission/repository_check.h"

#include <fmt/format.h>

#include <system_error>

#include "analysis/find_logs.h"

namespace analysis::submission {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMebibyte = 1u << 20;
constexpr std::uintmax_t kLargestFile = 50 * kMebibyte;
/// The first round for which the official repository checker is run.
constexpr char kRepositoryCheckerSince[] = "2.0";
/// Deeper folders are not checked.
constexpr int kDeepest = 64;

class Walk {
 public:
  Walk(const PackageTree& tree, PackageFindings& findings)
      : tree_(tree),
        findings_(findings),
        broken_(tree.round.at_least(kRepositoryCheckerSince) ? Severity::kError
                                                             : Severity::kWarning) {}

  void check(const fs::path& path, int depth);
  void check_name(const fs::path& path, const std::string& name);

 private:
  void check_folder(const fs::path& folder, int depth);
  void add_finding(const fs::path& path, const char* rule, const std::string& text) {
    findings_.add(broken_, tree_.name_of(path), rule, text);
  }
  const PackageTree& tree_;
  PackageFindings& findings_;
  Severity broken_;
};

void Walk::check_name(const fs::path& path, const std::string& name) {
  if (name.starts_with('.')) {
    add_finding(path, "repo.name", fmt::format("its name '{}' begins with '.'", name));
  } else if (name.find(' ') != std::string::npos) {
    add_finding(path, "repo.name", fmt::format("its name '{}' holds a blank", name));
  }
}

void Walk::check(const fs::path& path, int depth) {
  if (path.filename() == ".git") return;
  check_name(path, path.filename().string());
  std::error_code failed;
  const fs::file_status status = fs::symlink_status(path, failed);
  if (fs::is_symlink(status)) {
    // status() follows the link from the link's own folder; the official checker does not.
    if (!fs::exists(fs::status(path, failed))) {
      add_finding(
          path, "repo.link",
          fmt::format("leads to {}, which is not there", fs::read_symlink(path, failed).string()));
    }
  } else if (fs::is_directory(status)) {
    check_folder(path, depth);
  } else if (fs::is_regular_file(status)) {
    const std::uintmax_t size = fs::file_size(path, failed);
    if (!failed && size > kLargestFile) {
      add_finding(path, "repo.size",
                  fmt::format("{:.1f} MiB, at most {} are allowed",
                              static_cast<double>(size) / static_cast<double>(kMebibyte),
                              kLargestFile / kMebibyte));
    }
  }
}

void Walk::check_folder(const fs::path& folder, int depth) {
  std::string problem;
  if (depth == kDeepest) problem = fmt::format("not looked into: {} folders deep", kDeepest);
  if (problem.empty()) {
    for (const fs::path& entry : entries_of(folder, problem)) check(entry, depth + 1);
  }
  if (!problem.empty()) {
    findings_.add(Severity::kWarning, tree_.name_of(folder), "package.unreadable", problem);
  }
}

}  // namespace

void check_repository(const Submission& submission, const PackageTree& tree,
                      PackageFindings& findings) {
  Walk walk(tree, findings);
  walk.check_name(submission.path, folder_name(submission.path));
  std::string problem;
  for (const fs::path& entry : entries_of(submission.path, problem)) walk.check(entry, 1);
}

}  // namespace analysis::submission
