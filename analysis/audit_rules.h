// The catalogue of audit rules: what the analysis can tell of a log, run or set beside a verdict.
// Hides the texts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "runner/mllog/catalogue_rule.h"

namespace analysis {

using mllog::Finding;

/// Every rule of the audit. Its name in reports is that of its entry; so a finding without an entry
/// in the catalogue cannot be made.
enum class Rule : std::uint8_t {
  // what cannot be read
  kMalformedRecord,
  kSwallowedRecord,
  kLooseRecord,
  kNoRecords,
  kValueNotFinite,
  kMetricNotNumber,
  kOwnTargetDamaged,
  kMetadataNotObject,
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
  kInitTooLong,
  kInitTimesImpossible,
  // intervals
  kIntervalNotStopped,
  kIntervalNotStarted,
  kIntervalLabelsDiffer,
  kIntervalsOverlap,
  kIntervalsCross,
  kEvaluationBesideTraining,
  kStagingOutsideRun,
  kStagingEmpty,
  // evaluations and epochs
  kEvaluationCadence,
  kFirstEvaluation,
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
  // telemetry beside a log
  kTelemetryDamaged,
  kTelemetryNotCovering,
  kTelemetryCostly,
  kCount
};

/// One entry.
struct AuditRule {
  Rule rule;
  mllog::CatalogueRule entry;  ///< with a severity
};

/// All of them, in the order of the enumeration.
std::span<const AuditRule> audit_rules();
const mllog::CatalogueRule& audit_rule(Rule rule);

/// Where in a log; 0: the whole of it.
struct Place {
  std::int64_t line = 0;
  std::int64_t column = 0;
};

/// The only way in which this room makes a finding.
Finding make_finding(Rule rule, Place place, std::string text);

}  // namespace analysis
