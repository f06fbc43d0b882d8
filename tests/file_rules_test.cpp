// Checks how the sources read and write files and JSON: by the calls that are checked and never
// throw a library's words at a user. Also runs on made-up sources, to show that it can fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>

namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string>;
using Sources = std::map<std::string, std::string>;  ///< text by path

Sources sources_below(const Names& folders) {
  Sources sources;
  for (const std::string& folder : folders) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.path().extension() != ".h" && entry.path().extension() != ".cpp") continue;
      std::ifstream file(entry.path());
      sources[entry.path().string()] = {std::istreambuf_iterator<char>(file), {}};
    }
  }
  return sources;
}

const Sources& project() {
  static const Sources all = sources_below({"analysis", "runner", "staging", "workloads"});
  return all;
}

/// The files with one of the `calls`, other than `allowed`. A call ends at its statement's end; one
/// that contains `unless` is allowed anywhere.
Names files_with(const Sources& sources, const Names& calls, const Names& allowed,
                 const std::string& unless = "") {
  Names found;
  for (const auto& [path, text] : sources) {
    for (const std::string& call : calls) {
      for (std::size_t at = text.find(call); at != text.npos; at = text.find(call, at + 1)) {
        const std::string statement = text.substr(at, text.find(';', at) - at);
        const bool is_fine = !unless.empty() && statement.find(unless) != statement.npos;
        if (!is_fine && !allowed.contains(path)) found.insert(path);
      }
    }
  }
  return found;
}

/// nlohmann's dump() throws for bytes that are not UTF-8, as paths may have: json_line() and
/// json_text() of runner/base/json_text.h do not.
Names files_that_dump(const Sources& sources) {
  const Names wants_the_error = {"runner/base/config_file.cpp"};
  return files_with(sources, {".dump("}, wants_the_error, "replace");
}

/// nlohmann's parse() takes the last of two equal keys, nests without a limit, and throws its own
/// words: only for what this program wrote itself, on another rank or a line above, or has just
/// read with parse_strict_json().
Names files_that_parse(const Sources& sources) {
  const Names own_text = {"analysis/command/package.cpp",
                          "analysis/telemetry_file.cpp",
                          "analysis/report/json/report.cpp",
                          "runner/doctor/cluster.cpp",
                          "runner/doctor/command.cpp",
                          "runner/provenance.cpp",
                          "runner/remarks.cpp",
                          "runner/run_trace.cpp",
                          "runner/staging_command.cpp",
                          "runner/telemetry/report_write.cpp",
                          "runner/tune.cpp",
                          "staging/dataset/ilsvrc2012.cpp"};
  return files_with(sources, {"json::parse(", "Json::parse("}, own_text);
}

/// Streams wait for the writer of a pipe and read devices without an end: they are for files of the
/// kernel. All others are read by runner/base/input_file.h.
Names files_that_read_by_streams(const Sources& sources) {
  const Names of_the_kernel = {"runner/base/cgroup.cpp",
                               "runner/base/fact_files.cpp",
                               "runner/base/hardware_files.cpp",
                               "runner/base/process_state.cpp",
                               "runner/base/system_facts.cpp",
                               "runner/dead_segments.cpp",
                               "runner/doctor/busy_processes.cpp",
                               "runner/doctor/host_facts.cpp",
                               "runner/doctor/leftovers.cpp",
                               "runner/launch/local_ranks.cpp",
                               "staging/space.cpp"};
  return files_with(sources, {"ifstream", "fopen("}, of_the_kernel);
}

/// Streams lose the reason of a failed write and follow links. They are for empty marks in folders
/// of this user, and for an archive whose stream is checked piece by piece.
Names files_that_write_by_streams(const Sources& sources) {
  const Names checked = {"staging/staged_folder.cpp", "workloads/images/generate.cpp"};
  return files_with(sources, {"ofstream"}, checked);
}

TEST(FileRules, AreKeptByTheWholeProject) {
  ASSERT_GT(project().size(), 500u) << "not run from the project's root";
  EXPECT_THAT(files_that_dump(project()), testing::IsEmpty());
  EXPECT_THAT(files_that_parse(project()), testing::IsEmpty());
  EXPECT_THAT(files_that_read_by_streams(project()), testing::IsEmpty());
  EXPECT_THAT(files_that_write_by_streams(project()), testing::IsEmpty());
}

TEST(FileRules, FindWhatBreaksThem) {
  const Sources made = {
      {"runner/a.cpp", "text = json.dump(2);"},
      {"runner/b.cpp", "text = json.dump(-1, ' ', true,\n Json::error_handler_t::replace);"},
      {"runner/c.cpp", "auto j = nlohmann::json::parse(text); std::ifstream in(path);"},
      {"runner/d.cpp", "std::ofstream(path) << 1;"},
      {"runner/remarks.cpp", "Json::parse(part);"}};
  EXPECT_THAT(files_that_dump(made), testing::ElementsAre("runner/a.cpp"));
  EXPECT_THAT(files_that_parse(made), testing::ElementsAre("runner/c.cpp"));
  EXPECT_THAT(files_that_read_by_streams(made), testing::ElementsAre("runner/c.cpp"));
  EXPECT_THAT(files_that_write_by_streams(made), testing::ElementsAre("runner/d.cpp"));
}

}  // namespace
