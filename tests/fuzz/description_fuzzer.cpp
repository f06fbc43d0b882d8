// Arbitrary bytes as the description of a system, for each kind of round: findings, never an
// exception; and as the entry.json of the first round. The first byte selects the round.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "analysis/entry_file.h"
#include "analysis/side_files.h"
#include "analysis/submission/system_description.h"
#include "tests/fuzz/memory_file.h"

namespace {

void read_entry(const std::string& text) {
  std::string problem;
  const nlohmann::json entry = analysis::side_object(text, problem);
  const auto system = analysis::read_entry(entry, "v0.5.0/demo/results/one/entry.json");
  fuzz::require(system.found && system.submitter == "demo");
  fuzz::require(!system.accelerators_per_node || system.nodes ||
                *system.accelerators_per_node == 0);
  if (system.processors_per_node) {
    fuzz::require(*system.processors_per_node >= 0.0 && *system.processors_per_node <= 9999.0);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace submission = analysis::submission;
  if (size == 0) return 0;
  const submission::PackageRound rounds[] = {
      {"training", "0.7"}, {"training", "4.0"}, {"hpc", "0.7"}, {"hpc", "3.0"}};
  const submission::PackageRound& round = rounds[data[0] % 4];
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  submission::PackageFindings findings;
  const auto description = submission::check_description(text, "demo.json", round, findings);
  if (description) {
    const submission::BenchmarkFolder folder;
    submission::PackageRuns runs{&folder, {}};
    runs.runs.push_back({"result_0.txt", "demo/result_0.txt", {}});
    runs.runs[0].log.number_of_nodes = 4.0;
    runs.runs[0].log.division = "closed";
    submission::compare_with_logs(*description, runs, findings);
  }
  const auto found = std::move(findings).take();
  fuzz::require(description.has_value() || !found.empty());
  for (const auto& one : found) fuzz::require(!one.finding.rule.empty());
  read_entry(text);
  return 0;
}
