// The rules of the package check, each in a sentence.
// Hides nothing.
#include <array>

#include "analysis/submission/package_check.h"

namespace analysis::submission {
namespace {

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
constexpr std::string_view kOwn = "this program: published submissions show it";

constexpr std::array kRules = {
    PackageRule{"package.no-submission",
                "The path is a submission, a folder with results/ and systems/, or holds some at "
                "most two folders down.",
                kPolicies},
    PackageRule{"package.no-results", "A submission has a folder results/.", kPackageChecker},
    PackageRule{"package.nothing-judged",
                "A submission has results of at least one benchmark of the round.", kOwn},
    PackageRule{"package.no-benchmarks",
                "A submission has its source code in benchmarks/; a note, since no tool reads it.",
                kPolicies},
    PackageRule{"package.scaling-folder",
                "In HPC since 1.0 only the folders strong and weak stand between system and "
                "benchmark; the official checker stops at another.",
                kPackageChecker},
    PackageRule{"package.unknown-benchmark",
                "A benchmark's folder is named as a benchmark of the round; others are left out.",
                kPackageChecker},
    PackageRule{"package.other-benchmark",
                "The logs' submission_benchmark is the name of the folder they lie in.", kOwn},
    PackageRule{"package.stray-entry",
                "Beside results stand only package_checker_params, scaling.json, compliance_* and "
                "rcp_checker.log, and the folders logs, raw_logs, power and pruned_results.",
                kPackageChecker},
    PackageRule{"package.pruned-results",
                "Only throughput runs (weak/) have pruned_results; no tool reads those logs.",
                kHpcRules},
    PackageRule{"package.unreadable", "Every file and folder can be read.", kOwn},
    PackageRule{"package.file-count",
                "A folder holds as many result_*.txt as its benchmark requires; of throughput runs "
                "at least as many.",
                kPackageChecker},
    PackageRule{
        "package.failing-runs",
        "At most one run of a folder, of unet3d four, breaks the round's rules or lacks its "
        "power.",
        kPackageChecker},
    PackageRule{"package.dropped-run",
                "One run that fails, of unet3d up to four, is tolerated: it counts as the slowest, "
                "which olympic scoring drops.",
                kPackageChecker},
    PackageRule{
        "package.not-judged",
        "Seeds and convergence are checked, which takes a description that tells the division.",
        kOwn},
    PackageRule{"params.bypass",
                "An option of package_checker_params is in force: rcp-bypass, seed-checker-bypass. "
                "Blanks and line ends around it do not matter (the official checker ignores an "
                "option that ends with a newline).",
                kPackageChecker},
    PackageRule{"params.misplaced",
                "package_checker_params lies in results/<system> or in a folder of a benchmark; no "
                "tool reads it elsewhere.",
                kPackageChecker},
    PackageRule{"params.unknown-option",
                "package_checker_params holds nothing but rcp-bypass and seed-checker-bypass.",
                kPackageChecker},
    PackageRule{"seed.missing", "Every log of the closed division since 1.0 has a record seed.",
                kSeedChecker},
    PackageRule{"seed.no-integer", "The value of seed is an integer, or text that is one.",
                kSeedChecker},
    PackageRule{"seed.no-place", "seed has metadata file and lineno.", kSeedChecker},
    PackageRule{"seed.unreadable", "A log whose seeds are compared has no malformed record.",
                kSeedChecker},
    PackageRule{"seed.repeated",
                "The triple of file, lineno and seed occurs once in the logs of a folder.",
                kSeedChecker},
    PackageRule{"seed.several", "A log with several seeds is told of.", kSeedChecker},
    PackageRule{"seed.identical-instances",
                "Throughput runs of equal seeds count once, the others belong into pruned_results.",
                kHpcRules},
    PackageRule{
        "throughput.scale",
        "S <= T <= M S: the system of the description is no smaller than an instance and no "
        "larger than all instances, pruned ones too, at once.",
        kHpcRules},
    PackageRule{"seed.same-in-other-folder",
                "A seed of this log also stands, with the same file and line, in a log of another "
                "system: allowed, but copied logs look so.",
                kOwn},
    PackageRule{"system.missing", "Every system of results/ has systems/<system>.json.",
                kPackageChecker},
    PackageRule{"system.unreadable", "A system description is a JSON object.", kSystemChecker},
    PackageRule{"system.field-missing", "It has the 33 required fields.", kSystemChecker},
    PackageRule{"system.field-empty", "Fields that name or count the system are not empty.", kOwn},
    PackageRule{"system.field-type", "Counts are whole numbers, the rest is text.", kOwn},
    PackageRule{"system.not-text",
                "Numbers that are not quoted stop the official checker with a traceback.",
                kSystemChecker},
    PackageRule{"system.division",
                "division is closed or open. Closed with a capital is taken for open by the "
                "official checker; here its seeds and convergence are checked, as warnings.",
                kPackageChecker},
    PackageRule{"system.status",
                "In training since 4.0 status is one of four phrases, letter by letter.",
                kSystemChecker},
    PackageRule{"system.unused", "A description belongs to a folder of results.", kOwn},
    PackageRule{"system.log-division", "The logs name the division of the description.", kOwn},
    PackageRule{"system.log-status", "The logs name the status of the description.", kOwn},
    PackageRule{"system.log-nodes",
                "The logs' number_of_nodes is the description's; in throughput runs no larger.",
                kOwn},
    PackageRule{"system.log-accelerators", "The logs' accelerators_per_node is the description's.",
                kOwn},
    PackageRule{"scaling.unreadable",
                "scaling.json is an object with a number scaling_factor; the official summarizer "
                "stops at another.",
                kSummarizer},
    PackageRule{"scaling.factor", "The factor is at least 1.", kRcpChecker},
    PackageRule{"scaling.weak", "Throughput is not scaled.", kSummarizer},
    PackageRule{"scaling.differs",
                "scaling.json holds the factor that the RCP test gives; the official checker "
                "overwrites it.",
                kRcpChecker},
    PackageRule{"rcp.failed",
                "In the closed division since 1.0 the runs converge no faster than the reference "
                "can by chance (p > 0.05).",
                kRcpChecker},
    PackageRule{"rcp.passed", "The RCP test passed, perhaps by rcp-bypass, with these figures.",
                kRcpChecker},
    PackageRule{"rcp.no-points",
                "This program knows no reference points of the benchmark in this round.", kOwn},
    PackageRule{"rcp.odd-record",
                "The official RCP checker takes figures from any record that mentions "
                "eval_accuracy, eval_error or global_batch_size.",
                kRcpChecker},
    PackageRule{"power.missing", "If there is power/, it has a folder for each run.",
                kPowerChecker},
    PackageRule{"power.names", "Its files are numbered node_0 to node_n, sw_0 to sw_n.",
                kPowerChecker},
    PackageRule{"power.count", "Every run has as many nodes and switches as most.", kPowerChecker},
    PackageRule{"power.stray-file", "Its files are named node_<number> or sw_<number>.",
                kPowerChecker},
    PackageRule{
        "power.log",
        "The log of a node has one power_measurement_start, power_reading in watts, one "
        "power_measurement_stop and conversion_eff above 0 and at most 1; that of a switch has "
        "conversion_eff and interconnect_power_est in watts; no record is damaged. Without a stop "
        "the last reading is the end, without a factor it is 1, and damaged records are left out, "
        "as the official summarizer has it; what else is missing leaves no energy.",
        kSummarizer},
    PackageRule{"power.sampling",
                "From start to stop a node's power is read at least once a second, on average over "
                "the intervals between readings.",
                kPowerPolicy},
    PackageRule{"power.samples",
                "From start to stop a node's power is read at least 60 times; runs that are "
                "shorter go on training until it is.",
                kPowerPolicy},
    PackageRule{"repo.name", "Names do not begin with '.' and hold no blank.", kRepoChecker},
    PackageRule{"repo.size", "Files are no larger than 50 MiB.", kRepoChecker},
    PackageRule{"repo.link",
                "Links lead somewhere from the folder they stand in (the official checker looks "
                "from the folder it was started in).",
                kRepoChecker},
};

}  // namespace

std::span<const PackageRule> package_rules() { return kRules; }

}  // namespace analysis::submission
