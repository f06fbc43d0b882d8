// A checkpoint's record of its run, next to the workload's state: position, configuration and
// environment.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace runner {

struct EvaluationPoint {
  double epoch_num = 0.0;  ///< as logged: an integer unless epochs are split
  double quality = 0.0;
  double since_run_start_s = 0.0;  ///< s; in a resumed run this includes the time before the
                                   ///< checkpoint
};

/// The position of a run between two steps. Random streams are functions of (seed, purpose, epoch,
/// sample), so seed and steps determine all of them.
struct RunPosition {
  std::int64_t epoch_num = 1;       ///< current or next epoch, counted from 1
  std::int64_t steps_in_epoch = 0;  ///< completed; equal to the epoch's steps: stopped before its
                                    ///< evaluation
  std::int64_t steps_done = 0;      ///< in the whole run
  double loss_sum = 0.0;            ///< over the samples of the current epoch
  std::int64_t samples = 0;         ///< samples in loss_sum
  double elapsed_s = 0.0;           ///< s since run_start, earlier parts of a resumed run included
  std::vector<EvaluationPoint> evaluations;
};

struct CheckpointRecord {
  RunPosition position;
  nlohmann::json config;       ///< resolved, with the seed in use
  nlohmann::json data;         ///< {"train_samples", "eval_samples", "steps_per_epoch"}
  nlohmann::json environment;  ///< what affects the last bits of results: ranks, threads,
                               ///< libraries, ...
};

std::string to_text(const CheckpointRecord& record);
/// Throws DataError naming `name`, the place, what was expected and what was found.
CheckpointRecord parse_record(const std::string& text, const std::string& name);

/// A value that differs between two configurations.
struct ConfigDifference {
  std::string key;          ///< "/optimizer/momentum"
  std::string then, found;  ///< JSON text; "nothing" if absent
};
/// The first difference that is not at or below one of the keys in `except`.
std::optional<ConfigDifference> config_difference(const nlohmann::json& then,
                                                  const nlohmann::json& now,
                                                  const std::vector<std::string>& except);

}  // namespace runner
