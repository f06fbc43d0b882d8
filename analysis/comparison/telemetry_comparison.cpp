// Compares where the time of this program's runs went.
#include "analysis/comparison/telemetry_comparison.h"

namespace analysis::comparison {
namespace {

using Runs = std::vector<const RunInSide*>;

/// The runs that count and have telemetry.
Runs told_by(const Side& side) {
  const Runs successful = side.successful();
  Runs runs;
  for (const RunInSide& run : side.runs) {
    const bool counts = successful.empty() || succeeded(*run.facts);
    if (counts && run.telemetry) runs.push_back(&run);
  }
  return runs;
}

struct MeanPart {
  std::string name, definition;
  double mean_s = 0.0, spread_s = 0.0;
};

/// Telemetry has the same subsystems in every run.
std::vector<MeanPart> mean_parts(const Runs& runs) {
  std::vector<MeanPart> parts;
  const auto n = static_cast<double>(runs.size());
  for (const Part& part : runs.front()->telemetry->subsystems.parts) {
    parts.push_back({part.name, part.definition});
  }
  for (const RunInSide* run : runs) {
    const std::vector<Part>& own = run->telemetry->subsystems.parts;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      parts[i].mean_s += own[i].mean_s / n;
      parts[i].spread_s += (own[i].max_s - own[i].min_s) / n;
    }
  }
  return parts;
}

double mean_wall_s(const Runs& runs) {
  double sum = 0.0;
  for (const RunInSide* run : runs) sum += run->telemetry->subsystems.wall_s;
  return sum / static_cast<double>(runs.size());
}

std::vector<std::string> waiting_of(const Runs& runs) {
  std::vector<std::string> sentences;
  for (const RunInSide* run : runs) {
    const Waiting& waiting = run->telemetry->waiting;
    for (const Straggler& one : waiting.stragglers) {
      sentences.push_back(run->file_name + ": " + sentence(one));
    }
    if (waiting.slow_exchange) {
      sentences.push_back(run->file_name + ": " + sentence(*waiting.slow_exchange));
    }
  }
  return sentences;
}

/// Means over the runs that were traced.
LayerTimes layers_of(const Side& side) {
  LayerTimes sums;
  double runs = 0.0;
  for (const RunInSide& run : side.runs) {
    if (!run.layers) continue;
    runs += 1.0;
    for (const auto& [name, seconds] : *run.layers) sums[name] += seconds;
  }
  for (auto& [name, seconds] : sums) seconds /= runs;
  return sums;
}

}  // namespace

std::optional<TelemetryComparison> compare_telemetry(const Side& first, const Side& second) {
  const Runs one = told_by(first), other = told_by(second);
  if (one.empty() || other.empty()) return std::nullopt;
  TelemetryComparison inside;
  inside.first_wall_s = mean_wall_s(one);
  inside.second_wall_s = mean_wall_s(other);
  const std::vector<MeanPart> parts = mean_parts(one), others = mean_parts(other);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    inside.subsystems.push_back({parts[i].name, parts[i].definition, parts[i].mean_s,
                                 others[i].mean_s, parts[i].spread_s, others[i].spread_s});
  }
  inside.first_waiting = waiting_of(one);
  inside.second_waiting = waiting_of(other);
  const LayerTimes layers = layers_of(first), other_layers = layers_of(second);
  if (!layers.empty() && !other_layers.empty()) {
    inside.layers = layer_differences(layers, other_layers);
  }
  return inside;
}

}  // namespace analysis::comparison
