// The role of each log key in the analysis.
#include "analysis/key_roles.h"

#include <algorithm>
#include <array>

#include "runner/mllog/benchmarks.h"
#include "runner/mllog/key_table.h"
#include "runner/mllog/keys.h"

namespace analysis {
namespace {

namespace keys = mllog::keys;

constexpr char kIntervalStart[] = "INTERVAL_START";
constexpr char kIntervalEnd[] = "INTERVAL_END";
constexpr char kPointInTime[] = "POINT_IN_TIME";
constexpr std::array kStarts = {keys::kInitStart,  keys::kRunStart,   keys::kStagingStart,
                                keys::kBlockStart, keys::kEpochStart, keys::kEvalStart,
                                keys::kSaveStart};
constexpr std::array kStops = {keys::kInitStop,  keys::kRunStop,   keys::kStagingStop,
                               keys::kBlockStop, keys::kEpochStop, keys::kEvalStop,
                               keys::kSaveStop};
/// Keys that should be logged once; the analysis reports repetitions.
constexpr std::array kOneTime = {keys::kCacheClear, keys::kInitStart, keys::kInitStop,
                                 keys::kRunStart, keys::kRunStop};
/// Starts, stops and metrics whose records name their epoch.
constexpr std::array kNumbered = {keys::kBlockStart,   keys::kBlockStop, keys::kEpochStart,
                                  keys::kEpochStop,    keys::kEvalStart, keys::kEvalStop,
                                  keys::kEvalAccuracy, keys::kEvalError};

/// Settings that the audit checks for every benchmark, in addition to config_keys(): a log should
/// have each once, with one value.
constexpr std::array kSettings = {keys::kSubmissionPocName,
                                  keys::kSubmissionPocEmail,
                                  keys::kGradientAccumulationSteps,
                                  keys::kSgdEndLearningRate,
                                  keys::kSgdWeightDecay,
                                  keys::kLarsEndLearningRate,
                                  keys::kLarsPolyPower,
                                  keys::kLarsEpsilon,
                                  keys::kLarsDecaySteps,
                                  keys::kLarsWeightDecay,
                                  keys::kDropout,
                                  keys::kOptLearningRate,
                                  keys::kOptBetas,
                                  keys::kOptEpsilon,
                                  keys::kWarmupFactor,
                                  keys::kOptWeightDecay,
                                  keys::kSchedulerType,
                                  keys::kBatchNormGroupSize};

template <class Keys>
bool has(const Keys& list, std::string_view key) {
  return std::find(list.begin(), list.end(), key) != list.end();
}

KeyRole make_role(std::string_view key) {
  KeyRole role;
  role.label = keys::kEpochNum;
  role.event_type = kPointInTime;
  role.config = has(config_keys(), key);
  role.setting = has(setting_keys(), key);
  role.mark = has(kStarts, key) || has(kStops, key);
  role.one_time = has(kOneTime, key);
  role.metric = key == keys::kEvalAccuracy || key == keys::kEvalError;
  role.numbered = has(kNumbered, key);
  if (key == keys::kBlockStart || key == keys::kBlockStop) role.label = keys::kFirstEpochNum;
  if (has(kStarts, key)) role.event_type = kIntervalStart;
  if (has(kStops, key)) role.event_type = kIntervalEnd;
  return role;
}

using Roles = mllog::KeyTable<KeyRole>;

Roles make_roles() {
  Roles roles;
  const auto add = [&](std::string_view key) {
    if (roles.find(key)) return;
    const std::size_t index = roles.size();
    KeyRole& role = roles[key];
    role = make_role(key);
    role.index = index;
  };
  for (const std::string& key : config_keys()) add(key);
  for (const char* key : kStarts) add(key);
  for (const char* key : kStops) add(key);
  for (const char* key : kOneTime) add(key);
  for (const char* key : kNumbered) add(key);
  for (const std::string_view key : setting_keys()) add(key);
  return roles;
}

const Roles& roles() {
  static const Roles made = make_roles();
  return made;
}

}  // namespace

const KeyRole* role_of(std::string_view key) { return roles().find(key); }

std::size_t role_count() { return roles().size(); }

bool is_event_type(std::string_view type) {
  return type == kPointInTime || type == kIntervalStart || type == kIntervalEnd;
}

const std::vector<std::string_view>& setting_keys() {
  static const std::vector<std::string_view> all = [] {
    std::vector<std::string_view> names(kSettings.begin(), kSettings.end());
    for (const std::string& key : config_keys()) names.push_back(key);
    for (const mllog::Benchmark& benchmark : mllog::benchmarks()) {
      for (const mllog::SettingBound& bound : benchmark.bounds) names.push_back(bound.key);
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
  }();
  return all;
}

const std::vector<std::string>& config_keys() {
  static const std::vector<std::string> known = {keys::kSubmissionBenchmark,
                                                 keys::kSubmissionOrg,
                                                 keys::kSubmissionDivision,
                                                 keys::kSubmissionStatus,
                                                 keys::kSubmissionPlatform,
                                                 keys::kGlobalBatchSize,
                                                 keys::kTrainSamples,
                                                 keys::kEvalSamples,
                                                 keys::kSeed,
                                                 keys::kNumberOfNodes,
                                                 keys::kAcceleratorsPerNode,
                                                 keys::kNumberOfRanks,
                                                 keys::kOptName,
                                                 keys::kPrecisionInLinear,
                                                 keys::kPrecisionInAttention,
                                                 keys::kPrecisionInCommunication,
                                                 keys::kTensorParallelism,
                                                 keys::kPipelineParallelism,
                                                 keys::kContextParallelism,
                                                 keys::kExpertParallelism,
                                                 keys::kMicroBatchSize,
                                                 keys::kConfigFilename};
  return known;
}

}  // namespace analysis
