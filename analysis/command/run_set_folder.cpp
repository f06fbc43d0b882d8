// A folder of runs that becomes a folder of a package.
#include "analysis/command/run_set_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/find_logs.h"
#include "analysis/side_files.h"
#include "analysis/submission/package_tree.h"
#include "analysis/systems.h"
#include "runner/base/json_text.h"
#include "runner/base/printable.h"
#include "runner/mllog/keys.h"

namespace analysis::command {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// Folder into which a runner moves the files of interrupted runs that it restarts.
constexpr char kCutOff[] = "cut_off";
/// Members of a configuration that may differ between runs of one set.
constexpr const char* kOfEachRun[] = {"/seed",           "/results",        "/checkpoint",
                                      "/hang_timeout_s", "/lost_timeout_s", "/staging/directory"};

/// The JSON object in the file; empty if the file is absent, or damaged, which adds a problem.
json object_at(const fs::path& path, std::vector<std::string>& problems) {
  std::error_code failed;
  if (!fs::exists(path, failed)) return json::object();
  std::string problem;
  const auto text = read_side_text(path, problem);
  json object = text ? side_object(*text, problem) : json::object();
  if (!problem.empty()) problems.push_back(fmt::format("{}: {}", path.generic_string(), problem));
  return object;
}

std::string text_at(const json& object, const char* pointer) {
  const json::json_pointer at(pointer);
  if (!object.contains(at) || !object.at(at).is_string()) return "";
  return object.at(at).get<std::string>();
}

/// result_3.txt -> result_3<ending>
fs::path beside(const fs::path& log, const char* ending) {
  fs::path path = log;
  return path.replace_extension(ending);
}

void read_summary(RunSetFolder& folder) {
  folder.is_together =
      text_at(object_at(folder.path / "set.json", folder.problems), "/mode") == "together";
  const json summary = object_at(folder.path / "set_summary.json", folder.problems);
  const auto pruned = summary.find("pruned");
  if (pruned == summary.end() || !pruned->is_array()) return;
  for (const json& number : *pruned) {
    if (number.is_number_integer())
      folder.pruned.insert(fmt::format("result_{}.txt", base::json_line(number)));
  }
}

bool is_result_folder(const fs::path& folder) {
  return folder.filename() != kCutOff && counts_for_a_set(folder);
}

}  // namespace

std::vector<RunSetFolder> run_set_folders(const CheckReport& logs) {
  std::map<std::string, RunSetFolder> folders;
  for (const CheckedFile& file : logs.files) {
    const fs::path path = folder_of(file.path);
    if (!is_result_folder(full_path(file.path).parent_path())) continue;
    RunSetFolder& folder = folders[fs::weakly_canonical(path).generic_string()];
    folder.path = path;
    folder.runs.push_back(&file);
  }
  std::vector<RunSetFolder> all;
  for (auto& [name, folder] : folders) {
    read_summary(folder);
    std::sort(folder.runs.begin(), folder.runs.end(), [](const auto* one, const auto* other) {
      return natural_less(one->path.filename().string(), other->path.filename().string());
    });
    all.push_back(std::move(folder));
  }
  return all;
}

std::optional<json> config_of(const fs::path& log, std::string& problem) {
  const fs::path path = beside(log, ".config.json");
  std::error_code failed;
  if (!fs::exists(path, failed)) return std::nullopt;
  std::vector<std::string> problems;
  json config = object_at(path, problems);
  if (!problems.empty()) {
    problem = problems.front();
    return std::nullopt;
  }
  for (const char* key : kOfEachRun) {
    const json::json_pointer at(key);
    if (config.contains(at)) config.at(at.parent_pointer()).erase(at.back());
  }
  return config;
}

std::string names_of(const std::vector<const CheckedFile*>& runs) {
  std::string names;
  for (const CheckedFile* run : runs) {
    names += (names.empty() ? "" : ", ") + run->path.filename().string();
  }
  return names;
}

std::string config_name_of(const CheckedFile& run) {
  const std::string logged =
      run.facts ? to_text(run.facts->config_value(mllog::keys::kConfigFilename)) : "";
  const bool is_name = logged.ends_with(".json") && fs::path(logged).filename() == logged &&
                       base::printable(logged) == logged;
  return is_name ? logged : "config.json";
}

std::string revision_of(const fs::path& log) {
  std::vector<std::string> problems;
  return text_at(object_at(beside(log, ".telemetry.json"), problems), "/provenance/build/revision");
}

std::vector<std::string> left_out_between(const RunSetFolder& folder) {
  std::vector<std::string> names;
  if (folder.runs.empty()) return names;
  const std::string first = folder.runs.front()->path.filename().string();
  const std::string last = folder.runs.back()->path.filename().string();
  std::string problem;
  for (const fs::path& entry : submission::entries_of(folder.path, problem)) {
    const std::string name = entry.filename().string();
    const bool is_between = natural_less(first, name) && natural_less(name, last);
    const bool is_taken = std::any_of(folder.runs.begin(), folder.runs.end(), [&](const auto* run) {
      return run->path.filename().string() == name;
    });
    if (is_result(entry) && is_between && !is_taken) names.push_back(name);
  }
  return names;
}

}  // namespace analysis::command
