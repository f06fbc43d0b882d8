// Relates sets of runs on different amounts of the same hardware.
#include <fmt/format.h>

#include <map>
#include <utility>

#include "analysis/systems.h"
#include "runner/base/units.h"

namespace analysis {
namespace {

std::string several(std::optional<double> count, const std::string& name) {
  if (!count || *count <= 0.0 || name.empty()) return "";
  return fmt::format("{} {}", *count, name);
}

/// Sets of one benchmark on the same hardware, except sets of instances trained at the same time.
using Family = std::vector<const NamedSystem*>;

std::map<std::pair<std::string, std::string>, Family> families_of(
    const std::vector<NamedSystem>& systems) {
  std::map<std::pair<std::string, std::string>, Family> families;
  for (const NamedSystem& system : systems) {
    const SystemFacts& facts = *system.facts;
    const std::string hardware = facts.hardware();
    if (facts.weak || hardware.empty() || facts.compute_units.value_or(0.0) <= 0.0) continue;
    families[{facts.benchmark, hardware}].push_back(&system);
  }
  return families;
}

/// The smallest set with a known throughput, of several the fastest; null if there is none.
const NamedSystem* base_of(const Family& family) {
  const NamedSystem* base = nullptr;
  for (const NamedSystem* one : family) {
    const auto throughput = one->facts->epoch_throughput_per_unit();
    if (!throughput) continue;
    if (base) {
      const double units = *one->facts->compute_units, least = *base->facts->compute_units;
      if (units > least) continue;
      if (units == least && *throughput <= *base->facts->epoch_throughput_per_unit()) continue;
    }
    base = one;
  }
  return base;
}

}  // namespace

std::string SystemFacts::hardware() const {
  const bool accelerated = description.accelerators_per_node.value_or(0.0) > 0.0;
  if (accelerated && description.accelerator.empty()) return "";
  const std::string accelerators =
      several(description.accelerators_per_node, description.accelerator);
  const std::string processors = several(description.processors_per_node, description.processor);
  if (processors.empty()) return accelerators;
  return accelerators.empty() ? processors : accelerators + ", " + processors;
}

std::optional<double> SystemFacts::epoch_throughput_per_unit() const {
  return quotient(quotient(olympic.samples_per_epoch, olympic.mean_epoch_s), compute_units);
}

std::optional<double> SystemFacts::train_throughput_per_unit() const {
  return quotient(olympic.train_throughput, compute_units);
}

void relate_scales(const std::vector<NamedSystem>& systems) {
  for (const auto& [kind, family] : families_of(systems)) {
    const NamedSystem* const base = base_of(family);
    if (!base) continue;
    for (const NamedSystem* one : family) {
      SystemFacts& facts = *one->facts;
      if (*facts.compute_units <= *base->facts->compute_units) continue;
      facts.scaling = {
          base->name, *facts.compute_units / *base->facts->compute_units,
          quotient(facts.epoch_throughput_per_unit(), base->facts->epoch_throughput_per_unit()),
          quotient(facts.train_throughput_per_unit(), base->facts->train_throughput_per_unit())};
    }
  }
}

std::string cause_above_one(const SystemFacts& facts, const SystemFacts& smallest) {
  // Less does not show in figures as they are printed.
  constexpr double kLeastAbove = 0.0005, kLeastMore = 0.01;
  if (!facts.scaling || facts.scaling->efficiency.value_or(0.0) < 1.0 + kLeastAbove) return "";
  const auto here = facts.olympic.cached_fraction, there = smallest.olympic.cached_fraction;
  if (!here || !there || *here < *there + kLeastMore) return "";
  return fmt::format(
      "above 100 %, where caches gave {:.1f} % of the samples on {} compute units, and {:.1f} % on "
      "{}",
      *here * base::kPercent, *facts.compute_units, *there * base::kPercent,
      *smallest.compute_units);
}

}  // namespace analysis
