// Checks the power measurements next to results: power/result_<i>/node_<j>.txt and sw_<k>.txt.
#include "analysis/submission/power_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <system_error>
#include <vector>

namespace analysis::submission {
namespace {

namespace fs = std::filesystem;

/// The number of power logs of one run, by kind.
struct PowerLogCounts {
  const PackageRun* run = nullptr;
  std::map<std::string, std::size_t> files;  ///< "node" or "sw" -> number of files
};

/// The number at the end of a name such as "node_12.txt".
std::optional<std::size_t> number_of(const fs::path& file) {
  const std::string stem = file.stem().string();
  const std::size_t line = stem.rfind('_');
  if (line == std::string::npos) return std::nullopt;
  std::size_t number = 0;
  const char* const end = stem.data() + stem.size();
  const auto [stop, error] = std::from_chars(stem.data() + line + 1, end, number);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

class Check {
 public:
  Check(const PackageRuns& set, PackageFindings& findings) : set_(set), findings_(findings) {}
  std::set<std::string> bad_runs() &&;

 private:
  void check_run(const PackageRun& run);
  bool check_names(const PackageRun& run, const std::vector<fs::path>& files, const char* kind);
  void check_counts(const char* kind);
  void refuse(const PackageRun& run, const char* rule, const std::string& text) {
    bad_.insert(run.file);
    findings_.add(Severity::kWarning, power_name(run), rule, text);
  }
  std::string power_name(const PackageRun& run) const {
    return set_.folder->name + "/power/" + fs::path(run.file).stem().string();
  }

  const PackageRuns& set_;
  PackageFindings& findings_;
  std::vector<PowerLogCounts> measured_;
  std::set<std::string> bad_;
};

std::set<std::string> Check::bad_runs() && {
  for (const PackageRun& run : set_.runs) check_run(run);
  check_counts("node");
  check_counts("sw");
  return std::move(bad_);
}

void Check::check_run(const PackageRun& run) {
  const fs::path folder = set_.folder->path / "power" / fs::path(run.file).stem();
  std::error_code failed;
  if (!fs::is_directory(folder, failed)) {
    refuse(run, "power.missing", "expected a folder with the power measured in " + run.file);
    return;
  }
  std::string problem;
  const std::vector<fs::path> entries = entries_of(folder, problem);
  if (!problem.empty()) refuse(run, "power.missing", problem);
  std::map<std::string, std::vector<fs::path>> by_kind;
  for (const fs::path& entry : entries) {
    const std::string name = entry.filename().string();
    const char* const kind = name.starts_with("node") ? "node" : name.starts_with("sw") ? "sw" : "";
    by_kind[kind].push_back(entry);
  }
  if (!by_kind[""].empty()) {
    findings_.add(power_name(run), "power.stray-file",
                  fmt::format("expected only node_<number> and sw_<number>, found {}",
                              by_kind[""].front().filename().string()));
  }
  PowerLogCounts measured{&run, {}};
  for (const char* const kind : {"node", "sw"}) {
    if (check_names(run, by_kind[kind], kind)) measured.files[kind] = by_kind[kind].size();
  }
  measured_.push_back(std::move(measured));
}

/// Whether the files are numbered 0 to n-1, each once.
bool Check::check_names(const PackageRun& run, const std::vector<fs::path>& files,
                        const char* kind) {
  std::set<std::size_t> numbers;
  for (const fs::path& file : files) {
    const std::optional<std::size_t> number = number_of(file);
    if (number && *number < files.size() && numbers.insert(*number).second) continue;
    refuse(run, "power.names",
           fmt::format("{}: expected {}_0 to {}_{}, each once", file.filename().string(), kind,
                       kind, files.size() - 1));
    return false;
  }
  return true;
}

/// Compares with the number that most runs have; of equally frequent ones, with the first.
void Check::check_counts(const char* kind) {
  std::map<std::size_t, std::size_t> frequency;
  std::size_t usual = 0;
  std::size_t most = 0;
  for (const PowerLogCounts& one : measured_) {
    if (one.files.contains(kind)) ++frequency[one.files.at(kind)];
  }
  for (const PowerLogCounts& one : measured_) {
    if (!one.files.contains(kind) || frequency[one.files.at(kind)] <= most) continue;
    usual = one.files.at(kind);
    most = frequency[usual];
  }
  for (const PowerLogCounts& one : measured_) {
    if (!one.files.contains(kind) || one.files.at(kind) == usual) continue;
    refuse(*one.run, "power.count",
           fmt::format("{} files {}_*, where most runs have {}", one.files.at(kind), kind, usual));
  }
}

}  // namespace

std::set<std::string> runs_without_power(const PackageRuns& set, PackageFindings& findings) {
  std::error_code failed;
  if (!fs::is_directory(set.folder->path / "power", failed)) return {};
  return Check(set, findings).bad_runs();
}

}  // namespace analysis::submission
