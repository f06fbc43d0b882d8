// The keys of a run's log, part by part, in order.
#pragma once

#include <string>
#include <vector>

namespace logged_keys {

using Keys = std::vector<std::string>;

/// From the first record to the run's disclosures about its training.
inline const Keys kSetup = {"submission_benchmark",
                            "submission_division",
                            "submission_org",
                            "submission_platform",
                            "submission_status",
                            "cache_clear",
                            "init_start",
                            "number_of_nodes",
                            "number_of_ranks",
                            "accelerators_per_node",
                            "global_batch_size",
                            "gradient_accumulation_steps",
                            "lowest_numerical_precision_in_linear",
                            "lowest_numerical_precision_in_attn",
                            "lowest_numerical_precision_in_comm",
                            "tensor_parallelism",
                            "pipeline_parallelism",
                            "context_parallelism",
                            "expert_parallelism",
                            "micro_batch_size",
                            "config_filename"};
/// From the start of the run to its first block.
inline const Keys kStart = {"init_stop", "run_start", "staging_start", "staging_stop",
                            "block_start"};
inline const Keys kEpoch = {"epoch_start",   "epoch_stop", "train_loss",
                            "learning_rate", "throughput", "tracked_stats"};

inline Keys joined(const std::vector<Keys>& parts) {
  Keys all;
  for (const Keys& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

/// The keys of a run with one epoch and one evaluation, whose workload logs `own` before its one
/// weights_initialization record.
inline Keys of_one_epoch(const Keys& own, const std::string& metric) {
  return joined({kSetup,
                 {"train_samples", "eval_samples", "seed", "quality_target"},
                 own,
                 {"weights_initialization"},
                 kStart,
                 kEpoch,
                 {"eval_start", "eval_stop", metric, "block_stop", "run_stop"}});
}

}  // namespace logged_keys
