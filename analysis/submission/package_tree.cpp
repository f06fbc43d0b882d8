// A tree of submissions: which folders hold the runs of which system and benchmark.
#include "analysis/submission/package_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <system_error>

#include "analysis/find_logs.h"
#include "analysis/submission/package_facts.h"
#include "analysis/submission/package_rules.h"
#include "analysis/systems.h"

namespace analysis::submission {
namespace {

namespace fs = std::filesystem;
using Paths = std::vector<fs::path>;

/// Submissions lie at most this many folders below the root.
constexpr int kDeepestSubmission = 2;

bool is_folder(const fs::path& path) {
  std::error_code failed;
  return fs::is_directory(path, failed);
}

std::string name(const fs::path& path) { return path.filename().string(); }

/// Whether the layout allows the file next to results; tools leave such files there.
bool is_known_file(const std::string& file) {
  constexpr std::array kKnown = {"package_checker_params", "scaling.json", "rcp_checker.log"};
  return std::find(kKnown.begin(), kKnown.end(), file) != kKnown.end() ||
         file.starts_with("compliance_");
}

class PackageTreeReader {
 public:
  explicit PackageTreeReader(PackageTree& tree) : tree_(tree) {}
  void find_submissions(const fs::path& folder, int depth);

 private:
  void add_finding(const fs::path& path, const char* rule, const std::string& text) {
    tree_.findings.push_back({tree_.name_of(path), package_finding(rule, text)});
  }
  Paths entries(const fs::path& folder);
  void read_submission(const fs::path& folder);
  void read_systems(Submission& submission);
  void read_system(Submission& submission, const fs::path& folder);
  void read_scaling_folder(Submission& submission, const fs::path& folder);
  void read_benchmark(Submission& submission, const fs::path& folder, Scaling scaling);
  void read_set(BenchmarkFolder& set);
  void judge_benchmark_name(const fs::path& folder);
  void judge_side_folder(const BenchmarkFolder& set, const fs::path& entry);

  PackageTree& tree_;
};

Paths PackageTreeReader::entries(const fs::path& folder) {
  std::string problem;
  Paths found = entries_of(folder, problem);
  if (!problem.empty()) {
    tree_.findings.push_back(
        {tree_.name_of(folder), {Severity::kError, 0, 0, problem, "package.unreadable"}});
  }
  return found;
}

void PackageTreeReader::find_submissions(const fs::path& folder, int depth) {
  if (is_folder(folder / "results") || is_folder(folder / "systems")) {
    read_submission(folder);
    return;
  }
  if (depth == kDeepestSubmission) return;
  for (const fs::path& entry : entries(folder)) {
    std::error_code failed;
    const bool is_link = fs::is_symlink(entry, failed);
    if (is_folder(entry) && !is_link && !name(entry).starts_with('.')) {
      find_submissions(entry, depth + 1);
    }
  }
}

void PackageTreeReader::read_submission(const fs::path& folder) {
  Submission submission{folder, tree_.name_of(folder), {}, {}, {}};
  read_systems(submission);
  if (!is_folder(folder / "benchmarks")) {
    add_finding(folder, "package.no-benchmarks", "no folder benchmarks/ with the source code");
  }
  if (!is_folder(folder / "results")) {
    add_finding(folder, "package.no-results", "expected a folder results/, found none");
  } else {
    for (const fs::path& entry : entries(folder / "results")) {
      if (is_folder(entry)) {
        submission.system_folders.push_back(entry);
        read_system(submission, entry);
      } else {
        add_finding(entry, "package.stray-entry", "expected only folders of systems in results/");
      }
    }
  }
  if (is_folder(folder / "results") && submission.benchmarks.empty()) {
    add_finding(folder / "results", "package.nothing-judged",
                "expected results of a benchmark of the round, found none");
  }
  tree_.submissions.push_back(std::move(submission));
}

void PackageTreeReader::read_systems(Submission& submission) {
  const fs::path folder = submission.path / "systems";
  if (!is_folder(folder)) return;  // reported as a missing description of each system
  for (const fs::path& entry : entries(folder)) {
    if (entry.extension() == ".json") submission.descriptions.push_back(entry);
  }
}

void PackageTreeReader::read_system(Submission& submission, const fs::path& folder) {
  for (const fs::path& entry : entries(folder)) {
    if (!is_folder(entry)) {
      if (!is_known_file(name(entry))) {
        add_finding(entry, "package.stray-entry",
                    "expected only folders and package_checker_params in the folder of a system");
      }
    } else if (tree_.round.has_scaling_folders()) {
      read_scaling_folder(submission, entry);
    } else {
      read_benchmark(submission, entry, Scaling::kNone);
    }
  }
}

void PackageTreeReader::read_scaling_folder(Submission& submission, const fs::path& folder) {
  if (name(folder) != "strong" && name(folder) != "weak") {
    add_finding(folder, "package.scaling-folder",
                "expected strong or weak between system and benchmark");
    return;
  }
  const Scaling scaling = name(folder) == "weak" ? Scaling::kWeak : Scaling::kStrong;
  for (const fs::path& entry : entries(folder)) {
    if (is_folder(entry)) {
      read_benchmark(submission, entry, scaling);
    } else {
      add_finding(entry, "package.stray-entry", "expected only folders of benchmarks here");
    }
  }
}

void PackageTreeReader::judge_benchmark_name(const fs::path& folder) {
  const PackageRound& round = tree_.round;
  std::string list;
  for (const std::string& known : benchmarks_of_round(round.usage, round.round)) {
    list += (list.empty() ? "" : ", ") + known;
  }
  add_finding(folder, "package.unknown-benchmark",
              fmt::format("no benchmark of {} {}, so left out; those are {}", round.usage,
                          round.round, list));
}

void PackageTreeReader::read_benchmark(Submission& submission, const fs::path& folder,
                                       Scaling scaling) {
  const PackageRound& round = tree_.round;
  const std::vector<std::string> allowed = benchmarks_of_round(round.usage, round.round);
  if (!allowed.empty() && std::ranges::find(allowed, name(folder)) == allowed.end()) {
    judge_benchmark_name(folder);
    return;
  }
  const fs::path system =
      scaling == Scaling::kNone ? folder.parent_path() : folder.parent_path().parent_path();
  BenchmarkFolder set{folder, tree_.name_of(folder), name(system), name(folder), scaling, {}};
  read_set(set);
  submission.benchmarks.push_back(std::move(set));
}

void PackageTreeReader::read_set(BenchmarkFolder& set) {
  for (const fs::path& entry : entries(set.path)) {
    if (is_folder(entry)) {
      judge_side_folder(set, entry);
    } else if (is_result(entry)) {
      set.results.push_back(entry);
    } else if (!is_known_file(name(entry))) {
      add_finding(entry, "package.stray-entry",
                  "neither a result nor known beside results: are results meant to be named "
                  "result_<number>.txt?");
    }
  }
}

void PackageTreeReader::judge_side_folder(const BenchmarkFolder& set, const fs::path& entry) {
  if (counts_for_a_set(entry)) {
    add_finding(entry, "package.stray-entry", "no folder that is known beside results");
  } else if (name(entry) == "pruned_results" && set.scaling != Scaling::kWeak) {
    add_finding(entry, "package.pruned-results",
                "only throughput runs (weak/) may have pruned results");
  }
}

}  // namespace

bool PackageRound::at_least(const std::string& other) const { return at_least_round(round, other); }

bool PackageRound::has_scaling_folders() const { return usage == "hpc" && at_least("1.0"); }

std::string PackageTree::name_of(const fs::path& path) const {
  const fs::path relative = path.lexically_relative(root);
  return relative.empty() ? path.generic_string() : relative.generic_string();
}

std::vector<fs::path> entries_of(const fs::path& folder, std::string& problem) {
  Paths found;
  std::error_code failed;
  fs::directory_iterator entry(folder, failed);
  for (const fs::directory_iterator end; !failed && entry != end; entry.increment(failed)) {
    found.push_back(entry->path());
  }
  if (failed) problem = "cannot be read: " + failed.message();
  std::sort(found.begin(), found.end(), [](const fs::path& one, const fs::path& other) {
    return natural_less(one.filename().string(), other.filename().string());
  });
  return found;
}

PackageTree read_package_tree(const fs::path& root, const PackageRound& round) {
  PackageTree tree;
  tree.root = root.has_filename() ? root : root.parent_path();
  if (tree.root.empty()) tree.root = ".";
  tree.round = round;
  PackageTreeReader(tree).find_submissions(tree.root, 0);
  if (tree.submissions.empty() && tree.findings.empty()) {
    tree.findings.push_back(
        {".", package_finding(
                  "package.no-submission",
                  "expected a submission, a folder with results/ and systems/, found none")});
  }
  return tree;
}

}  // namespace analysis::submission
