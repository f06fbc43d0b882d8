// Chooses how a job's samples are read: sizes first, rates only where they matter.
#include "staging/decide.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <system_error>

namespace staging {
namespace {

namespace fs = std::filesystem;

/// Collective. Whether a node's folder holds anything, such as copies that may be used again.
bool may_have_copies(const std::string& directory, const Place& place) {
  std::int64_t found = 0;
  std::error_code error;
  if (place.topology.is_node_leader() && !fs::is_empty(directory, error) && !error) found = 1;
  return place.world.allreduce_max(found) != 0;
}

std::vector<StagingPlan> plan_all(const std::vector<Wanted>& sets, const StagingConfig& config,
                                  const Place& place) {
  std::vector<StagingPlan> plans;
  for (const Wanted& set : sets) {
    plans.push_back(plan_staging(*set.source, set.ranges, place.world, place.topology,
                                 config.directory, config.compressed));
  }
  return plans;
}

/// Collective. Reads of the set of which the job needs the most bytes.
MeasuredRates measure(const std::vector<Wanted>& sets, const StagingConfig& config,
                      const Survey& survey, const Place& place) {
  std::size_t largest = 0;
  double most = -1.0;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const double bytes = survey.sample_bytes[i] * static_cast<double>(sets[i].source->size());
    if (bytes > most) {
      most = bytes;
      largest = i;
    }
  }
  const auto varied_by = place.world.allreduce_max(place.clock.steady_ns() / 1000);
  return measure_rates({*sets[largest].source, survey.ranges[largest], survey.sample_bytes[largest],
                        config.directory, static_cast<std::uint64_t>(varied_by)},
                       place.world, place.topology, place.clock);
}

std::vector<CopyingMode> modes_for(const StagingConfig& config) {
  if (config.mode == StagingMode::kAuto) return copying_modes(config.overlap);
  return {copying_mode(config.mode, config.overlap)};
}

nlohmann::json number_or_null(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(nullptr);
}

nlohmann::json number_or_null(const std::optional<double>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

nlohmann::json to_json(const Prediction& one) {
  return {{"mode", to_string(one.mode)},
          {"staging_s", number_or_null(one.staging_s)},
          {"total_s", number_or_null(one.total_s)},
          {"break_even_epochs", number_or_null(one.break_even_epochs)}};
}

}  // namespace

Decision decide(const std::vector<Wanted>& sets, const StagingConfig& config,
                const Outlook& outlook, const Place& place) {
  Decision found;
  found.survey = look_around(sets, config, outlook, place);
  const bool is_auto = config.mode == StagingMode::kAuto;
  const Wish wish =
      !is_auto || config.afterwards == Afterwards::kKeep ? Wish::kCopy : Wish::kFastest;
  const std::vector<CopyingMode> modes = modes_for(config);
  const auto plan_exactly = [&] {
    found.plans = plan_all(sets, config, place);
    be_exact(found.survey, found.plans, place.world, place.topology);
  };
  if (wish == Wish::kCopy || may_have_copies(config.directory, place)) plan_exactly();
  found.rates = config.given.rates;
  const auto by_size = choose_by_size(modes, found.survey.sizes, found.survey.horizon, wish,
                                      found.rates ? RatesAre::kKnown : RatesAre::kUnknown);
  if (by_size) {
    found.choice = *by_size;
  } else {
    if (!found.rates) {
      const MeasuredRates measured = measure(sets, config, found.survey, place);
      found.rates = measured.rates;
      found.probed = measured.counts;
    }
    const auto choose_now = [&] {
      found.choice = choose(modes, found.survey.sizes, *found.rates, found.survey.horizon, wish);
    };
    choose_now();
    if (found.choice.mode != StagingMode::kStream && found.plans.empty()) {
      plan_exactly();
      choose_now();
    }
  }
  if (found.choice.mode == StagingMode::kStream) {
    found.plans.clear();
  } else if (found.plans.empty()) {
    plan_exactly();
  }
  if (!is_auto) found.choice.reason = fmt::format("staging.mode is {}", to_string(config.mode));
  return found;
}

nlohmann::json to_json(const Decision& decision, const StagingConfig& config) {
  const Horizon& horizon = decision.survey.horizon;
  nlohmann::json modes = nullptr;
  for (const Prediction& one : decision.choice.predictions) modes.push_back(to_json(one));
  nlohmann::json found = {{"chosen", to_string(decision.choice.mode)},
                          {"reason", decision.choice.reason},
                          {"staging_s", nullptr},
                          {"total_s", nullptr},
                          {"break_even_epochs", nullptr},
                          {"modes", modes},
                          {"epochs", horizon.epochs},
                          {"epoch_compute_s", nullptr},
                          {"cache_bytes", horizon.cache_bytes},
                          {"rates", nullptr},
                          {"rates_are_given", config.given.rates.has_value()},
                          {"probe", nullptr}};
  if (const Prediction* one = decision.choice.predicted()) {
    found["staging_s"] = number_or_null(one->staging_s);
    found["total_s"] = number_or_null(one->total_s);
    found["break_even_epochs"] = number_or_null(one->break_even_epochs);
  }
  if (horizon.compute_s > 0.0) found["epoch_compute_s"] = horizon.compute_s;
  if (decision.rates) found["rates"] = to_json(*decision.rates);
  if (decision.probed) found["probe"] = to_json(*decision.probed);
  return found;
}

nlohmann::json node_table(const Decision& decision) {
  const Survey& survey = decision.survey;
  nlohmann::json table = nlohmann::json::array();
  for (std::size_t i = 0; i < survey.nodes.size(); ++i) {
    const NodeNeeds& node = survey.nodes[i];
    nlohmann::json seconds = nullptr;
    if (decision.choice.mode == StagingMode::kStream || node.missing == 0) {
      seconds = 0.0;
    } else if (decision.rates) {
      // All nodes read together; each writes its own part.
      Sizes own = survey.sizes;
      own.missing = node.missing;
      seconds = number_or_null(
          predict(copying_mode(decision.choice.mode), own, *decision.rates, survey.horizon)
              .staging_s);
    }
    table.push_back({{"node", i},
                     {"host", survey.hosts[i]},
                     {"needed_bytes", node.needed},
                     {"missing_bytes", node.missing},
                     {"free_bytes", node.room},
                     {"is_in_memory", node.is_in_memory},
                     {"staging_s", seconds}});
  }
  return table;
}

}  // namespace staging
