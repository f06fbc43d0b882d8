// The epochs of a run: blocks, steps and evaluations, until it is over.
#pragma once

#include <cstdint>

#include "runner/run_control.h"
#include "runner/run_state.h"

namespace runner {

class TrainingEpochs {
 public:
  /// Both outlive this object.
  TrainingEpochs(RunState& run, RunControl& control) : run_(run), control_(control) {}

  /// Collective. Trains from the run's current position, and sets its outcome if it ends before its
  /// last epoch. Throws AgreedError if replicas have diverged.
  void go();

 private:
  /// The block of epochs between evaluations. Returns false if the run is over.
  bool run_block(std::int64_t first_epoch_num, std::int64_t last_epoch_num);
  /// An epoch with evaluations inside it; each part in which steps are left is a block. Returns
  /// false if the run is over.
  bool run_cut_epoch(std::int64_t epoch_num, std::int64_t period_steps);
  /// Returns false if the run is over. `is_open`: the last evaluation did not end the run.
  bool leave_block(bool is_open);
  void begin_epoch(std::int64_t epoch_num);
  /// Trains up to step `last` of the epoch and compares replicas. Returns false if the run is over.
  bool train_until(std::int64_t epoch_num, std::int64_t last);
  void log_epoch(std::int64_t epoch_num);
  void finish_epoch(std::int64_t epoch_num);
  bool evaluate();  ///< returns false if the run is over
  /// Whether an evaluation inside an epoch is due at this position. True on resuming if a signal
  /// stopped the run just before it.
  bool is_evaluation_due(std::int64_t period_steps) const;
  double evaluation_epoch() const;  ///< as logged
  void compare_replicas(std::int64_t epoch_num);

  RunState& run_;
  RunControl& control_;
  double samples_per_s_ = 0.0;
  std::int64_t epoch_began_ns_ = 0;
  std::int64_t earlier_samples_ = 0;  ///< in a resumed run: samples of the current epoch before the
                                      ///< checkpoint
  double learning_rate_ = 0.0;        ///< at the last step
};

}  // namespace runner
