// The plan of a run: schedules, sizes and time estimates.
#include "runner/dry_run.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "runner/disk_room.h"
#include "runner/earlier_runs.h"
#include "runner/memory_report.h"
#include "runner/resume.h"

namespace runner {
namespace {

using Json = nlohmann::json;

std::int64_t evaluations(const RunConfig& config, std::int64_t steps_per_epoch) {
  const std::int64_t period = config.evaluation.period_steps(steps_per_epoch);
  if (period > 0) return config.epochs * (steps_per_epoch / period);
  const std::int64_t first = config.evaluation.next_due(1);
  if (first > config.epochs) return 0;
  return 1 + (config.epochs - first) / config.evaluation.every_epochs;
}

/// An upper bound in seconds from the latest run of the same work on this system, or the reason
/// that there is none.
Json time_plan(const RunConfig& config, std::int64_t runs, std::int64_t steps, int ranks) {
  const auto earlier = find_earlier_run(results_folder(config), config.reader.resolved(), ranks);
  if (!earlier) {
    return {{"estimate",
             "none: no earlier run of this work on this system; `trainmark bench` "
             "measures the rate of a step"}};
  }
  const double steps_s = earlier->step_s * static_cast<double>(steps);
  return {{"seconds_at_most", static_cast<double>(runs) *
                                  (earlier->staging_s + steps_s * (1.0 + earlier->rest_share))},
          {"staging_s", earlier->staging_s},
          {"step_s", earlier->step_s},
          {"measured_in", earlier->telemetry_file}};
}

Json schedule_plan(const RunConfig& config, std::int64_t runs, const WorkloadInfo& info,
                   const StepCost& cost, int ranks) {
  const std::int64_t steps = config.epochs * info.steps_per_epoch;
  return {{"runs", runs},
          {"epochs_at_most", config.epochs},
          {"steps_per_epoch", info.steps_per_epoch},
          {"steps_at_most", steps},
          {"evaluations_at_most", evaluations(config, info.steps_per_epoch)},
          {"training_flops_at_most",
           static_cast<double>(cost.flops) * static_cast<double>(steps) * ranks},
          {"exchange_bytes_per_rank_at_most",
           static_cast<double>(cost.exchange_bytes) * static_cast<double>(steps)},
          {"time", time_plan(config, runs, steps, ranks)}};
}

/// Null if unknown.
Json free_bytes_json(const std::string& folder) {
  const auto bytes = free_bytes(folder);
  return bytes ? Json(*bytes) : Json();
}

/// Null if the run would start from scratch.
Json resumed_file(const RunConfig& config, const RunSetPlan& plan, const Workload& workload,
                  const CheckpointFormat& format) {
  const ResumeWish wish{*plan.resume,
                        plan.nothing_saved,
                        config.reader.resolved(),
                        workload.keys_without_effect(),
                        {},
                        true};
  std::vector<std::string> passed_over;
  const ResumeChoice choice = find_checkpoints(wish, format, passed_over);
  return choice.candidates.empty() ? Json() : Json(choice.candidates.front());
}

/// Also given without a checkpoint interval, as a signal may ask for a checkpoint.
Json checkpoint_plan(const RunConfig& config, const RunSetPlan& plan, const Workload& workload,
                     const CheckpointFormat& format, int rank) {
  const std::int64_t bytes = workload.state_bytes();
  // keep_last + 1: the old checkpoints stay while a new one is written.
  Json all = {{"folder", checkpoints_folder(config)},
              {"bytes_each", bytes},
              {"bytes_at_most", (config.checkpoint.keep_last + 1) * bytes * plan.runs},
              {"free_bytes", free_bytes_json(checkpoints_folder(config))}};
  if (plan.resume && rank == 0) {
    all["resume_from"] = resumed_file(config, plan, workload, format);
  }
  return all;
}

Json target_plan(const RunConfig& config, const WorkloadInfo& info) {
  return {{"metric", info.target.key},
          {"value", config.has_target ? config.target_quality : info.target.main().value},
          {"workload_default", info.target.main().value}};
}

Json log_plan(const Workload& workload) {
  Json fields = Json::object();
  for (const auto& [key, value] : workload.log_fields()) fields[key] = value;
  return fields;
}

}  // namespace

PlannedRank planned_rank(const Surroundings& around) {
  return {around.world.rank(), around.world.size(), around.topology.node.size(), around.threads};
}

Json plan_run(const RunConfig& config, const RunSetPlan& plan, Workload& workload,
              const MemoryNeeds& memory, const Surroundings& around, const Place& place,
              const CheckpointFormat& format) {
  const std::int64_t runs = plan.runs;
  const WorkloadInfo& info = workload.info();
  const StepCost cost = workload.step_cost();
  const std::int64_t weights = info.parameters * static_cast<std::int64_t>(sizeof(float)) * runs;
  return {{"config", config.reader.resolved()},
          {"workload",
           {{"name", info.name},
            {"benchmark", info.benchmark},
            {"parameters", info.parameters},
            {"train_samples", info.train_samples},
            {"eval_samples", info.eval_samples},
            {"global_batch_size", info.global_batch_size},
            {"target", target_plan(config, info)}}},
          {"schedule", schedule_plan(config, runs, info, cost, around.world.size())},
          {"memory", memory_document(memory, planned_rank(around))},
          {"disk",
           {{"folder", results_folder(config)},
            {"weights_bytes", weights},
            {"free_bytes", free_bytes_json(config.results_directory)}}},
          {"checkpoint", checkpoint_plan(config, plan, workload, format, around.world.rank())},
          {"staging", workload.staging_plan()},
          {"placement", workload.placement_plan()},
          {"ranks",
           {{"ranks", around.world.size()},
            {"nodes", around.topology.node_count},
            {"threads_per_rank", place.threads.threads},
            {"node_threads", place.threads.node_threads},
            {"node_cpus", place.threads.node_cpus},
            {"oversubscribed", place.threads.oversubscribed()},
            {"cpus", place.summary},
            {"faults", place.faults}}},
          {"log", log_plan(workload)}};
}

}  // namespace runner
