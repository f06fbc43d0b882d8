// One side of a comparison: the runs of one benchmark on one system.
// Hides where the number of nodes is told.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/breakdown.h"
#include "analysis/comparison/layers.h"
#include "analysis/facts.h"
#include "analysis/systems.h"

namespace analysis::comparison {

/// A run and what lies beside its log. What is pointed to outlives this.
struct RunInSide {
  std::string file_name;
  const RunFacts* facts = nullptr;
  const RunTelemetry* telemetry = nullptr;  ///< null where there is none
  const LayerTimes* layers = nullptr;       ///< of its trace; null where there is none
  /// Its resolved configuration, flat; none of others' runs.
  std::map<std::string, std::string> settings;
};

/// What times are multiplied by before they are compared.
enum class Per { kSystem, kNode, kUnit };
const char* to_string(Per per);

/// The runs of one benchmark on one system.
struct Side {
  std::string name;
  const SystemFacts* system = nullptr;  ///< outlives this
  std::string round;                    ///< "hpc-1.0"; "" where nothing tells
  std::vector<RunInSide> runs;

  /// Those that reached the target and were not resumed, the fastest first.
  std::vector<const RunInSide*> successful() const;
  std::optional<double> nodes() const;
  /// How many it has, 1 for kSystem; nothing where it does not tell.
  std::optional<double> count(Per per) const;
};

}  // namespace analysis::comparison
