// The report as one JSON document.
#include "analysis/report/json/report.h"

#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/definitions.h"
#include "analysis/fields.h"
#include "analysis/report/json/energy.h"
#include "analysis/report/json/optional.h"
#include "analysis/run_fields.h"
#include "analysis/staged_fields.h"
#include "analysis/system_fields.h"
#include "runner/base/json_text.h"
#include "runner/base/printable.h"

namespace analysis::report {
namespace {

using Json = nlohmann::ordered_json;

/// Makes strings printable: those of a log may be any bytes, but JSON is UTF-8. A number that is
/// not finite becomes null.
Json json_of(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return base::printable(*text);
  return Json(to_json(value));
}

Json json_of(const std::optional<double>& value) { return json_of(optional_value(value)); }

template <class Facts>
void add_fields(Json& object, const std::vector<Field<Facts>>& fields, const Facts& facts) {
  for (const Field<Facts>& field : fields) object[field.name] = json_of(field.get(facts));
}

Json report_findings_json(const std::vector<Finding>& findings) {
  Json list = Json::array();
  for (const Finding& finding : findings) {
    Json one = {{"rule", finding.rule}, {"severity", to_string(finding.severity)}};
    if (finding.line > 0) one["line"] = finding.line;
    if (finding.column > 0) one["column"] = finding.column;
    one["text"] = base::printable(finding.text);
    list.push_back(std::move(one));
  }
  return list;
}

Json convergence_json(const RunFacts& facts) {
  Json list = Json::array();
  for (const Evaluation& one : facts.evaluations) {
    Json point = {{"epoch_num", json_of(facts.epoch_num(one))},
                  {"position", json_of(one.position)},
                  {"time_s", one.time_s},
                  {"quality", json_of(Value(one.quality))}};
    for (std::size_t i = 0; i < one.parts.size(); ++i) {
      point["parts"][facts.target->parts[i].name()] = json_of(Value(one.parts[i]));
    }
    list.push_back(std::move(point));
  }
  return list;
}

Json parts_json(const Breakdown& breakdown) {
  Json parts = Json::object();
  for (const Part& part : breakdown.parts) {
    parts[part.name] = {{"min_s", part.min_s},
                        {"mean_s", part.mean_s},
                        {"max_s", part.max_s},
                        {"percent_of_wall", json_of(part.percent)}};
    if (part.min_rank) parts[part.name]["min_rank"] = *part.min_rank;
    if (part.max_rank) parts[part.name]["max_rank"] = *part.max_rank;
  }
  return {{"wall_s", breakdown.wall_s}, {"parts", std::move(parts)}};
}

Json quantities_json(const RunTelemetry& telemetry) {
  Json quantities = Json::object();
  for (const Quantity& quantity : telemetry.quantities) {
    quantities[quantity.name] = {{"min", quantity.min},
                                 {"mean", quantity.mean},
                                 {"max", quantity.max},
                                 {"sum", json_of(quantity.sum)}};
  }
  return quantities;
}

/// JSON that telemetry wrote; null if `text` is empty.
Json parsed(const std::string& text) {
  if (text.empty()) return nullptr;
  return Json::parse(text, nullptr, false);
}

Json stragglers_json(const Waiting& waiting) {
  Json list = Json::array();
  for (const Straggler& one : waiting.stragglers) {
    Json where = Json::object();
    for (const auto& [part, seconds] : one.where) where[part] = seconds;
    list.push_back({{"phase", one.phase},
                    {"rank", one.rank},
                    {"node", one.node},
                    {"host", base::printable(one.host)},
                    {"longer_s", one.longer_s},
                    {"where_s", where},
                    {"others_waited_s", one.others_waited_s},
                    {"text", base::printable(sentence(one))}});
  }
  return list;
}

Json slow_exchange_json(const std::optional<SlowExchange>& slow) {
  if (!slow) return nullptr;
  Json hosts = Json::array();
  for (const std::string& host : slow->hosts) hosts.push_back(base::printable(host));
  return {{"least_s", slow->least_s},
          {"percent_of_training", slow->percent},
          {"bytes_per_s", slow->bytes_per_s},
          {"nodes", slow->nodes},
          {"hosts", hosts},
          {"text", base::printable(sentence(*slow))}};
}

Json by_rank_json(const RunTelemetry& telemetry) {
  Json list = Json::array();
  for (const RankParts& rank : telemetry.by_rank) {
    Json seconds = Json::object();
    for (std::size_t i = 0; i < rank.seconds.size(); ++i) {
      seconds[telemetry.subsystems.parts[i].name] = rank.seconds[i];
    }
    list.push_back({{"rank", rank.rank},
                    {"host", base::printable(rank.host)},
                    {"seconds", std::move(seconds)}});
  }
  return list;
}

Json step_histogram_json(const RunTelemetry& telemetry) {
  Json list = Json::array();
  for (const StepCount& one : telemetry.step_histogram) {
    list.push_back({{"low_s", one.low_s}, {"high_s", one.high_s}, {"steps", one.steps}});
  }
  return list;
}

/// By set; an object without members for a log that tells of none.
Json staged_sets_json(const RunFacts& facts) {
  Json sets = Json::object();
  for (const StagedSet& set : facts.staged_sets) {
    constexpr std::size_t kFurther = 1;  // members after the fields
    Json one = roomy_object(staged_fields().size() + kFurther);
    add_fields(one, staged_fields(), set);
    Json slowest = Json::array();
    for (const SlowNode& node : set.slowest) {
      slowest.push_back({{"host", base::printable(node.host)},
                         {"seconds", node.seconds},
                         {"bytes_per_second", node.bytes_per_second}});
    }
    one["slowest"] = std::move(slowest);
    sets[base::printable(set.name)] = std::move(one);
  }
  return sets;
}

Json trace_json(const RunTrace& trace) {
  Json layers = Json::object();
  for (const auto& [name, seconds] : trace.layers) layers[base::printable(name)] = seconds;
  const TracedStep& step = trace.step;
  Json transfers = Json::array();
  for (const TracedTransfers& one : step.transfers) {
    transfers.push_back({{"name", base::printable(one.name)},
                         {"count", one.count},
                         {"bytes", one.bytes},
                         {"in_flight_s", one.in_flight_s},
                         {"exposed_s", one.exposed_s},
                         {"hidden_s", one.hidden_s()},
                         {"isolated_s", json_of(Value(one.isolated_s))}});
  }
  return {{"layers_s", std::move(layers)},
          {"traced_step_s", step.seconds},
          {"compute_s", step.compute_s()},
          {"exchange_s", step.exchange_s},
          {"transfers", std::move(transfers)}};
}

Json telemetry_json(const RunTelemetry& telemetry) {
  Json json = {{"ranks", telemetry.ranks}};
  json["by_rank"] = by_rank_json(telemetry);
  json["step_histogram"] = step_histogram_json(telemetry);
  json["subsystems"] = parts_json(telemetry.subsystems);
  json["quantities"] = quantities_json(telemetry);
  json["stragglers"] = stragglers_json(telemetry.waiting);
  json["slow_exchange"] = slow_exchange_json(telemetry.waiting.slow_exchange);
  json["overhead_fraction"] = json_of(telemetry.overhead_fraction);
  return json;
}

Json run_json(const RunReport& run) {
  constexpr std::size_t kFurther = 9;  // members after the fields
  Json json = roomy_object(run_fields().size() + kFurther);
  add_fields(json, run_fields(), run.facts);
  Json conflicting = Json::object();
  for (const auto& [key, values] : run.facts.conflicting_keys) {
    Json& list = conflicting[key] = Json::array();
    for (const Value& value : values) list.push_back(json_of(value));
  }
  json["conflicting_keys"] = std::move(conflicting);
  Json repeated = Json::object();
  for (const auto& [key, count] : run.facts.repeated_keys) repeated[key] = count;
  json["repeated_keys"] = std::move(repeated);
  json["convergence"] = convergence_json(run.facts);
  json["staged_sets"] = staged_sets_json(run.facts);
  json["parts"] = run.log_parts ? parts_json(*run.log_parts) : Json();
  json["telemetry"] = run.telemetry ? telemetry_json(*run.telemetry) : Json();
  json["trace"] = run.trace ? trace_json(*run.trace) : Json();
  json["provenance"] = run.telemetry ? parsed(run.telemetry->provenance_json) : Json();
  json["findings"] = report_findings_json(run.findings);
  return json;
}

Json system_json(const SystemReport& system) {
  constexpr std::size_t kFurther = 8;  // members after the fields
  Json json = roomy_object(system_fields().size() + kFurther);
  add_fields(json, system_fields(), system.facts);
  Json files = Json::array();
  for (const std::string& file : system.facts.olympic_files) files.push_back(base::printable(file));
  json["olympic_files"] = std::move(files);
  json["energy"] = system.energy ? energy_json(*system.energy) : Json();
  json["findings"] = report_findings_json(system.findings);
  return json;
}

template <class Facts>
void define(Json& definitions, const std::vector<Field<Facts>>& fields,
            const std::string& before = "") {
  for (const Field<Facts>& field : fields) {
    definitions[before + field.name] = {{"definition", field.definition}, {"unit", field.unit}};
  }
}

/// Adds each definition once, although it comes with every run.
class UniqueDefinitions {
 public:
  explicit UniqueDefinitions(Json& all) : all_(all) {}
  void add(const char* group, const std::string& name, const std::string& text, const char* unit) {
    if (seen_.emplace(group, name).second) {
      all_[group + name] = {{"definition", text}, {"unit", unit}};
    }
  }

 private:
  Json& all_;
  std::set<std::pair<std::string_view, std::string>> seen_;
};

Json definitions_json(const Report& report) {
  Json definitions = Json::object();
  define(definitions, run_fields());
  define(definitions, system_fields());
  define(definitions, staged_fields(), "staged_sets.");
  definitions.update(energy_definitions_json());
  UniqueDefinitions rest(definitions);
  for (const auto& [name, text] : conventions()) rest.add("", name, text, "");
  for (const RunReport& run : report.runs) {
    if (run.log_parts) {
      for (const Part& part : run.log_parts->parts) {
        rest.add("parts.", part.name, part.definition, "s");
      }
    }
    if (!run.telemetry) continue;
    for (const Part& part : run.telemetry->subsystems.parts) {
      rest.add("subsystems.", part.name, part.definition, "s");
    }
    for (const Quantity& quantity : run.telemetry->quantities) {
      rest.add("quantities.", quantity.name, quantity.definition, "");
    }
  }
  return definitions;
}

}  // namespace

nlohmann::ordered_json report_json(const Report& report) {
  LargeObject files(report.runs.size()), systems(report.systems.size());
  for (const RunReport& run : report.runs) files.set(base::printable(run.name), run_json(run));
  for (const SystemReport& one : report.systems) {
    systems.set(base::printable(one.name), system_json(one));
  }
  Json problems = Json::array();
  for (const Problem& problem : report.problems) {
    problems.push_back(
        {{"path", base::printable(problem.path)}, {"text", base::printable(problem.text)}});
  }
  constexpr std::size_t kMembers = 8;
  Json json = roomy_object(kMembers);
  json["schema"] = kReportSchema;
  json["files"] = std::move(files).take();
  json["systems"] = std::move(systems).take();
  json["problems"] = std::move(problems);
  json["definitions"] = definitions_json(report);
  return json;
}

std::string report_json_text(const Report& report) { return base::json_text(report_json(report)); }

}  // namespace analysis::report
