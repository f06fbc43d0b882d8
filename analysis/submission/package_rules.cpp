// The rules of the package check, each in a sentence.
#include "analysis/submission/package_rules.h"

#include <algorithm>
#include <array>
#include <utility>

#include "runner/base/error.h"

namespace analysis::submission {
namespace {

using mllog::CatalogueRule;
using enum mllog::Finding::Severity;

constexpr std::string_view kPackageChecker = "mlcommons/logging package_checker";
constexpr std::string_view kSeedChecker = "mlcommons/logging package_checker/seed_checker.py";
constexpr std::string_view kPowerChecker = "mlcommons/logging package_checker/power_checker.py";
constexpr std::string_view kSystemChecker = "mlcommons/logging system_desc_checker";
constexpr std::string_view kRepoChecker = "mlcommons/logging repo_checker";
constexpr std::string_view kRcpChecker = "mlcommons/logging rcp_checker";
constexpr std::string_view kSummarizer = "mlcommons/logging result_summarizer";
constexpr std::string_view kPowerPolicy = "mlcommons/training_policies power_measurement";
constexpr std::string_view kPolicies = "mlcommons/training_policies submission_rules";
constexpr std::string_view kHpcRules = "mlcommons/training_policies hpc_training_rules";
constexpr std::string_view kCorrectDescription =
    "Correct the description; the logs stay as they are.";
constexpr std::string_view kOwn = "this program: published submissions show it";

constexpr std::array kRules = {
    CatalogueRule{
        "package.no-submission", kError,
        "The path is a submission, a folder with results/ and systems/, or holds some at "
        "most two folders down.",
        kPolicies,
        "Name the folder that holds results/ and systems/, or the one above the submissions."},
    CatalogueRule{"package.no-results", kError, "A submission has a folder results/.",
                  kPackageChecker,
                  "Put the logs into results/<system>/<benchmark>/result_<n>.txt; in HPC below "
                  "strong/ or weak/."},
    CatalogueRule{"package.nothing-judged", kError,
                  "A submission has results of at least one benchmark of the round.", kOwn,
                  "Name the folders of benchmarks as the round does: check --rounds lists them."},
    CatalogueRule{
        "package.no-benchmarks", kNote,
        "A submission has its source code in benchmarks/; a note, since no tool reads it.",
        kPolicies, "Add benchmarks/<benchmark>/ with the code that was run."},
    CatalogueRule{
        "package.scaling-folder", kError,
        "In HPC since 1.0 only the folders strong and weak are allowed between system and "
        "benchmark; the official checker stops at another.",
        kPackageChecker,
        "Move the benchmark's folder into strong/ (time to train) or weak/ (throughput)."},
    CatalogueRule{
        "package.unknown-benchmark", kWarning,
        "A benchmark's folder is named as a benchmark of the round; others are left out.",
        kPackageChecker,
        "Rename the folder as the round names the benchmark, or move it out of results/."},
    CatalogueRule{"package.other-benchmark", kWarning,
                  "The logs' submission_benchmark is the name of the folder they lie in.", kOwn,
                  "Move the logs to the folder of their benchmark."},
    CatalogueRule{
        "package.stray-entry", kWarning,
        "Next to results are only package_checker_params, scaling.json, compliance_* and "
        "rcp_checker.log, and the folders logs, raw_logs, power and pruned_results.",
        kPackageChecker,
        "Move it out of the folder of results, perhaps to the system's code in benchmarks/."},
    CatalogueRule{"package.pruned-results", kWarning,
                  "Only throughput runs (weak/) have pruned_results; no tool reads those logs.",
                  kHpcRules,
                  "Remove the folder, or move the results to weak/ if they are throughput runs."},
    CatalogueRule{"package.unreadable", std::nullopt, "Every file and folder can be read.", kOwn,
                  "Mend its permissions, or put a file where a folder or a broken link stands."},
    CatalogueRule{"package.repeated-member", kWarning,
                  "No object of a system description or of scaling.json has a member twice; the "
                  "last one counts, as in the official tools.",
                  kOwn, "Remove the member that is wrong."},
    CatalogueRule{
        "package.file-count", kError,
        "A folder holds as many result_*.txt as its benchmark requires; of throughput runs "
        "at least as many.",
        kPackageChecker,
        "Add the runs that are missing; of too many, keep some that were not chosen by "
        "their results."},
    CatalogueRule{
        "package.failing-runs", kError,
        "At most one run of a folder, of unet3d four, breaks the round's rules or lacks its "
        "power.",
        kPackageChecker,
        "Look at what each log breaks, and repeat the set if the runs themselves were wrong."},
    CatalogueRule{
        "package.dropped-run", kWarning,
        "One run that fails, of unet3d up to four, is tolerated: it counts as the slowest, "
        "which olympic scoring drops.",
        kPackageChecker,
        "Nothing needs to be done; the score is that of the other runs and the slot of the "
        "slowest."},
    CatalogueRule{
        "package.not-judged", kWarning,
        "Seeds and convergence are checked, which takes a description that tells the division.",
        kOwn, "Give systems/<system>.json a division."},
    CatalogueRule{
        "params.bypass", kWarning,
        "An option of package_checker_params is in force: rcp-bypass, seed-checker-bypass. "
        "Blanks and line ends around it do not matter (the official checker ignores an "
        "option that ends with a newline).",
        kPackageChecker, "Remove the line unless the review agreed to it."},
    CatalogueRule{
        "params.misplaced", kWarning,
        "package_checker_params lies in results/<system> or in a folder of a benchmark; no "
        "tool reads it elsewhere.",
        kPackageChecker, "Move it into results/<system>/ or into the folder of the benchmark."},
    CatalogueRule{"params.unknown-option", kWarning,
                  "package_checker_params holds nothing but rcp-bypass and seed-checker-bypass.",
                  kPackageChecker,
                  "Spell the option rcp-bypass or seed-checker-bypass, or remove the line."},
    CatalogueRule{
        "seed.missing", std::nullopt,
        "Every log of the closed division since 1.0 has a record seed.", kSeedChecker,
        "Log the seed that the run used, with file and lineno of the statement that sets it."},
    CatalogueRule{"seed.no-integer", std::nullopt,
                  "The value of seed is an integer, or text that is one.", kSeedChecker,
                  "Log the seed as an integer."},
    CatalogueRule{"seed.no-place", std::nullopt, "seed has metadata file and lineno.", kSeedChecker,
                  "Log metadata file and lineno with the seed."},
    CatalogueRule{"seed.unreadable", std::nullopt,
                  "A log whose seeds are compared has no malformed record.", kSeedChecker,
                  "Mend the log's writer, so that no other output goes into its lines."},
    CatalogueRule{"seed.repeated", std::nullopt,
                  "The triple of file, lineno and seed occurs once in the logs of a folder.",
                  kSeedChecker, "Repeat the runs with seeds of their own."},
    CatalogueRule{"seed.several", kNote, "A log with several seeds is reported.", kSeedChecker,
                  "Make sure that each seed of the log differs from those of the other runs."},
    CatalogueRule{
        "seed.identical-instances", kWarning,
        "Throughput runs of equal seeds count once, the others belong into pruned_results.",
        kHpcRules, "Move all but one of the runs with that seed to pruned_results/."},
    CatalogueRule{
        "throughput.scale", kWarning,
        "S <= T <= M S: the system of the description is no smaller than an instance and no "
        "larger than all instances, pruned ones too, at once.",
        kHpcRules, "Correct number_of_nodes in the description, or add the logs of all instances."},
    CatalogueRule{"seed.same-in-other-folder", kNote,
                  "A seed of this log, with the same file and line, is also in a log of another "
                  "system: allowed, but copied logs look the same.",
                  kOwn, "Make sure that the logs were not copied from one folder to the other."},
    CatalogueRule{"system.missing", kError, "Every system of results/ has systems/<system>.json.",
                  kPackageChecker,
                  "Add systems/<system>.json; its name is that of the folder in results/."},
    CatalogueRule{"system.unreadable", kError, "A system description is a JSON object.",
                  kSystemChecker, "Write it as one JSON object."},
    CatalogueRule{"system.field-missing", std::nullopt, "It has the 33 required fields.",
                  kSystemChecker, "Add the field; an empty text or N/A where it does not apply."},
    CatalogueRule{"system.field-unknown", std::nullopt,
                  "Other fields are allowed; a warning if one has nearly the name of a required "
                  "field that is missing.",
                  kOwn, "Spell the field as the rules do."},
    CatalogueRule{"system.field-empty", kWarning,
                  "Fields that name or count the system are not empty.", kOwn,
                  "Fill the field in."},
    CatalogueRule{"system.field-type", kWarning, "Counts are whole numbers, the rest is text.",
                  kOwn, "Write counts as whole numbers in quotes, everything else as text."},
    CatalogueRule{"system.not-text", kNote,
                  "Numbers that are not quoted stop the official checker with a traceback.",
                  kSystemChecker, "Put the number in quotes."},
    CatalogueRule{"system.division", kWarning,
                  "division is closed or open. Closed with a capital is taken for open by the "
                  "official checker; here its seeds and convergence are checked, as warnings.",
                  kPackageChecker, "Write closed or open."},
    CatalogueRule{"system.status", std::nullopt,
                  "In training since 4.0 status is one of four phrases, letter by letter.",
                  kSystemChecker, "Take one of the phrases that the finding lists."},
    CatalogueRule{"system.unused", kNote, "A description belongs to a folder of results.", kOwn,
                  "Remove it, or name it as the folder in results/."},
    CatalogueRule{"system.folder-submitter", kWarning,
                  "The submission's folder is named as the submitter of its descriptions.",
                  kPolicies,
                  "Name the submitter alike in the description, the folder and the logs."},
    CatalogueRule{"system.log-submitter", kWarning,
                  "The logs' submission_org is the submitter of the description.", kOwn,
                  "Name the submitter alike in the description, the folder and the logs."},
    CatalogueRule{
        "system.log-division", kWarning, "The logs name the division of the description.", kOwn,
        "Correct the description, or move the results to a system of the logs' division."},
    CatalogueRule{"system.log-status", kWarning, "The logs name the status of the description.",
                  kOwn, kCorrectDescription},
    CatalogueRule{"system.log-nodes", kWarning,
                  "The logs' number_of_nodes is the description's; in throughput runs no larger.",
                  kOwn, kCorrectDescription},
    CatalogueRule{"system.log-accelerators", kWarning,
                  "The logs' accelerators_per_node is the description's.", kOwn,
                  kCorrectDescription},
    CatalogueRule{
        "scaling.unreadable", kError,
        "scaling.json is an object with a number scaling_factor; the official summarizer "
        "stops at another.",
        kSummarizer,
        "Write {\"scaling_factor\": NUMBER}, or remove the file and let --write-scaling make it."},
    CatalogueRule{"scaling.factor", kWarning, "The factor is at least 1.", kRcpChecker,
                  "Remove the file unless the review set it."},
    CatalogueRule{"scaling.weak", kWarning, "Throughput is not scaled.", kSummarizer,
                  "Remove the file."},
    CatalogueRule{"scaling.differs", kWarning,
                  "scaling.json holds the factor that the RCP test gives; the official checker "
                  "overwrites it.",
                  kRcpChecker,
                  "Where there is no file, --write-scaling makes it; else remove it first, unless "
                  "the review set it."},
    CatalogueRule{"rcp.failed", std::nullopt,
                  "In the closed division since 1.0 the runs converge no faster than the reference "
                  "can by chance (p > 0.05).",
                  kRcpChecker, "The finding tells what would be needed to pass."},
    CatalogueRule{"rcp.passed", std::nullopt,
                  "The RCP test passed, perhaps by rcp-bypass, with these figures.", kRcpChecker,
                  "Nothing needs to be done."},
    CatalogueRule{"rcp.no-points", kNote,
                  "This program knows no reference points of the benchmark in this round.", kOwn,
                  "Give points of your own with --custom-rcps, or submit them with the results."},
    CatalogueRule{"rcp.odd-record", kWarning,
                  "The official RCP checker takes figures from any record that mentions "
                  "eval_accuracy, eval_error or global_batch_size.",
                  kRcpChecker, "Keep these words out of other records' keys, values and metadata."},
    CatalogueRule{"power.missing", std::nullopt,
                  "If there is power/, it has a folder for each run.", kPowerChecker,
                  "Add power/result_<n>/ for each result_<n>.txt, or remove power/."},
    CatalogueRule{"power.names", std::nullopt,
                  "Its files are numbered node_0 to node_n, sw_0 to sw_n.", kPowerChecker,
                  "Number the files from 0 without gaps."},
    CatalogueRule{"power.count", std::nullopt, "Every run has as many nodes and switches as most.",
                  kPowerChecker, "Add the files of the nodes and switches that are missing."},
    CatalogueRule{"power.stray-file", kWarning, "Its files are named node_<number> or sw_<number>.",
                  kPowerChecker, "Move it out of power/."},
    CatalogueRule{
        "power.log", std::nullopt,
        "The log of a node has one power_measurement_start, power_reading in watts, one "
        "power_measurement_stop and conversion_eff above 0 and at most 1; that of a switch has "
        "conversion_eff and interconnect_power_est in watts; no record is damaged. Without a stop "
        "the last reading is the end, without a factor it is 1, and damaged records are left out, "
        "as the official summarizer has it; what else is missing leaves no energy.",
        kSummarizer, "Mend the log's writer; the finding names the record."},
    CatalogueRule{
        "power.sampling", kWarning,
        "From start to stop a node's power is read at least once a second, on average over "
        "the intervals between readings.",
        kPowerPolicy, "Set the meter to at least one reading a second."},
    CatalogueRule{"power.samples", kWarning,
                  "From start to stop a node's power is read at least 60 times; runs that are "
                  "shorter go on training until it is.",
                  kPowerPolicy, "Let short runs train on until the meter has 60 readings."},
    CatalogueRule{"repo.name", std::nullopt, "Names do not begin with '.' and hold no blank.",
                  kRepoChecker, "Rename it."},
    CatalogueRule{"repo.size", std::nullopt, "Files are no larger than 50 MiB.", kRepoChecker,
                  "Compress it, or leave it out."},
    CatalogueRule{
        "repo.link", std::nullopt,
        "The target of a link exists, seen from the link's folder (the official checker looks "
        "from the folder it was started in).",
        kRepoChecker,
        "Make the link relative to its own folder, and its target a part of the submission."},
};

}  // namespace

std::span<const CatalogueRule> package_rules() { return kRules; }

mllog::Finding package_finding(std::string_view rule, std::string text, std::int64_t line,
                               std::int64_t column) {
  const auto* const found = std::ranges::find(kRules, rule, &CatalogueRule::id);
  if (found == kRules.end() || !found->severity) {
    throw base::Error(base::ExitCode::kInternal,
                      std::string(rule) + ": no rule of packages with one severity");
  }
  return {*found->severity, line, column, std::move(text), std::string(rule)};
}

}  // namespace analysis::submission
