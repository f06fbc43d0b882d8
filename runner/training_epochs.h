// The epochs of a run: its blocks, steps and evaluations, until it is over.
// Hides how the steps of an epoch are cut.
#pragma once

#include <cstdint>

#include "runner/run_control.h"
#include "runner/run_state.h"

namespace runner {

class TrainingEpochs {
 public:
  /// Both outlive it.
  TrainingEpochs(RunState& run, RunControl& control) : run_(run), control_(control) {}

  /// Collective. Trains from where the run stands; the run's outcome is changed where it ends
  /// before its last epoch. Throws AgreedError if replicas drifted apart.
  void go();

 private:
  /// The block of epochs between evaluations; false when the run is over.
  bool run_block(std::int64_t first_epoch_num, std::int64_t last_epoch_num);
  /// An epoch that is evaluated on the way: each part is a block. False when the run is over.
  bool run_cut_epoch(std::int64_t epoch_num, std::int64_t period_steps);
  /// False when the run is over, as it is after an evaluation that closed it.
  bool leave_block(bool is_open);
  void begin_epoch(std::int64_t epoch_num);
  /// Trains up to step `last` of the epoch and compares replicas; false when the run is over.
  bool train_until(std::int64_t epoch_num, std::int64_t last);
  void log_epoch(std::int64_t epoch_num);
  void finish_epoch(std::int64_t epoch_num);
  bool evaluate();  ///< false: the run is over
  /// Whether epochs are cut and an evaluation is due here: a signal may have come before it.
  bool is_evaluation_due(std::int64_t period_steps) const;
  double evaluation_epoch() const;  ///< as logged
  void compare_replicas(std::int64_t epoch_num);

  RunState& run_;
  RunControl& control_;
  double samples_per_s_ = 0.0;
  std::int64_t epoch_began_ns_ = 0;
  std::int64_t earlier_samples_ = 0;  ///< of the epoch before the checkpoint, in a resumed run
  double learning_rate_ = 0.0;        ///< of the last step
};

}  // namespace runner
