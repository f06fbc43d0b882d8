// The catalogue of audit rules: the findings that the analysis can report about a log, run or set,
// in addition to a verdict.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "runner/mllog/catalogue_rule.h"

namespace analysis {

using mllog::Finding;

/// Every audit rule. Reports name a rule by its entry's id, so every finding has an entry in the
/// catalogue.
enum class Rule : std::uint8_t {
  // what cannot be read
  kMalformedRecord,
  kSwallowedRecord,
  kLooseRecord,
  kNoRecords,
  kValueNotFinite,
  kMetricNotNumber,
  kOwnTargetDamaged,
  kStagingFactsDamaged,
  kMetadataNotObject,
  kMemberRepeated,
  kEventTypeWrong,
  kEventTypeMissing,
  // how a run began and ended
  kRunStartMissing,
  kRunStopMissing,
  kRunStopBeforeStart,
  kRunStopWithoutStatus,
  kRunStopAborted,
  kAbortedYetCounted,
  kRunStopValue,
  kRunResumed,
  kSuccessBelowTarget,
  kTargetUnknown,
  kTargetNotOfRules,
  kTrainedPastTarget,
  kLateRunStop,
  kEvaluationAfterStop,
  kTrainingAfterStop,
  kEvaluationAtStop,
  kTrainingBeforeStart,
  // clocks
  kTwoClocks,
  kTimeGoesBack,
  kTimeZero,
  kTimeUnit,
  kInitTooLong,
  kInitTimesImpossible,
  // intervals
  kIntervalNotStopped,
  kIntervalNotStarted,
  kIntervalLabelsDiffer,
  kIntervalsOverlap,
  kIntervalsCross,
  kAsyncEvaluation,
  kStagingOutsideRun,
  kStagingEmpty,
  // evaluations and epochs
  kEvaluationCadence,
  kFirstEvaluation,
  kEvaluationFrequent,
  kEpochNumberMissing,
  kEpochNumberStuck,
  kEpochNumberBack,
  kEpochNumberGap,
  kEpochsFromZero,
  kMetricOfAnotherName,
  kSecondMetric,
  kQualityOutOfRange,
  // settings
  kSeedMissing,
  kSeedNull,
  kSeedNotWhole,
  kSeveralSeeds,
  kPlaceholder,
  kConflictingValues,
  kRepeatedKeys,
  kHyperparameter,
  kSampleCount,
  kThroughputUnit,
  // sets of runs, and the system that they ran on
  kSideFileDamaged,
  kSystemDescriptionMissing,
  kSystemDivisionDiffers,
  kSystemNodesDiffer,
  kSystemAcceleratorsDiffer,
  kSystemSubmitterDiffers,
  kRunCount,
  kTooManyFailed,
  kSeedRepeated,
  kRunContinued,
  kBatchSizesDiffer,
  kBenchmarksDiffer,
  // several sets of runs
  kRunRepeated,
  kRunResubmitted,
  kResubmissionDiffers,
  kCurveRepeated,
  kSeedOfOthers,
  kSeedsOfOthers,
  kResultOutlier,
  kWindowNotMedian,
  kRunsNotConsecutive,
  kNoWindow,
  // telemetry of a log
  kTelemetryDamaged,
  kTelemetryNotCovering,
  kTelemetryCostly,
  kCount
};

struct AuditRule {
  Rule rule;
  mllog::CatalogueRule entry;  ///< with a severity
};

/// All rules, in the order of the enumeration.
std::span<const AuditRule> audit_rules();
const mllog::CatalogueRule& audit_rule(Rule rule);

/// A place in a log; line 0 means the whole log.
struct Place {
  std::int64_t line = 0;
  std::int64_t column = 0;
};

/// Makes a finding with the severity and id of `rule`. All audit findings are made here.
Finding make_finding(Rule rule, Place place, std::string text);

}  // namespace analysis
