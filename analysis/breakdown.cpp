// Breakdown of a run's time by its log's records.
#include "analysis/breakdown.h"

#include "analysis/definitions.h"
#include "runner/base/units.h"

namespace analysis {
namespace {

void add_part(Breakdown& breakdown, const std::string& name, const std::string& definition,
              const std::optional<double>& seconds) {
  if (!seconds) return;
  Part part{name, definition, *seconds, *seconds, *seconds, {}, {}, {}};
  if (breakdown.wall_s > 0.0) part.percent = base::kPercent * *seconds / breakdown.wall_s;
  breakdown.parts.push_back(part);
}

}  // namespace

std::optional<Breakdown> log_breakdown(const RunFacts& facts) {
  if (!facts.window_s || *facts.window_s <= 0.0) return std::nullopt;
  const RunParts& parts = facts.parts;
  Breakdown result;
  result.wall_s = *facts.window_s;
  if (parts.staging_in_run_s) {
    add_part(result, "staging", definition_of("staging_alone_s"), parts.staging_alone_s());
  }
  if (parts.async_eval && parts.other_s) {
    const double both = result.wall_s - *parts.other_s - parts.staging_alone_s();
    add_part(result, "train_and_eval", "time of the run outside staging and other", both);
  } else {
    add_part(result, "train", definition_of("train_s"), parts.train_s);
    add_part(result, "eval", definition_of("eval_s"), parts.eval_s);
  }
  add_part(result, "other", definition_of("other_s"), parts.other_s);
  return result;
}

std::optional<double> RunTelemetry::cached_fraction() const {
  if (!levels || !cache) return std::nullopt;
  const auto cached = static_cast<double>(cache->memory_samples) +
                      static_cast<double>(cache->disk_samples) +
                      static_cast<double>(cache->peer_samples);
  const double all = cached + static_cast<double>(levels->copy_samples) +
                     static_cast<double>(levels->source_samples);
  return all > 0.0 ? std::optional(cached / all) : std::nullopt;
}

}  // namespace analysis
