// The records of a run and their keys.
#include "runner/run_log.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include "runner/base/error.h"
#include "runner/base/system_facts.h"
#include "runner/mllog/keys.h"

namespace runner {
namespace {

namespace keys = mllog::keys;
using OrderedJson = mllog::LogWriter::Json;

/// Writes whole numbers as integers: some readers expect integers unless epochs are split.
OrderedJson epochs(double count) {
  const auto whole = static_cast<std::int64_t>(count);
  return static_cast<double>(whole) == count ? OrderedJson(whole) : OrderedJson(count);
}

OrderedJson epoch_metadata(double epoch_num) { return {{keys::kEpochNum, epochs(epoch_num)}}; }
OrderedJson epoch_metadata(std::int64_t epoch_num) { return {{keys::kEpochNum, epoch_num}}; }

OrderedJson block_metadata(double first_epoch_num, double epoch_count) {
  return {{keys::kFirstEpochNum, epochs(first_epoch_num)},
          {keys::kEpochCount, epochs(epoch_count)}};
}

std::string platform_name(const RunConfig& config, int nodes) {
  if (!config.submission.platform.empty()) return config.submission.platform;
  const nlohmann::json facts = base::machine_facts();
  const auto model = facts.find("cpu_model");
  const bool known = model != facts.end() && model->is_string();
  return fmt::format("{}x {}", nodes, known ? model->get<std::string>() : "unknown CPU");
}

/// Seven digits: the precision of a loss. Further digits of a mean over steps depend on how the
/// steps were grouped.
double seven_digits(double value) {
  return std::strtod(fmt::format("{:.7g}", value).c_str(), nullptr);
}

}  // namespace

void RunLog::submission(const RunConfig& config, const WorkloadInfo& info, int nodes) {
  const SubmissionConfig& submission = config.submission;
  event(keys::kSubmissionBenchmark,
        submission.benchmark.empty() ? info.benchmark : submission.benchmark);
  event(keys::kSubmissionDivision, submission.division);
  event(keys::kSubmissionOrg, submission.org);
  event(keys::kSubmissionPlatform, platform_name(config, nodes));
  event(keys::kSubmissionStatus, submission.status);
}

void RunLog::caches(const CacheClearing& clearing) {
  Json metadata = {{"reason", clearing.reason}};
  if (!clearing.data.is_null()) metadata["page_cache"] = clearing.data;
  event(keys::kCacheClear, clearing.cleared, metadata);
}

void RunLog::init_start() { start(keys::kInitStart); }

void RunLog::setup(const RunConfig& config, const Workload& workload,
                   const mllog::QualityTarget& target, int ranks, int nodes) {
  const WorkloadInfo& info = workload.info();
  const auto fields = workload.log_fields();
  std::set<std::string> own;
  for (const auto& [key, value] : fields) own.insert(key);
  // These keys may appear in a log only once, so a workload's own value takes precedence.
  const auto common = [&](const char* key, const Json& value) {
    if (own.count(key) == 0) event(key, value);
  };
  common(keys::kNumberOfNodes, nodes);
  common(keys::kNumberOfRanks, ranks);
  common(keys::kAcceleratorsPerNode, 0);
  common(keys::kGlobalBatchSize, info.global_batch_size);
  common(keys::kGradientAccumulationSteps, info.gradient_accumulation_steps);
  disclose(config, info.disclosure);
  common(keys::kTrainSamples, info.train_samples);
  common(keys::kEvalSamples, info.eval_samples);
  common(keys::kSeed, config.seed);
  log_target(target);
  for (const auto& [key, value] : fields) event(key, value);
  for (const std::string& tensor : workload.log_tensor_names()) {
    event(keys::kWeightsInitialization, nullptr, {{keys::kTensor, tensor}});
  }
}

void RunLog::disclose(const RunConfig& config, const Disclosure& facts) {
  event(keys::kPrecisionInLinear, facts.linear);
  event(keys::kPrecisionInAttention, facts.attention);
  event(keys::kPrecisionInCommunication, facts.communication);
  if (!facts.gradients.empty()) event(keys::kGradientsBetweenNodes, facts.gradients);
  event(keys::kTensorParallelism, facts.tensor_ranks);
  event(keys::kPipelineParallelism, facts.pipeline_ranks);
  event(keys::kContextParallelism, facts.context_ranks);
  event(keys::kExpertParallelism, facts.expert_ranks);
  event(keys::kMicroBatchSize, facts.micro_batch_size);
  event(keys::kConfigFilename, std::filesystem::path(config.file).filename().string());
}

void RunLog::log_target(const mllog::QualityTarget& target) {
  // Omits the metric's key: the RCP checker takes any record that contains it for an evaluation.
  const bool rises = target.main().direction == mllog::Direction::kRises;
  event(keys::kQualityTarget, target.main().value, {{keys::kDirection, rises ? "rises" : "falls"}});
}

void RunLog::init_stop() { end(keys::kInitStop); }

void RunLog::run_start() { start(keys::kRunStart); }

void RunLog::resumed(const std::string& checkpoint, const RunPosition& position) {
  Json metadata = epoch_metadata(position.epoch_num);
  metadata[keys::kStep] = position.steps_done;
  metadata[keys::kCheckpoint] = checkpoint;
  metadata["earlier_s"] = position.elapsed_s;
  event(keys::kResumed, true, metadata);
}

void RunLog::staging_start() { start(keys::kStagingStart); }

void RunLog::staging_stop(const nlohmann::json& facts) {
  end(keys::kStagingStop, {{"staging", Json(facts)}});
}

void RunLog::block_start(double first_epoch_num, double epoch_count) {
  start(keys::kBlockStart, block_metadata(first_epoch_num, epoch_count));
}

void RunLog::epoch_start(std::int64_t epoch_num) {
  start(keys::kEpochStart, epoch_metadata(epoch_num));
}

void RunLog::epoch_stop(const EpochFacts& facts) {
  Json metadata = epoch_metadata(facts.epoch_num);
  end(keys::kEpochStop, metadata);
  metadata[keys::kStep] = facts.steps_done;
  const double loss = seven_digits(facts.mean_loss);
  event(keys::kTrainLoss, loss, metadata);
  // The whole epoch was trained before the run was stopped: this part has no rates for it.
  if (facts.samples_per_s == 0.0) return;
  event(keys::kLearningRate, facts.learning_rate, metadata);
  event(keys::kThroughput, facts.samples_per_s, metadata);
  event(keys::kTrackedStats, {{keys::kThroughput, facts.samples_per_s}, {keys::kTrainLoss, loss}},
        metadata);
}

void RunLog::save_start(std::int64_t steps_done) {
  start(keys::kSaveStart, {{keys::kStep, steps_done}});
}

void RunLog::save_stop(std::int64_t steps_done) {
  end(keys::kSaveStop, {{keys::kStep, steps_done}});
}

void RunLog::eval_start(double epoch_num) { start(keys::kEvalStart, epoch_metadata(epoch_num)); }

void RunLog::eval_stop(double epoch_num, const mllog::QualityTarget& target, double quality) {
  end(keys::kEvalStop, epoch_metadata(epoch_num));
  event(target.key, quality, epoch_metadata(epoch_num));
}

void RunLog::block_stop(double first_epoch_num, double epoch_count) {
  end(keys::kBlockStop, block_metadata(first_epoch_num, epoch_count));
}

bool RunLog::run_stop(const char* status, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (is_stopped_) return false;
  is_stopped_ = true;
  Json metadata = {{keys::kStatus, status}};
  if (!reason.empty()) metadata["reason"] = reason;
  attempt([&] { writer_.end(keys::kRunStop, metadata); });
  return true;
}

std::string RunLog::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

template <class Write>
void RunLog::attempt(const Write& write) {
  try {
    write();
  } catch (const base::SystemError& e) {
    if (problem_.empty()) problem_ = e.what();
  }
}

void RunLog::event(const std::string& key, const Json& value, const Json& metadata, Where where) {
  const std::lock_guard lock(mutex_);
  if (!is_stopped_) attempt([&] { writer_.event(key, value, metadata, where); });
}

void RunLog::start(const std::string& key, const Json& metadata, Where where) {
  const std::lock_guard lock(mutex_);
  if (!is_stopped_) attempt([&] { writer_.start(key, metadata, where); });
}

void RunLog::end(const std::string& key, const Json& metadata, Where where) {
  const std::lock_guard lock(mutex_);
  if (!is_stopped_) attempt([&] { writer_.end(key, metadata, where); });
}

}  // namespace runner
