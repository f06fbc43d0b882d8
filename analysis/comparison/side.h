// One side of a comparison: the runs of one benchmark on one system.
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

/// A run and the content of files next to its log. What it points to must outlive it.
struct RunInSide {
  std::string file_name;
  const RunFacts* facts = nullptr;
  const RunTelemetry* telemetry = nullptr;  ///< null if there is none
  const LayerTimes* layers = nullptr;       ///< of its trace; null if there is none
  /// Its resolved configuration, flat; empty for runs of other programs.
  std::map<std::string, std::string> settings;
};

/// The count by which times are multiplied before they are compared.
enum class Per { kSystem, kNode, kUnit };
const char* to_string(Per per);

/// The runs of one benchmark on one system.
struct Side {
  std::string name;
  const SystemFacts* system = nullptr;  ///< must outlive this
  std::string round;                    ///< "hpc-1.0"; "" if unknown
  std::vector<RunInSide> runs;

  /// Runs that reached the target and were not resumed, the fastest first.
  std::vector<const RunInSide*> successful() const;
  std::optional<double> nodes() const;
  /// The number of nodes or units, 1 for kSystem; absent if unknown.
  std::optional<double> count(Per per) const;
};

}  // namespace analysis::comparison
