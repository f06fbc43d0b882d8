// What a checkpoint says of its run beside the workload's state: where it stood, of what it is
// made. Hides the JSON form.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace runner {

struct EvaluationPoint {
  double epoch_num = 0.0;  ///< as logged: whole but where epochs are cut
  double quality = 0.0;
  double since_run_start_s = 0.0;  ///< in a resumed run: with the time before the checkpoint
};

/// Where a run stands between two steps. Random streams are functions of (seed, purpose, epoch,
/// sample), so that seed and steps say where all of them are.
struct RunPosition {
  std::int64_t epoch_num = 1;       ///< under way, or the next: counted from 1
  std::int64_t steps_in_epoch = 0;  ///< done of it; all of them: stopped before its evaluation
  std::int64_t steps_done = 0;      ///< of the whole run
  double loss_sum = 0.0;            ///< over the samples of the epoch under way
  std::int64_t samples = 0;         ///< those samples
  double elapsed_s = 0.0;           ///< since run_start, earlier parts of a resumed run included
  std::vector<EvaluationPoint> evaluations;
};

struct CheckpointRecord {
  RunPosition position;
  nlohmann::json config;       ///< resolved, with the seed that was used
  nlohmann::json data;         ///< {"train_samples", "eval_samples", "steps_per_epoch"}
  nlohmann::json environment;  ///< what decides the last bits: ranks, threads, libraries, ...
};

std::string to_text(const CheckpointRecord& record);
/// Throws DataError naming `name`, the place, what was expected and what was found.
CheckpointRecord parse_record(const std::string& text, const std::string& name);

/// A value that stands at the same place of two configurations and differs.
struct ConfigDifference {
  std::string key;          ///< "/optimizer/momentum"
  std::string then, found;  ///< JSON text; "nothing" where it is absent
};
/// The first difference that is not at or below one of the keys in `except`.
std::optional<ConfigDifference> config_difference(const nlohmann::json& then,
                                                  const nlohmann::json& now,
                                                  const std::vector<std::string>& except);

}  // namespace runner
