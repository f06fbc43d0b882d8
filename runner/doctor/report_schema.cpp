// The JSON Schema of the report's document.
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "runner/base/json_schema.h"
#include "runner/doctor/report.h"

namespace doctor {
namespace {

using base::schema::count;
using base::schema::described;
using base::schema::document;
using base::schema::list;
using base::schema::object;
using base::schema::or_null;
using base::schema::type;
using OrderedJson = base::schema::Json;

OrderedJson verdict() {
  OrderedJson names = OrderedJson::array();
  for (const Verdict one : kVerdicts) names.push_back(to_string(one));
  return {{"enum", std::move(names)}};
}

OrderedJson counts() {
  OrderedJson schema = object({});
  const OrderedJson names = verdict().at("enum");
  for (const OrderedJson& name : names) {
    schema["properties"][name.get<std::string>()] = count();
    schema["required"].push_back(name);
  }
  return schema;
}

OrderedJson findings() {
  OrderedJson ids = OrderedJson::array();
  for (const CatalogueEntry& entry : catalogue()) ids.emplace_back(entry.id);
  return list(object({{"id", {{"enum", std::move(ids)}}},
                      {"verdict", verdict()},
                      {"subject", described(type("string"), "which path, variable or host")},
                      {"measured", type("string")},
                      {"expected", type("string")},
                      {"remedy", type("string")},
                      {"value", or_null("number")},
                      {"unit", or_null("string")}}));
}

OrderedJson nodes() {
  return list(object({{"host", type("string")},
                      {"ranks", count()},
                      {"threads", described(count(), "of all its ranks; 0 where MPI failed")},
                      {"cpus", described(count(), "of all its ranks; 0 where MPI failed")},
                      {"findings", findings()}}));
}

OrderedJson network() {
  const OrderedJson link = object({{"left", type("string")},
                                   {"right", type("string")},
                                   {"latency_s", type("number")},
                                   {"bytes_per_s", type("number")},
                                   {"message_bytes", count()}});
  const OrderedJson ring = object({{"message_bytes", count()}, {"seconds", type("number")}});
  const OrderedJson sum =
      object({{"bytes", count()}, {"seconds", type("number")}, {"is_exact", type("boolean")}});
  return object({{"links", list(link)}, {"rings", list(ring)}, {"sums", list(sum)}});
}

OrderedJson checks() {
  OrderedJson schema = object({});
  for (const CatalogueEntry& entry : catalogue()) {
    schema["properties"][entry.id] =
        object({{"unit", or_null("string")}, {"definition", type("string")}});
    schema["required"].push_back(entry.id);
  }
  return schema;
}

}  // namespace

nlohmann::ordered_json report_schema() {
  return document("trainmark doctor --json",
                  object({
                      {"format", {{"const", kReportFormat}}},
                      {"configuration", or_null("string")},
                      {"quick", type("boolean")},
                      {"ranks", described(count(), "that were judged for")},
                      {"started_ranks", described(count(), "fewer where --ranks plans")},
                      {"verdict", described(verdict(), "the worst of all findings")},
                      {"exit_code", count()},
                      {"counts", counts()},
                      {"nodes", nodes()},
                      {"between_nodes", findings()},
                      {"network", network()},
                      {"checks", checks()},
                  }));
}

}  // namespace doctor
