// Reads and writes method files.
#include "workloads/parallel/method_file.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "runner/base/error.h"
#include "runner/base/input_file.h"
#include "runner/base/object_reader.h"
#include "runner/base/strict_json.h"
#include "runner/base/system_facts.h"
#include "workloads/nn/products/method.h"

namespace parallel {
namespace {

using nlohmann::json;

constexpr std::int64_t kSchema = 1;

bool begins_with_product(const std::string& key) {
  for (const auto product :
       {nn::ConvolutionProduct::kForward, nn::ConvolutionProduct::kSourceGradient,
        nn::ConvolutionProduct::kWeightsGradient}) {
    if (key.starts_with(std::string(to_string(product)) + " ")) return true;
  }
  return false;
}

json parsed(const std::string& path) {
  std::string problem;
  const auto text = base::read_text(path, problem);
  if (!text) throw base::ConfigError(path + ": " + problem);
  try {
    json document = base::parse_strict_json(*text, path, base::JsonComments::kRefused);
    if (document.is_object()) return document;
    throw base::DataError(path + ": expected an object, got " + base::brief_json(document));
  } catch (const base::DataError& e) {
    throw base::ConfigError(e.what());
  }
}

}  // namespace

std::map<std::string, std::string> read_methods(const std::string& path) {
  const json document = parsed(path);
  const base::ObjectReader in(document, path);
  in.required<std::int64_t>("schema", "of this file", base::within(kSchema, kSchema));
  in.optional<std::string>("cpu_model", "", "where it was measured");
  in.optional<std::int64_t>("threads", 0, "of a rank, with which it was measured");
  std::map<std::string, std::string> methods;
  for (const base::ObjectReader& row : in.objects("methods", "one of each product and shape")) {
    const auto key = row.required<std::string>("product", "and the shapes of its operands");
    const auto method = row.required<std::string>("method", "that makes it");
    if (!begins_with_product(key)) {
      throw base::ConfigError(row.where("product") +
                              ": expected forward, source_gradient or weights_gradient and shapes, "
                              "got " +
                              key);
    }
    if (!nn::method_named(method)) {
      throw base::ConfigError(row.where("method") + ": expected the name of a method, got " +
                              method);
    }
    if (!methods.emplace(key, method).second) {
      throw base::ConfigError(row.where("product") + ": given twice: " + key);
    }
  }
  in.reject_unknown();
  return methods;
}

json methods_document(const std::map<std::string, std::string>& methods, int threads) {
  json rows = json::array();
  for (const auto& [key, method] : methods) rows.push_back({{"product", key}, {"method", method}});
  const json machine = base::machine_facts();
  const auto model = machine.find("cpu_model");
  const bool is_known = model != machine.end() && model->is_string();
  return {{"schema", kSchema},
          {"cpu_model", is_known ? *model : json("unknown")},
          {"threads", threads},
          {"methods", std::move(rows)}};
}

}  // namespace parallel
