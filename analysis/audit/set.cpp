// Audit of a set of runs: number of runs, seeds, settings, and the system's description.
#include "analysis/audit/set.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "analysis/audit/parts.h"
#include "runner/mllog/keys.h"

namespace analysis {
namespace {

namespace keys = mllog::keys;

/// Fewer runs are not a set.
constexpr std::int64_t kFewestRuns = 3;

/// The values of a key in the logs, each with the first log that has it.
std::map<std::string, std::string> values_of(const std::vector<SetMember>& members,
                                             const std::string& key) {
  std::map<std::string, std::string> values;
  for (const SetMember& member : members) {
    const std::string text = to_exact_text(member.facts->config_value(key));
    if (!text.empty()) values.emplace(text, member.file_name);
  }
  return values;
}

std::string with_files(const std::map<std::string, std::string>& values) {
  constexpr std::size_t kShown = 3;
  std::string text;
  std::size_t told = 0;
  for (const auto& [value, file] : values) {
    if (told++ == kShown) return text + ", ...";
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", value, file);
  }
  return text;
}

std::string letters_of(const std::string& name) {
  std::string letters;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte)) letters += static_cast<char>(std::tolower(byte));
  }
  return letters;
}

class SetAudit {
 public:
  SetAudit(const SystemFacts& system, const std::vector<SetMember>& members,
           const DescribedSystem& description)
      : system_(system), members_(members), description_(description) {}

  void judge_runs();
  void judge_settings();
  void judge_seeds();
  void judge_description();
  std::vector<Finding> findings() && { return std::move(findings_).take(); }

 private:
  void add_finding(Rule rule, std::string text) {
    findings_.add_finding(rule, {}, std::move(text));
  }
  void compare_number(Rule rule, const char* key, const std::optional<double>& described);

  const SystemFacts& system_;
  const std::vector<SetMember>& members_;
  const DescribedSystem& description_;
  AuditFindings findings_;
};

void SetAudit::judge_runs() {
  const auto runs = static_cast<double>(system_.runs);
  if (!description_.path.empty() && system_.runs_required) {
    const double required = *system_.runs_required;
    if (runs < required || (runs > required && !system_.weak)) {
      add_finding(Rule::kRunCount,
                  fmt::format("runs: {}, expected {}{} of {}", system_.runs,
                              system_.weak ? "at least " : "", required, system_.benchmark));
    }
  }
  const auto failed = std::count_if(members_.begin(), members_.end(), [](const SetMember& member) {
    const Outcome outcome = member.facts->outcome;
    return outcome != Outcome::kSuccess && outcome != Outcome::kNoRecords &&
           outcome != Outcome::kTargetUnknown;
  });
  const auto most = static_cast<std::int64_t>(dropped_each_end(system_.benchmark));
  if (!system_.weak && failed > most && system_.runs >= kFewestRuns) {
    add_finding(Rule::kTooManyFailed,
                fmt::format("{} of {} runs failed, expected at most {}: no score", failed,
                            system_.runs, most));
  }
}

void SetAudit::judge_settings() {
  const auto benchmarks = values_of(members_, keys::kSubmissionBenchmark);
  if (benchmarks.size() > 1) {
    add_finding(Rule::kBenchmarksDiffer, "logs of different benchmarks: " + with_files(benchmarks));
  }
  const auto batches = values_of(members_, keys::kGlobalBatchSize);
  if (batches.size() > 1) {
    add_finding(Rule::kBatchSizesDiffer, "different global batch sizes: " + with_files(batches));
  }
}

void SetAudit::judge_seeds() {
  std::map<std::string, std::vector<std::string>> files;
  for (const SetMember& member : members_) {
    const std::string seed = to_exact_text(member.facts->config_value(keys::kSeed));
    if (!seed.empty()) files[seed].push_back(member.file_name);
  }
  std::size_t repeated = 0;
  std::string first;
  for (const auto& [seed, names] : files) {
    if (names.size() < 2) continue;
    if (repeated == 0) first = fmt::format("{} in {} and {}", seed, names[0], names[1]);
    repeated += names.size() - 1;
  }
  if (repeated == 0) return;
  add_finding(Rule::kSeedRepeated,
              fmt::format("{} runs repeat the seed of another one: first {}", repeated, first));
}

void SetAudit::compare_number(Rule rule, const char* key, const std::optional<double>& described) {
  if (!described) return;
  for (const SetMember& member : members_) {
    const std::optional<double> logged = number(member.facts->config_value(key));
    if (!logged || *logged == *described) continue;
    add_finding(rule, fmt::format("{} is {} in {}, {} in {}", key, *logged, member.file_name,
                                  *described, description_.path.filename().string()));
    return;
  }
}

void SetAudit::judge_description() {
  if (description_.path.empty()) return;
  if (!description_.found) {
    add_finding(Rule::kSystemDescriptionMissing,
                "no " + description_.path.string() + ": compute units are not known");
    return;
  }
  const std::string file = description_.path.filename().string();
  for (const auto& [division, log] : values_of(members_, keys::kSubmissionDivision)) {
    const bool same = letters_of(division) == letters_of(description_.division);
    if (same || description_.division.empty()) continue;
    add_finding(Rule::kSystemDivisionDiffers,
                fmt::format("{} is {} in {}, {} in {}", keys::kSubmissionDivision, division, log,
                            description_.division, file));
  }
  for (const auto& [org, log] : values_of(members_, keys::kSubmissionOrg)) {
    if (!is_other_organisation(org, description_.submitter)) continue;
    add_finding(Rule::kSystemSubmitterDiffers,
                fmt::format("{} is {} in {}, the submitter {} in {}", keys::kSubmissionOrg, org,
                            log, description_.submitter, file));
    break;
  }
  // Instances trained at the same time log their own nodes, or those of the whole machine.
  if (!system_.weak) {
    compare_number(Rule::kSystemNodesDiffer, keys::kNumberOfNodes, description_.nodes);
  }
  compare_number(Rule::kSystemAcceleratorsDiffer, keys::kAcceleratorsPerNode,
                 description_.accelerators_per_node);
}

}  // namespace

std::vector<Finding> audit_set(const SystemFacts& system, const std::vector<SetMember>& members,
                               const DescribedSystem& description) {
  SetAudit audit(system, members, description);
  audit.judge_runs();
  audit.judge_settings();
  audit.judge_seeds();
  audit.judge_description();
  return std::move(audit).findings();
}

}  // namespace analysis
