// The catalogue of audit rules.
#include "analysis/audit_rules.h"

#include <array>
#include <utility>

#include "runner/base/enum_table.h"

namespace analysis {
namespace {

using enum Finding::Severity;

constexpr std::string_view kFormat = "mlcommons/logging, mllog: format of a log line";
constexpr std::string_view kRunResults = "MLPerf training policies, Run Results";
constexpr std::string_view kBenchmarkResults = "MLPerf training policies, Benchmark Results";
constexpr std::string_view kQualityMeasure = "MLPerf training policies, Quality measure";
constexpr std::string_view kRandomNumbers = "MLPerf training policies, Random numbers";
constexpr std::string_view kScoring = "MLPerf training policies, Benchmark Results, Scoring";
constexpr std::string_view kResubmission = "MLPerf training policies, Results Resubmission";
constexpr std::string_view kPublished =
    "seen in published MLPerf results; no official tool reports it";
constexpr std::string_view kOwn = "trainmark: logs and telemetry of its own runs";

constexpr std::array kRules = {
    // what cannot be read
    AuditRule{
        Rule::kMalformedRecord, "malformed-record", kError,
        "A line has the token ':::MLLOG ' but what follows is not a record (a JSON object with "
        "a numeric time_ms and a string key). In logs of Training 0.5 and 0.6, the token "
        "':::MLPv0.5.0 ' or ':::MLL ' and no seconds, key or value.",
        kFormat,
        "Find what wrote the line, or broke into it; the record is lost to every tool, and "
        "MLCommons' checker fails the log or crashes on it."},
    AuditRule{Rule::kSwallowedRecord, "swallowed-record", kError,
              "A record is lost because another one follows on the same line: only the last of a "
              "line is read.",
              "mlcommons/logging, compliance checker: everything up to the last token is cut",
              "Make each write end with a line feed, and let one rank alone write."},
    AuditRule{
        Rule::kLooseRecord, "loose-record", kError,
        "A line of Training 0.5 or 0.6 is not JSON, as names have no quotes or single ones; it "
        "was read all the same.",
        "mlcommons/logging, compliance checker: a line that is not JSON fails the log",
        "Nothing here depends on it; MLCommons' checker fails the log."},
    AuditRule{Rule::kNoRecords, "no-records", kError, "The file holds no MLPerf record at all.",
              kFormat,
              "Check that it is the log of rank 0; the token is ':::MLLOG ' with one blank."},
    AuditRule{Rule::kValueNotFinite, "value-not-finite", kWarning,
              "Records of a key carry NaN or an infinity.",
              "Python's json writes and reads NaN; the JSON standard does not",
              "A loss that is NaN means that training broke down at that point; other readers may "
              "refuse the line."},
    AuditRule{Rule::kMetricNotNumber, "metric-not-a-number", kError,
              "An evaluation's value is not a number.",
              "mlcommons/logging, compliance checker: crashes on it",
              "Log the quality as a JSON number."},
    AuditRule{Rule::kOwnTargetDamaged, "own-target-damaged", kError,
              "The record quality_target has no number, or no direction in its metadata.", kOwn,
              "Log a number, and metadata direction 'rises' or 'falls'."},
    AuditRule{Rule::kStagingFactsDamaged, "staging-facts-damaged", kWarning,
              "The metadata of staging_stop has a figure of another kind or range than those that "
              "this program writes.",
              kOwn, "Nothing in the verdict depends on it; reports leave the figure out."},
    AuditRule{Rule::kMetadataNotObject, "metadata-not-an-object", kNote,
              "Records carry metadata that is not a JSON object, so nothing in it can be read.",
              kFormat, "Log {} where there is nothing to say."},
    AuditRule{Rule::kMemberRepeated, "member-repeated", kWarning,
              "A record has a member twice, such as two values; the last one counts, as in the "
              "official tools.",
              kOwn, "Write each member of a record once."},
    AuditRule{Rule::kEventTypeWrong, "event-type-wrong", kNote,
              "Records of a key have another event_type than the key's name implies.",
              "mlcommons/logging, mllog: start, end and event; no official tool reads it",
              "Nothing here depends on it; use INTERVAL_START for *_start, INTERVAL_END for "
              "*_stop, POINT_IN_TIME for all else."},
    AuditRule{Rule::kEventTypeMissing, "event-type-missing", kNote,
              "Records have no event_type, or none that is known.",
              "mlcommons/logging, mllog: start, end and event; no official tool reads it",
              "Nothing here depends on it; other readers may."},
    // how a run began and ended
    AuditRule{Rule::kRunStartMissing, "run-start-missing", kError,
              "The log has no run_start: the run did not get beyond its initialisation.",
              kRunResults, "The run has no time and fails; see what stopped it."},
    AuditRule{
        Rule::kRunStopMissing, "run-stop-missing", kError,
        "The log has no run_stop: the run was cut off or still runs; its times end with "
        "the log.",
        kBenchmarkResults,
        "`trainmark status` shows whether it still runs. One that was cut off did not converge; "
        "one such run may be dropped as the slowest."},
    AuditRule{Rule::kRunStopBeforeStart, "run-stop-before-start", kError,
              "run_stop is stamped earlier than run_start: the time to train is negative.",
              "mlcommons/logging accepts and scores it",
              "Check the clock; the figures of this log mean nothing."},
    AuditRule{Rule::kRunStopWithoutStatus, "run-stop-without-status", kWarning,
              "run_stop has no metadata.status; whether the run succeeded is judged by its "
              "evaluations.",
              "mlcommons/logging, compliance checker: requires the member, not its value",
              "Log status 'success' or 'aborted'."},
    AuditRule{Rule::kRunStopAborted, "run-stop-aborted", kWarning,
              "run_stop has a status other than 'success': the run did not converge.",
              kBenchmarkResults,
              "One such run may be dropped as the slowest; its time must not enter a mean."},
    AuditRule{Rule::kAbortedYetCounted, "aborted-yet-counted", kError,
              "The status is not 'success' although an evaluation meets the target: MLCommons' "
              "checker passes the log and its summarizer counts the time; here it has failed.",
              "mlcommons/logging, compliance checker: the value of status is never checked",
              "Decide whether the run succeeded, and submit it accordingly."},
    AuditRule{Rule::kRunStopValue, "run-stop-value", kNote,
              "run_stop carries a value; only its metadata.status counts.", kPublished,
              "Log null as the value of an interval's end."},
    AuditRule{Rule::kRunResumed, "run-resumed", kWarning,
              "The run continued from a checkpoint: its log has only a part of it.", kRunResults,
              "Such a run has no time to train and cannot be submitted."},
    AuditRule{Rule::kSuccessBelowTarget, "success-below-target", kError,
              "The run claims success, but no evaluation inside it meets the target.",
              kQualityMeasure, "The run has failed; an average that trusts the status is wrong."},
    AuditRule{Rule::kTargetUnknown, "target-unknown", kNote,
              "Neither the log nor the rules name a quality target, so success cannot be judged.",
              kQualityMeasure, "Check submission_benchmark."},
    AuditRule{Rule::kTargetNotOfRules, "target-not-of-rules", kWarning,
              "A log of the closed division was trained to another target than the rules'.",
              "MLPerf training policies, Benchmarks", "Train to the target of the rules."},
    AuditRule{Rule::kTrainedPastTarget, "trained-past-target", kWarning,
              "The target was met, and the run went on to further evaluations.", kRunResults,
              "The clock may stop at the first evaluation that meets the target; time_to_target_s "
              "is that time."},
    AuditRule{Rule::kLateRunStop, "late-run-stop", kWarning,
              "run_stop comes long after the evaluation that met the target.", kRunResults,
              "See what was done between; it counts in the time to train."},
    AuditRule{Rule::kEvaluationAfterStop, "evaluation-after-stop", kWarning,
              "Evaluations come after run_stop, in the file and in time; they do not count.",
              "mlcommons/logging, compliance checker: counts an evaluation wherever it is",
              "If the run converged only there, it has failed."},
    AuditRule{Rule::kTrainingAfterStop, "training-after-stop", kWarning,
              "Training goes on after run_stop, in the file and in time.", kRunResults,
              "End the run where the clock stops."},
    AuditRule{Rule::kEvaluationAtStop, "evaluation-at-stop", kNote,
              "Evaluations precede run_stop in the file but not in time, or the other way round; "
              "either is enough to count.",
              kPublished, "Log the evaluation first, then run_stop, with one clock."},
    AuditRule{Rule::kTrainingBeforeStart, "training-before-run-start", kWarning,
              "Training begins before run_start.", kRunResults,
              "The clock must start before anything touches the dataset."},
    // clocks
    AuditRule{Rule::kTwoClocks, "two-clocks", kWarning,
              "The log mixes times since 1970 with times of another clock; differences across "
              "them mean nothing.",
              kPublished, "Stamp every record with milliseconds since 1970."},
    AuditRule{Rule::kTimeGoesBack, "time-goes-back", kWarning,
              "Records are stamped more than a second earlier than the one before them in the "
              "file.",
              kPublished,
              "Records of several hosts, or a log put together from several: durations across "
              "the places are not to be trusted."},
    AuditRule{Rule::kTimeZero, "time-zero", kWarning, "Records have a time_ms of 0 or less.",
              kPublished, "Stamp them with the time at which they are written."},
    AuditRule{Rule::kTimeUnit, "time-unit", kError,
              "No record is stamped with milliseconds since 1970: all times are below 1e11 or "
              "above 4e12, so times and rates computed from them are wrong.",
              kFormat, "Stamp every record with milliseconds since 1970."},
    AuditRule{Rule::kInitTooLong, "init-too-long", kWarning,
              "Initialisation took longer than the time that does not count: 30 minutes in the "
              "closed division, 4 hours in the open one.",
              kRunResults, "The clock must start when that time is exceeded."},
    AuditRule{Rule::kInitTimesImpossible, "init-times-impossible", kWarning,
              "The times of init_start and init_stop do not lie before run_start, or are in "
              "the wrong order.",
              kPublished, "The log was put together from several; init_s means nothing."},
    // intervals
    AuditRule{Rule::kIntervalNotStopped, "interval-not-stopped", kNote,
              "An interval starts and never stops; it is taken to end with the run.", kPublished,
              "Log the stop; the time of its kind is too long otherwise."},
    AuditRule{Rule::kIntervalNotStarted, "interval-not-started", kNote,
              "An interval stops that never started; it adds no time.", kPublished,
              "Log the start; the time of its kind is too short otherwise."},
    AuditRule{Rule::kIntervalLabelsDiffer, "interval-labels-differ", kNote,
              "Starts and stops of a kind carry different epoch numbers; they are paired in time "
              "order.",
              kPublished, "Give a stop the number of its start."},
    AuditRule{Rule::kIntervalsOverlap, "intervals-overlap", kNote,
              "Intervals of one kind and different numbers overlap.", kPublished,
              "Each moment counts once; the sum of the intervals would be too long."},
    AuditRule{Rule::kIntervalsCross, "intervals-cross", kNote,
              "Intervals of two kinds cross: one begins inside the other and ends outside.",
              kPublished, "Close the inner interval before the outer one."},
    AuditRule{Rule::kAsyncEvaluation, "evaluation-beside-training", kNote,
              "Evaluations run at the same time as the training of later epochs.", kPublished,
              "Nothing to fix; shares of the run add up to more than all of it, and the time "
              "of training alone is unknown."},
    AuditRule{Rule::kStagingOutsideRun, "staging-outside-run", kNote,
              "Data was staged outside the run, so the time to train leaves it out.",
              "MLPerf HPC training rules, Data State at Start of Run: allowed from v3.0 on",
              "Compare with runs of earlier rounds by ttt_including_staging_s."},
    AuditRule{Rule::kStagingEmpty, "staging-empty", kNote,
              "The log brackets a staging that took next to no time.", kPublished,
              "Do not read it as the cost of moving the data."},
    // evaluations and epochs
    AuditRule{Rule::kEvaluationCadence, "evaluation-cadence", kWarning,
              "Evaluations of a closed run are further apart than the rules allow for the "
              "benchmark, or training went on for longer than that after the last one.",
              "MLPerf training policies, Quality measure; mlcommons/logging issue 79",
              "Evaluate on the schedule; rarer evaluations save time that others spend."},
    AuditRule{
        Rule::kFirstEvaluation, "first-evaluation", kWarning,
        "The first evaluation of a closed run is later than the rules allow: after the first "
        "interval, or after those that the benchmark leaves out.",
        kQualityMeasure,
        "Evaluate where the reference does: a later evaluation saves time that others spend."},
    AuditRule{Rule::kEvaluationFrequent, "evaluation-more-frequent", kNote,
              "A closed run was evaluated more often, or earlier, than the benchmark's schedule "
              "has it.",
              "MLPerf training policies, Quality measure: at least as frequently as the reference",
              "The rules allow it; more evaluations near the end find the target sooner."},
    AuditRule{Rule::kEpochNumberMissing, "epoch-number-missing", kWarning,
              "Records that need an epoch number have none.",
              "mlcommons/logging, compliance checker: metadata.epoch_num",
              "Log metadata.epoch_num (first_epoch_num for blocks)."},
    AuditRule{Rule::kEpochNumberStuck, "epoch-number-stuck", kWarning,
              "Evaluations with different results carry the same epoch number.",
              "mlcommons/logging, compliance checker: passes a log whose epochs are all alike",
              "Number them by the training done so far; convergence cannot be judged otherwise."},
    AuditRule{Rule::kEpochNumberBack, "epoch-number-back", kWarning,
              "An evaluation carries a smaller epoch number than one before it.", kPublished,
              "Check what the numbers count, and whether a checkpoint was reloaded."},
    AuditRule{Rule::kEpochNumberGap, "epoch-number-gap", kNote,
              "Numbers are missing between the first and the last epoch.", kPublished,
              "Epochs are counted by their numbers, so a gap makes the count too small."},
    AuditRule{Rule::kEpochsFromZero, "epochs-from-zero", kNote,
              "Epochs are numbered from 0; the rules number them from 1.",
              "MLPerf training policies, Epoch numbering",
              "The count of epochs here allows for it; convergence points taken from the number "
              "itself are one too small."},
    AuditRule{Rule::kMetricOfAnotherName, "metric-of-another-name", kWarning,
              "The benchmark's metric is never logged, but another one is.",
              "mlcommons/logging issue 162",
              "Log eval_error for CosmoFlow and Open Catalyst, eval_accuracy for the others."},
    AuditRule{Rule::kSecondMetric, "second-metric", kNote,
              "Two metrics are logged; the benchmark's own is judged.", kPublished,
              "Nothing to fix; MLCommons' convergence check may take the other one."},
    AuditRule{Rule::kQualityOutOfRange, "quality-out-of-range", kWarning,
              "An evaluation's value cannot be what its key says.", kQualityMeasure,
              "Log a fraction, not a percentage."},
    // settings
    AuditRule{Rule::kSeedMissing, "seed-missing", kWarning,
              "A log of the closed division has no seed.", kRandomNumbers,
              "Log each seed with key 'seed'; the package checker asks for it."},
    AuditRule{Rule::kSeedNull, "seed-null", kWarning, "A seed is logged as null.", kRandomNumbers,
              "Log the number that the generators were seeded with."},
    AuditRule{Rule::kSeedNotWhole, "seed-not-an-integer", kNote, "A seed is not a JSON integer.",
              kRandomNumbers, "Log it as an integer."},
    AuditRule{Rule::kSeveralSeeds, "several-seeds", kNote, "One log gives several seeds.",
              kRandomNumbers, "The package checker warns of it; one seed is enough."},
    AuditRule{Rule::kPlaceholder, "placeholder", kWarning,
              "A field that should say who ran what holds a placeholder.",
              "seen in published MLPerf results; mlcommons/logging asks only for some text",
              "Identity is better taken from the path and the system's description."},
    AuditRule{Rule::kConflictingValues, "conflicting-values", kWarning,
              "A setting is logged with different values; the first one is used.",
              "mlcommons/logging, compliance checker: fails such a log where a key must be unique",
              "Find out which value the run had."},
    AuditRule{Rule::kRepeatedKeys, "repeated-keys", kNote,
              "Keys that a log should have once occur several times, with the same value.",
              "mlcommons/logging issue 14: a warning there",
              "Let one rank alone write; sums over repeated records count them twice."},
    AuditRule{Rule::kHyperparameter, "hyperparameter-outside-policy", kWarning,
              "A hyperparameter of the closed division has a value that the rules do not allow; "
              "MLCommons' checker does not look at it.",
              "MLPerf training policies and MLPerf HPC training rules, Hyperparameters",
              "Use an allowed value, or submit to the open division."},
    AuditRule{Rule::kSampleCount, "sample-count-unusual", kNote,
              "train_samples or eval_samples is not the size of the benchmark's dataset.",
              "sizes of the datasets in published MLPerf results",
              "Rates and sample counts use the logged number."},
    AuditRule{Rule::kThroughputUnit, "throughput-unit-differs", kNote,
              "The log's own throughput is far from samples/s as computed from its times.",
              kPublished, "Its unit is the submitter's; compare systems by train_throughput."},
    // sets of runs
    AuditRule{Rule::kSideFileDamaged, "side-file-damaged", kWarning,
              "scaling.json or the system's description cannot be read.",
              "MLPerf submission rules, layout of a submission", "Fix the JSON."},
    AuditRule{Rule::kSystemDescriptionMissing, "system-description-missing", kNote,
              "The submission has no systems/<system>.json for this folder of results.",
              "MLPerf submission rules, layout of a submission",
              "Figures per compute unit need it."},
    AuditRule{Rule::kSystemDivisionDiffers, "system-division-differs", kWarning,
              "The logs name another division than the system's description.", kPublished,
              "Settle which division was meant: other rules apply."},
    AuditRule{Rule::kSystemNodesDiffer, "system-nodes-differ", kWarning,
              "The logs name another number of nodes than the system's description.", kPublished,
              "Settle the number: figures per compute unit use the description's."},
    AuditRule{Rule::kSystemAcceleratorsDiffer, "system-accelerators-differ", kWarning,
              "The logs name another number of accelerators per node than the system's "
              "description.",
              kPublished, "Settle the number: figures per compute unit use the description's."},
    AuditRule{Rule::kSystemSubmitterDiffers, "system-submitter-differs", kNote,
              "The logs name another organisation than the system's description.", kPublished,
              "Take the submitter from the description."},
    AuditRule{Rule::kRunCount, "run-count", kWarning,
              "A folder holds another number of runs than the rules ask for.", kBenchmarkResults,
              "Add the missing runs, or take out those that do not count."},
    AuditRule{Rule::kTooManyFailed, "too-many-failed", kError,
              "More than one run of a set failed, of unet3d more than four: there is no score.",
              kBenchmarkResults, "Run the whole set again, or submit a set that converged."},
    AuditRule{Rule::kSeedRepeated, "seed-repeated", kWarning,
              "Runs of a set were started with the same seed.", kRandomNumbers,
              "Runs with one seed are not independent results; instances of one must be pruned."},
    AuditRule{Rule::kRunContinued, "run-continued", kNote,
              "Logs of a set are earlier parts of a run that another log continues.", kRunResults,
              "They count as one run, the last part's; a resumed run has no time to train."},
    AuditRule{Rule::kBatchSizesDiffer, "batch-sizes-differ", kWarning,
              "Runs of a set have different global batch sizes.",
              "MLPerf training policies, Reference Convergence Points",
              "They do not form one benchmark result: put them into separate folders."},
    AuditRule{Rule::kBenchmarksDiffer, "benchmarks-differ", kWarning,
              "Logs of different benchmarks lie in one folder.",
              "MLPerf submission rules, layout of a submission",
              "Put each benchmark into a folder of its own."},
    // several sets of runs
    AuditRule{Rule::kRunRepeated, "run-repeated", kWarning,
              "Logs of one round are of the same run: run_start, run_stop and all evaluations have "
              "equal times, and the evaluations equal results.",
              kBenchmarkResults,
              "A result needs its own runs: remove the copies, or find out where they come from."},
    AuditRule{Rule::kRunResubmitted, "run-resubmitted", kNote,
              "Logs are of runs of an earlier round, whose description of the system is equal: "
              "allowed if the logs pass under the new round's rules.",
              kResubmission, "Tell the review committee before its first meeting."},
    AuditRule{Rule::kResubmissionDiffers, "resubmission-differs", kWarning,
              "Logs are of runs of an earlier round, but the descriptions of the system differ, or "
              "one is missing; resubmitted logs need equal ones.",
              kResubmission, "Take over the earlier description as it is, or run again."},
    AuditRule{
        Rule::kCurveRepeated, "curve-repeated", kWarning,
        "Different runs have the same results at all of at least three evaluations.",
        kRandomNumbers,
        "Runs with different seeds do not: look at the seeds, and whether times were changed."},
    AuditRule{
        Rule::kSeedOfOthers, "seed-of-others", kNote,
        "A run of another submission to the benchmark in this round has the same seed, logged by "
        "the same line of code.",
        kRandomNumbers, "One such run may be chance: many draw from 32,768 seeds."},
    AuditRule{
        Rule::kSeedsOfOthers, "seeds-of-others", kWarning,
        "Two or more runs of a set share seeds, logged by the same line of code, with one set of "
        "another submission to the benchmark in this round.",
        kRandomNumbers, "Draw each seed from a clock or the system's random source."},
    AuditRule{
        Rule::kResultOutlier, "result-outlier", kWarning,
        "A result is far from those of other submissions with as many units of the same model "
        "in the same round, benchmark and division: beyond 3.5 times their spread on the scale "
        "of logarithms. Their spread is 1.4826 times the median distance from their median, "
        "and at least 3 %; each submission counts once, and there are at least four others.",
        kScoring,
        "Look at software, batch size and convergence; the committee may ask for more runs."},
    AuditRule{Rule::kWindowNotMedian, "window-not-median", kWarning,
              "A folder holds N consecutive runs of M, but their score is not the median of all "
              "windows of N, or that median is infinite.",
              kScoring, "Submit the window that check --runs names."},
    AuditRule{Rule::kRunsNotConsecutive, "runs-not-consecutive", kWarning,
              "A folder holds runs of a group of M that were not launched one after another, or "
              "not as many as make a result.",
              kScoring, "Submit the window that check --runs names."},
    AuditRule{
        Rule::kNoWindow, "no-window", kError,
        "With check --runs M: no window of N consecutive runs of the M makes a result, since the "
        "median of their scores is infinite.",
        kScoring, "Find out why runs fail, and run the whole group again."},
    // telemetry
    AuditRule{Rule::kTelemetryDamaged, "telemetry-damaged", kError,
              "The telemetry file of the log cannot be read, or does not add up.", kOwn,
              "The report falls back on the log's own records."},
    AuditRule{Rule::kTelemetryNotCovering, "telemetry-not-covering", kError,
              "The telemetry's account and the log's run have different lengths.", kOwn,
              "See whether both come from the same run."},
    AuditRule{Rule::kTelemetryCostly, "telemetry-costly", kWarning,
              "Measuring took so much of the time that it shows in the figures.", kOwn,
              "Measure fewer scopes, or longer steps."},
};

static_assert(base::is_in_enum_order(kRules, &AuditRule::rule) &&
                  kRules.size() == static_cast<std::size_t>(Rule::kCount),
              "the catalogue holds each rule once, in the enumeration's order");

}  // namespace

std::span<const AuditRule> audit_rules() { return kRules; }

const mllog::CatalogueRule& audit_rule(Rule rule) {
  return kRules[static_cast<std::size_t>(rule)].entry;
}

Finding make_finding(Rule rule, Place place, std::string text) {
  const mllog::CatalogueRule& entry = audit_rule(rule);
  return {*entry.severity, place.line, place.column, std::move(text), std::string(entry.id)};
}

}  // namespace analysis
