// Learns from the configuration, and from an earlier run of it, what a run is about to do.
#include "workloads/parallel/run_ahead.h"

#include <numeric>

#include "runner/dry_run.h"
#include "runner/earlier_runs.h"

namespace parallel {
namespace {

std::int64_t sum_of(const runner::MemoryNeeds::Parts& parts) {
  return std::accumulate(parts.begin(), parts.end(), std::int64_t{0},
                         [](std::int64_t sum, const auto& part) { return sum + part.second; });
}

}  // namespace

RunAhead ahead_of(const runner::RunConfig& run, const runner::Surroundings& around,
                  MemoryOf memory_of) {
  RunAhead ahead;
  ahead.epochs = run.epochs;
  const runner::EvaluationConfig& evaluation = run.evaluation;
  ahead.evaluations_per_epoch =
      static_cast<double>(evaluation.per_epoch) / static_cast<double>(evaluation.every_epochs);
  ahead.node_memory_bytes = [run, around, memory_of] {
    const runner::PlannedRank place = runner::planned_rank(around);
    const runner::MemoryNeeds needs = memory_of(run, place);
    return place.node_ranks * sum_of(needs.rank) + sum_of(needs.node);
  };
  ahead.step_compute_s = [run, around] {
    double seconds = 0.0;
    if (around.world.rank() == 0) {
      const auto earlier =
          runner::find_earlier_run(runner::results_folder(run), run.reader.resolved(),
                                   around.world.size(), runner::Work::kSteps);
      if (earlier) seconds = earlier->compute_s;
    }
    return around.world.allreduce_max(seconds);
  };
  return ahead;
}

staging::Outlook outlook_of(const RunAhead& ahead, std::int64_t steps_per_epoch) {
  staging::Outlook outlook;
  outlook.epochs = ahead.epochs;
  if (ahead.step_compute_s) {
    outlook.epoch_compute_s = ahead.step_compute_s() * static_cast<double>(steps_per_epoch);
  }
  if (ahead.node_memory_bytes) outlook.memory_bytes = ahead.node_memory_bytes();
  return outlook;
}

}  // namespace parallel
