// Arbitrary bytes as the live file of a run: a DataError, or a status that is shown as metrics
// whose values are numbers.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/live_run.h"
#include "analysis/report/openmetrics/status.h"
#include "runner/base/clock.h"
#include "runner/base/error.h"
#include "runner/telemetry/live_status.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/memory_folder.h"

namespace {

constexpr std::int64_t kStart_ms = 1'700'000'000'000;
/// A run in its second epoch, with an evaluation that missed the target.
constexpr char kLog[] =
    R"(:::MLLOG {"time_ms": 1700000000000, "key": "submission_benchmark", "value": "cosmoflow"}
:::MLLOG {"time_ms": 1700000000000, "key": "global_batch_size", "value": 64}
:::MLLOG {"time_ms": 1700000000000, "key": "run_start", "value": null}
:::MLLOG {"time_ms": 1700000000000, "key": "epoch_start", "value": null, "metadata": {"epoch_num": 1}}
:::MLLOG {"time_ms": 1700000009000, "key": "epoch_stop", "value": null, "metadata": {"epoch_num": 1}}
:::MLLOG {"time_ms": 1700000010000, "key": "eval_error", "value": 0.5, "metadata": {"epoch_num": 1}}
)";

class FixedClock final : public base::Clock {
 public:
  std::int64_t steady_ns() const override { return 0; }
  std::int64_t unix_ms() const override { return kStart_ms + 20'000; }
};

bool is_read(const std::string& text) {
  try {
    const telemetry::LiveStatus status = telemetry::parse_live_status(text, "fuzz.json");
    for (const std::int64_t count :
         {status.ranks, status.updated_ms, status.alive_ms, status.phase_since_ms, status.epoch_num,
          status.epochs, status.steps_done, status.steps_total, status.steps_before}) {
      fuzz::require(count >= 0);
    }
    for (const double seconds : status.subsystems_s) fuzz::require(seconds >= 0.0);
    fuzz::require(status.wall_s >= 0.0 && status.samples_per_s >= 0.0);
    return true;
  } catch (const base::DataError&) {
    return false;
  }
}

void check(const analysis::LiveRun& run) {
  fuzz::require(run.sign_of_life_s && *run.sign_of_life_s >= 0.0);
  fuzz::require(std::isfinite(run.standing.elapsed_s) && run.standing.elapsed_s >= 0.0);
  fuzz::require(std::isfinite(run.standing.epochs_done));
  if (run.limit_s) fuzz::require(!std::isnan(*run.limit_s));
  if (run.outlook) fuzz::require(!std::isnan(run.outlook->end_s));
}

/// No name of a run may add a line or a label.
void check_lines(const std::string& metrics) {
  fuzz::require(metrics.ends_with("# EOF\n"));
  for (std::size_t at = 0; at < metrics.size();) {
    const std::size_t end = metrics.find('\n', at);
    const std::string line = metrics.substr(at, end - at);
    fuzz::require(line.starts_with("# ") || line.starts_with("trainmark_"));
    at = end + 1;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const fuzz::MemoryFolder folder;
  const std::string log = folder.write("result_1.txt", kLog);
  folder.write("result_1.live.json", text);
  analysis::LiveRuns runs({log});
  const std::vector<analysis::LiveRun> seen = runs.look(FixedClock());
  fuzz::require(seen.size() == 1 && seen[0].problem.empty() == is_read(text));
  check(seen[0]);
  check_lines(analysis::report::status_openmetrics(seen));
  return 0;
}
