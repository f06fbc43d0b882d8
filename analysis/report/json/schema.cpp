// JSON Schemas of the documents that `analyze` and `compare` write.
#include "analysis/report/json/schema.h"

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <utility>

#include "analysis/definitions.h"
#include "analysis/fields.h"
#include "analysis/report/json/compare.h"
#include "analysis/report/json/report.h"
#include "analysis/run_fields.h"
#include "analysis/staged_fields.h"
#include "analysis/system_fields.h"
#include "runner/base/json_schema.h"
#include "runner/base/json_text.h"

namespace analysis::report {
namespace {

using base::schema::count;
using base::schema::described;
using base::schema::document;
using base::schema::Json;
using base::schema::list;
using base::schema::map_of;
using base::schema::Member;
using base::schema::object;
using base::schema::or_null;
using base::schema::type;

Json any_number() { return type("number"); }
Json maybe_number() { return or_null("number"); }
Json text() { return type("string"); }
Json maybe_text() { return or_null("string"); }
Json truth() { return type("boolean"); }
Json one_of(std::initializer_list<const char*> values) { return {{"enum", Json(values)}}; }
Json nullable(Json schema) { return {{"anyOf", {type("null"), std::move(schema)}}}; }
/// Figures with a unit are numbers or null. The others may also be booleans or strings.
template <class Facts>
void add_fields(std::vector<Member>& members, const std::vector<Field<Facts>>& fields) {
  for (const Field<Facts>& field : fields) {
    Json schema = field.unit.empty() ? Json{{"type", {"null", "boolean", "number", "string"}}}
                                     : maybe_number();
    const std::string unit = field.unit.empty() ? "" : " (" + field.unit + ")";
    members.emplace_back(field.name, described(std::move(schema), field.definition + unit));
  }
}

Json findings() {
  return list(object({{"rule", text()}, {"severity", text()}, {"text", text()}},
                     {{"line", count()}, {"column", count()}}));
}

Json breakdown() {
  const Json part = object({{"min_s", any_number()},
                            {"mean_s", any_number()},
                            {"max_s", any_number()},
                            {"percent_of_wall", maybe_number()}},
                           {{"min_rank", count()}, {"max_rank", count()}});
  return object({{"wall_s", any_number()}, {"parts", map_of(part)}});
}

Json telemetry() {
  const Json quantity = object({{"min", any_number()},
                                {"mean", any_number()},
                                {"max", any_number()},
                                {"sum", maybe_number()}});
  const Json straggler = object({{"phase", text()},
                                 {"rank", count()},
                                 {"node", count()},
                                 {"host", text()},
                                 {"longer_s", any_number()},
                                 {"where_s", map_of(any_number())},
                                 {"others_waited_s", any_number()},
                                 {"text", text()}});
  const Json slow = object({{"least_s", any_number()},
                            {"percent_of_training", any_number()},
                            {"bytes_per_s", any_number()},
                            {"nodes", count()},
                            {"hosts", list(text())},
                            {"text", text()}});
  const Json of_rank =
      object({{"rank", count()}, {"host", text()}, {"seconds", map_of(any_number())}});
  const Json steps =
      object({{"low_s", any_number()}, {"high_s", any_number()}, {"steps", count()}});
  return object({{"ranks", count()},
                 {"by_rank", described(list(of_rank), definition_of("subsystems"))},
                 {"step_histogram", described(list(steps), definition_of("step_histogram"))},
                 {"subsystems", breakdown()},
                 {"quantities", map_of(quantity)},
                 {"stragglers", list(straggler)},
                 {"slow_exchange", nullable(slow)},
                 {"overhead_fraction", maybe_number()}});
}

Json trace() {
  const Json transfer = object({{"name", text()},
                                {"count", any_number()},
                                {"bytes", any_number()},
                                {"in_flight_s", any_number()},
                                {"exposed_s", any_number()},
                                {"hidden_s", any_number()},
                                {"isolated_s", maybe_number()}});
  const auto seconds = [](const char* name) {
    return described(any_number(), definition_of(name));
  };
  return object({{"layers_s", described(map_of(any_number()), definition_of("layers_s"))},
                 {"traced_step_s", seconds("traced_step_s")},
                 {"compute_s", seconds("compute_s")},
                 {"exchange_s", seconds("exchange_s")},
                 {"transfers", described(list(transfer), definition_of("transfers"))}});
}

Json staged_set() {
  std::vector<Member> members;
  add_fields(members, staged_fields());
  const Json node =
      object({{"host", text()}, {"seconds", any_number()}, {"bytes_per_second", any_number()}});
  members.emplace_back("slowest", described(list(node), definition_of("staged_sets.slowest")));
  return object(members);
}

Json run() {
  std::vector<Member> members;
  add_fields(members, run_fields());
  const Json evaluation = object({{"epoch_num", maybe_number()},
                                  {"position", maybe_number()},
                                  {"time_s", maybe_number()},
                                  {"quality", maybe_number()}},
                                 {{"parts", map_of(maybe_number())}});
  members.insert(members.end(),
                 {{"conflicting_keys", map_of(type("array"))},
                  {"repeated_keys", map_of(count())},
                  {"convergence", list(evaluation)},
                  {"staged_sets", described(map_of(staged_set()), definition_of("staged_sets"))},
                  {"parts", nullable(breakdown())},
                  {"telemetry", nullable(telemetry())},
                  {"trace", nullable(trace())},
                  {"provenance", or_null("object")},
                  {"findings", findings()}});
  return object(members);
}

Json energy() {
  const Json log = object({{"power_w", maybe_number()}, {"conversion_efficiency", maybe_number()}},
                          {{"energy_j", maybe_number()},
                           {"measured_s", maybe_number()},
                           {"samples", count()},
                           {"sampling_interval_s", maybe_number()}});
  const Json of_run = object({{"energy_j", maybe_number()},
                              {"power_w", maybe_number()},
                              {"time_to_train_s", maybe_number()},
                              {"counts", truth()},
                              {"logs", map_of(log)}});
  return object({{"energy_j", maybe_number()},
                 {"mean_energy_j", maybe_number()},
                 {"scaling_factor", any_number()},
                 {"runs", map_of(of_run)}});
}

Json system() {
  std::vector<Member> members;
  add_fields(members, system_fields());
  for (Member& member : members) {
    if (member.first == "olympic_files") member.second = list(text());
  }
  members.insert(members.end(), {{"energy", nullable(energy())}, {"findings", findings()}});
  return object(members);
}

Json layer_difference() {
  return object({{"name", text()},
                 {"first_s", maybe_number()},
                 {"second_s", maybe_number()},
                 {"difference_s", any_number()}});
}

Json interval() {
  return {{"type", "array"}, {"items", any_number()}, {"minItems", 2}, {"maxItems", 2}};
}

Json inside() {
  const Json subsystem = object({{"name", text()},
                                 {"first_s", any_number()},
                                 {"second_s", any_number()},
                                 {"difference_s", any_number()},
                                 {"first_ranks_apart_s", any_number()},
                                 {"second_ranks_apart_s", any_number()},
                                 {"definition", text()}});
  return object({{"first_wall_s", any_number()},
                 {"second_wall_s", any_number()},
                 {"subsystems", list(subsystem)},
                 {"first_waiting", list(text())},
                 {"second_waiting", list(text())},
                 {"layers", list(layer_difference())}});
}

Json side() {
  const Json log = object({{"log", text()}, {"outcome", text()}, {"ttt_s", maybe_number()}});
  return object({{"label", text()},
                 {"name", text()},
                 {"round", maybe_text()},
                 {"runs", count()},
                 {"successful", count()},
                 {"olympic_mean_s", maybe_number()},
                 {"olympic_stdev_s", maybe_number()},
                 {"ttt_mean_s", maybe_number()},
                 {"ttt_stdev_s", maybe_number()},
                 {"nodes", maybe_number()},
                 {"compute_units", maybe_number()},
                 {"logs", list(log)}});
}

Json run_comparison() {
  const Json figure = object({{"name", text()},
                              {"unit", text()},
                              {"first", any_number()},
                              {"second", any_number()},
                              {"ratio", any_number()},
                              {"interval", nullable(interval())},
                              {"p_value", maybe_number()},
                              {"distinguishable", truth()},
                              {"definition", text()}});
  const Json unequal = list(object({{"what", text()}, {"first", text()}, {"second", text()}}));
  return object({{"first", text()},
                 {"second", text()},
                 {"verdict", text()},
                 {"first_runs", count()},
                 {"second_runs", count()},
                 {"by_score", truth()},
                 {"total", nullable(figure)},
                 {"factors", list(figure)},
                 {"why_none", maybe_text()},
                 {"unequal", unequal},
                 {"differences", unequal},
                 {"inside", nullable(inside())}});
}

Json runs_document() {
  const Json group = object(
      {{"benchmark", text()}, {"sides", list(side())}, {"comparisons", list(run_comparison())}});
  return object({{"schema", {{"const", kCompareSchema}}},
                 {"kind", {{"const", "runs"}}},
                 {"per", one_of({"system", "node", "unit"})},
                 {"groups", list(group)},
                 {"left_out", list(text())},
                 {"definitions", map_of(text())}});
}

Json bench_document() {
  const Json result =
      object({{"file", text()}, {"samples_per_s", any_number()}, {"steps", count()}});
  const Json comparison = object({{"file", text()},
                                  {"ratio", any_number()},
                                  {"interval", nullable(interval())},
                                  {"p_value", any_number()},
                                  {"distinguishable", truth()},
                                  {"differences", list(text())},
                                  {"layers", list(layer_difference())}});
  return object({{"schema", {{"const", kCompareSchema}}},
                 {"kind", {{"const", "bench"}}},
                 {"results", list(result)},
                 {"comparisons", list(comparison)},
                 {"definitions", map_of(text())}});
}

Json exchange_document() {
  const Json row = object({{"operation", text()},
                           {"bytes", count()},
                           {"side", one_of({"training", "mpi"})},
                           {"first_s", any_number()},
                           {"second_s", any_number()},
                           {"first_busbw_bytes_per_s", any_number()},
                           {"second_busbw_bytes_per_s", any_number()},
                           {"ratio", any_number()},
                           {"p_value", nullable(any_number())},
                           {"distinguishable", truth()}});
  const Json comparison = object({{"file", text()},
                                  {"rows", list(row)},
                                  {"only_first", count()},
                                  {"only_second", count()},
                                  {"differences", list(text())}});
  return object({{"schema", {{"const", kCompareSchema}}},
                 {"kind", {{"const", "exchange"}}},
                 {"results", list(object({{"file", text()}, {"rows", count()}}))},
                 {"comparisons", list(comparison)},
                 {"definitions", map_of(text())}});
}

}  // namespace

std::string report_schema_text() {
  const Json definition = object({{"definition", text()}, {"unit", text()}});
  const Json problem = object({{"path", text()}, {"text", text()}});
  const Json schema =
      document("trainmark analyze --json",
               object({{"schema", {{"const", kReportSchema}}},
                       {"files", described(map_of(run()), "by the log's name")},
                       {"systems", described(map_of(system()), "by the folder's name")},
                       {"problems", list(problem)},
                       {"definitions", map_of(definition)}}));
  return base::json_text(schema);
}

std::string compare_schema_text() {
  const Json schema =
      document("trainmark compare --json",
               {{"oneOf", {runs_document(), bench_document(), exchange_document()}}});
  return base::json_text(schema);
}

}  // namespace analysis::report
