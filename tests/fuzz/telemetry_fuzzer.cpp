// Arbitrary bytes as the telemetry file of a run: a DataError, or an account of each rank whose
// figures agree, and the summary of it that reports show.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/telemetry_file.h"
#include "runner/base/error.h"
#include "runner/telemetry/report_file.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/memory_folder.h"

namespace {

void check_rank(const telemetry::RankReport& rank) {
  double sum = 0.0;
  for (const double seconds : rank.subsystems_s) {
    fuzz::require(std::isfinite(seconds) && seconds >= 0.0);
    sum += seconds;
  }
  fuzz::require(std::abs(sum - rank.wall_s) <= telemetry::kSumTolerance * rank.wall_s);
  for (const std::int64_t count : rank.counters) fuzz::require(count >= 0);
  std::int64_t steps = 0;
  double low = -1.0;
  for (const telemetry::StepBucket& bucket : rank.step_s.buckets) {
    fuzz::require(bucket.low_s > low && bucket.high_s >= bucket.low_s && bucket.count > 0);
    low = bucket.low_s;
    steps += bucket.count;
  }
  fuzz::require(rank.step_s.buckets.empty() || steps == rank.step_s.count);
}

void check(const telemetry::Report& report) {
  fuzz::require(!report.ranks.empty());
  for (std::size_t i = 0; i < report.ranks.size(); ++i) {
    fuzz::require(report.ranks[i].identity.rank == static_cast<int>(i));
    check_rank(report.ranks[i]);
  }
  for (int i = 0; i < telemetry::kSubsystemCount; ++i) {
    const telemetry::Spread seconds = report.seconds(static_cast<telemetry::Subsystem>(i));
    fuzz::require(seconds.min <= seconds.max && std::isfinite(seconds.max));
  }
  for (int i = 0; i < telemetry::kCounterCount; ++i) {
    const auto counter = static_cast<telemetry::Counter>(i);
    fuzz::require(report.total(counter) >= report.ranks[0].counters[static_cast<std::size_t>(i)]);
  }
}

bool is_read(const std::string& text) {
  try {
    check(telemetry::parse_report(text, "fuzz.json"));
    return true;
  } catch (const base::DataError&) {
    return false;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const bool is_valid = is_read(text);
  const fuzz::MemoryFolder folder;
  folder.write("result_0.telemetry.json", text);
  std::vector<analysis::Finding> findings;
  const auto summary = analysis::read_telemetry_of(folder.path() + "/result_0.txt", findings);
  fuzz::require(summary.has_value() == is_valid && findings.empty() == is_valid);
  if (!summary) return 0;
  fuzz::require(summary->ranks == static_cast<std::int64_t>(summary->by_rank.size()));
  fuzz::require(summary->shortest_wall_s <= summary->longest_wall_s);
  for (const analysis::Quantity& quantity : summary->quantities) {
    fuzz::require(quantity.min <= quantity.max);
  }
  for (const analysis::StepCount& steps : summary->step_histogram) fuzz::require(steps.steps > 0);
  return 0;
}
