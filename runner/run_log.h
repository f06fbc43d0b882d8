// Writes the MLPerf log of one run: which records, in which order, with which metadata. Source:
// mlcommons/training_policies and the rule files of mlcommons/logging, training 4.0.0.
#pragma once

#include <cstdint>
#include <mutex>
#include <source_location>
#include <string>

#include "runner/caches.h"
#include "runner/checkpoint_record.h"
#include "runner/mllog/log_writer.h"
#include "runner/run_config.h"
#include "runner/workload.h"

namespace runner {

/// Facts about one epoch of training.
struct EpochFacts {
  std::int64_t epoch_num = 0;   ///< counted from 1
  std::int64_t steps_done = 0;  ///< since the run began
  double mean_loss = 0.0;
  double learning_rate = 0.0;
  double samples_per_s = 0.0;  ///< of all ranks, while training; 0: this part of the run trained no
                               ///< step of it
};

/// Writes one run's records. Call the functions in the order of their declarations. Only rank 0's
/// writer has a sink.
class RunLog {
 public:
  explicit RunLog(mllog::LogWriter& writer) : writer_(writer) {}

  void submission(const RunConfig& config, const WorkloadInfo& info, int nodes);
  void caches(const CacheClearing& clearing);
  void init_start();
  /// All settings of the run; `ranks` and `nodes` are the job's.
  void setup(const RunConfig& config, const Workload& workload, const mllog::QualityTarget& target,
             int ranks, int nodes);
  void init_stop();
  void run_start();
  /// Records that this run resumes: from which checkpoint, at which position, and how many seconds
  /// after the first run_start.
  void resumed(const std::string& checkpoint, const RunPosition& position);
  void staging_start();
  void staging_stop(const nlohmann::json& facts);
  /// `first_epoch_num` is 1 plus the epochs completed; it is fractional if epochs are split.
  void block_start(double first_epoch_num, double epoch_count);
  void epoch_start(std::int64_t epoch_num);
  void epoch_stop(const EpochFacts& facts);
  void save_start(std::int64_t steps_done);
  void save_stop(std::int64_t steps_done);
  void eval_start(double epoch_num);
  void eval_stop(double epoch_num, const mllog::QualityTarget& target, double quality);
  void block_stop(double first_epoch_num, double epoch_count);
  /// `status`: "success", or "aborted" with a reason; "aborted" also closes a log that has no
  /// run_start yet. Returns whether this call wrote the record: only the first does, so that a
  /// failure handler may call it at any time and from any thread. Nothing is logged afterwards.
  bool run_stop(const char* status, const std::string& reason);
  /// Why a record could not be written; "" if all were. Later ones are still tried.
  std::string problem() const;

 private:
  using Where = std::source_location;
  using Json = mllog::LogWriter::Json;
  void event(const std::string& key, const Json& value, const Json& metadata = Json::object(),
             Where where = Where::current());
  void start(const std::string& key, const Json& metadata = Json::object(),
             Where where = Where::current());
  void end(const std::string& key, const Json& metadata = Json::object(),
           Where where = Where::current());
  /// Calls `write`, which writes a record, and keeps the message if it fails.
  template <class Write>
  void attempt(const Write& write);
  void log_target(const mllog::QualityTarget& target);
  void disclose(const RunConfig& config, const Disclosure& facts);
  mllog::LogWriter& writer_;
  mutable std::mutex mutex_;
  bool is_stopped_ = false;
  std::string problem_;
};

}  // namespace runner
