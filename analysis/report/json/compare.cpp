// Comparisons as JSON.
#include "analysis/report/json/compare.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "analysis/definitions.h"
#include "analysis/findings/comparison_definitions.h"
#include "analysis/report/json/optional.h"
#include "runner/base/json_text.h"
#include "runner/base/printable.h"

namespace analysis::report {
namespace {

using Json = nlohmann::ordered_json;
using comparison::ConditionDifference;
using comparison::FigureComparison;
using comparison::RunComparison;

Json text(const std::string& value) {
  return value.empty() ? Json() : Json(base::printable(value));
}

Json json_of(const ComparedSide& side) {
  const SystemFacts& facts = side.system->facts;
  Json logs = Json::array();
  for (const comparison::RunInSide& run : side.side.runs) {
    logs.push_back({{"log", base::printable(run.file_name)},
                    {"outcome", to_string(run.facts->outcome)},
                    {"ttt_s", optional_json(run.facts->ttt_s)}});
  }
  return {{"label", side.label},
          {"name", base::printable(side.side.name)},
          {"round", text(side.side.round)},
          {"runs", facts.runs},
          {"successful", facts.successful},
          {"olympic_mean_s", optional_json(facts.olympic_mean_s)},
          {"olympic_stdev_s", optional_json(facts.olympic_stdev_s)},
          {"ttt_mean_s", optional_json(facts.ttt_mean_s)},
          {"ttt_stdev_s", optional_json(facts.ttt_stdev_s)},
          {"nodes", optional_json(side.side.nodes())},
          {"compute_units", optional_json(facts.compute_units)},
          {"logs", std::move(logs)}};
}

Json json_of(const FigureComparison& figure) {
  return {{"name", figure.name},
          {"unit", figure.unit},
          {"first", figure.first},
          {"second", figure.second},
          {"ratio", figure.ratio},
          {"interval", interval_json(figure.interval)},
          {"p_value", optional_json(figure.p_value)},
          {"distinguishable", figure.distinguishable},
          {"definition", figure.definition}};
}

Json json_of(const std::vector<ConditionDifference>& differences) {
  Json list = Json::array();
  for (const ConditionDifference& one : differences) {
    list.push_back({{"what", base::printable(one.what)},
                    {"first", base::printable(one.first)},
                    {"second", base::printable(one.second)}});
  }
  return list;
}

Json json_of(const comparison::TelemetryComparison& inside) {
  Json subsystems = Json::array();
  for (const comparison::SubsystemDifference& one : inside.subsystems) {
    subsystems.push_back({{"name", one.name},
                          {"first_s", one.first_s},
                          {"second_s", one.second_s},
                          {"difference_s", one.difference_s()},
                          {"first_ranks_apart_s", one.first_spread_s},
                          {"second_ranks_apart_s", one.second_spread_s},
                          {"definition", one.definition}});
  }
  const auto sentences = [](const std::vector<std::string>& list) {
    Json shown = Json::array();
    for (const std::string& sentence : list) shown.push_back(base::printable(sentence));
    return shown;
  };
  return {{"first_wall_s", inside.first_wall_s},
          {"second_wall_s", inside.second_wall_s},
          {"subsystems", std::move(subsystems)},
          {"first_waiting", sentences(inside.first_waiting)},
          {"second_waiting", sentences(inside.second_waiting)},
          {"layers", layers_json(inside.layers)}};
}

Json json_of(const ComparedSide& first, const ComparedSide& second,
             const RunComparison& comparison) {
  Json factors = Json::array();
  for (const FigureComparison& factor : comparison.factors) factors.push_back(json_of(factor));
  return {{"first", first.label},
          {"second", second.label},
          {"verdict", base::printable(verdict(first.label, second.label, comparison))},
          {"first_runs", comparison.first_runs},
          {"second_runs", comparison.second_runs},
          {"by_score", comparison.scored},
          {"total", comparison.total ? json_of(*comparison.total) : Json()},
          {"factors", std::move(factors)},
          {"why_none", text(comparison.why_none)},
          {"unequal", json_of(comparison.unequal)},
          {"differences", json_of(comparison.differences)},
          {"inside", comparison.inside ? json_of(*comparison.inside) : Json()}};
}

Json compare_definitions() {
  Json all = Json::object();
  for (const auto& [name, definition] : comparison_definitions()) all[name] = definition;
  for (const char* const name :
       {"olympic_mean_s", "olympic_stdev_s", "ttt_mean_s", "ttt_stdev_s", "compute_units"}) {
    all[name] = definition_of(name);
  }
  return all;
}

}  // namespace

Json layers_json(const std::vector<comparison::LayerDifference>& layers) {
  Json list = Json::array();
  for (const comparison::LayerDifference& one : layers) {
    list.push_back({{"name", base::printable(one.name)},
                    {"first_s", optional_json(one.first_s)},
                    {"second_s", optional_json(one.second_s)},
                    {"difference_s", one.difference_s()}});
  }
  return list;
}

Json interval_json(const comparison::Interval& interval) {
  if (!std::isfinite(interval.low)) return nullptr;
  return {interval.low, interval.high};
}

std::string compare_json_text(const Compared& compared) {
  Json groups = Json::array();
  for (const ComparedGroup& group : compared.groups) {
    Json sides = Json::array(), comparisons = Json::array();
    for (const ComparedSide& side : group.sides) sides.push_back(json_of(side));
    for (std::size_t i = 0; i < group.comparisons.size(); ++i) {
      comparisons.push_back(json_of(group.sides.front(), group.sides[i + 1], group.comparisons[i]));
    }
    groups.push_back({{"benchmark", base::printable(group.benchmark)},
                      {"sides", std::move(sides)},
                      {"comparisons", std::move(comparisons)}});
  }
  Json left_out = Json::array();
  for (const std::string& one : compared.left_out) left_out.push_back(base::printable(one));
  const Json document = {{"schema", kCompareSchema},
                         {"kind", "runs"},
                         {"per", comparison::to_string(compared.per)},
                         {"groups", std::move(groups)},
                         {"left_out", std::move(left_out)},
                         {"definitions", compare_definitions()}};
  return base::json_text(document);
}

std::string bench_document_text(const char* kind, Json results, Json comparisons,
                                Json definitions) {
  const Json document = {{"schema", kCompareSchema},
                         {"kind", kind},
                         {"results", std::move(results)},
                         {"comparisons", std::move(comparisons)},
                         {"definitions", std::move(definitions)}};
  return base::json_text(document);
}

}  // namespace analysis::report
