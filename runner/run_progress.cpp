// Reports a run's progress.
#include "runner/run_progress.h"

#include <cmath>

namespace runner {

RunProgress::RunProgress(const RunDoors& doors, const std::string& workload) : doors_(doors) {
  status_.workload = workload;
  status_.host = doors.identity.host;
  status_.process = base::this_process_identity();
  status_.ranks = doors.world.size();
}

void RunProgress::enter(const char* phase) {
  doors_.world.activity().enter_phase(phase);
  if (doors_.live == nullptr) return;
  if (status_.phase != phase) status_.phase_since_ms = doors_.telemetry.clock().unix_ms();
  status_.phase = phase;
  publish();
}

void RunProgress::begin(std::int64_t steps_done) {
  doors_.console.begin_progress(steps_done);
  status_.steps_before = steps_done;
}

void RunProgress::trained(const ProgressPoint& point) {
  doors_.console.progress(point);
  if (doors_.live == nullptr) return;
  status_.epoch_num = point.epoch_num;
  status_.epochs = point.epochs;
  status_.steps_done = point.steps_done;
  status_.steps_total = point.steps_total;
  status_.samples_per_s = std::isfinite(point.samples_per_s) ? point.samples_per_s : 0.0;
  status_.mean_loss = point.mean_loss;
  publish();
}

void RunProgress::publish() {
  status_.updated_ms = doors_.telemetry.clock().unix_ms();
  status_.wall_s = doors_.telemetry.wall_s();
  for (std::size_t i = 0; i < status_.subsystems_s.size(); ++i) {
    status_.subsystems_s[i] = doors_.telemetry.seconds(static_cast<telemetry::Subsystem>(i));
  }
  doors_.live->publish(status_);
}

}  // namespace runner
