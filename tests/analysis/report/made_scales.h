// Two sets of one benchmark, for tests of reports that relate scales.
#pragma once

#include <utility>

#include "analysis/findings/report.h"
#include "analysis/systems.h"

namespace analysis {

/// "small" on one unit and "large" on four, which has 125 % of its throughput per unit and more of
/// its samples from caches.
inline Report two_scales() {
  Report report;
  for (const double nodes : {1.0, 4.0}) {
    SystemReport system;
    system.name = nodes == 1.0 ? "small" : "large";
    SystemFacts& facts = system.facts;
    facts.benchmark = "cosmoflow";
    facts.olympic_mean_s = 600.0 / nodes;
    facts.compute_units = nodes;
    facts.description.processors_per_node = 1.0;
    facts.description.processor = "Xeon";
    facts.olympic.samples_per_epoch = 1000.0;
    facts.olympic.mean_epoch_s = nodes == 1.0 ? 100.0 : 20.0;
    facts.olympic.cached_fraction = nodes == 1.0 ? 0.125 : 0.75;
    report.systems.push_back(std::move(system));
  }
  relate_scales({{"small", &report.systems[0].facts}, {"large", &report.systems[1].facts}});
  return report;
}

}  // namespace analysis
