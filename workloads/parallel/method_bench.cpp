// Times all methods and chooses the faster ones.
#include "workloads/parallel/method_bench.h"

#include <algorithm>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runner/base/json_text.h"
#include "runner/base/replaced_file.h"
#include "workloads/parallel/method_file.h"

namespace parallel {
namespace {

using nlohmann::json;

/// A method is written to the file if it saves at least this fraction of the layers' time.
constexpr double kLeastGain = 0.02;

/// A bench's time for one product of a layer.
struct Timed {
  std::string layer, product, key, method;
  double ms = 0.0;  ///< of the layer's forward pass, or of its backward pass for a gradient
};

bool is_forward(const std::string& product) { return product == "forward"; }

std::vector<Timed> times_of(const json& result) {
  std::vector<Timed> times;
  for (const json& one : result.at("layer_methods")) {
    const std::string product = one.at("product");
    times.push_back({one.at("layer"), product, one.at("key"), one.at("method"),
                     one.at(is_forward(product) ? "forward_ms" : "backward_ms")});
  }
  return times;
}

/// Pairs of a product and a method that some layer permits but does not use.
std::set<std::pair<std::string, std::string>> others(const json& result) {
  std::set<std::pair<std::string, std::string>> all;
  for (const json& one : result.at("layer_methods")) {
    for (const json& method : one.at("permitted")) {
      if (method != one.at("method")) all.emplace(one.at("product"), method);
    }
  }
  return all;
}

class MethodTable {
 public:
  explicit MethodTable(const json& result) : chosen_(times_of(result)) {}
  /// Adds a repetition of the first bench; the smaller of the two times counts.
  void add_again(const json& result) {
    const std::vector<Timed> again = times_of(result);
    for (std::size_t i = 0; i < chosen_.size(); ++i) {
      chosen_[i].ms = std::min(chosen_[i].ms, again.at(i).ms);
    }
  }
  void add(const std::string& product, const std::string& method, const json& result) {
    for (Timed& one : times_of(result)) {
      if (one.product == product && one.method == method) others_.push_back(std::move(one));
    }
  }
  json rows() const {
    json rows = json::array();
    for (const Timed& one : chosen_) {
      rows.push_back(row(one, one.ms, true));
      for (const Timed& other : others_) {
        const bool is_same = other.layer == one.layer && other.product == one.product;
        if (is_same && other.method != one.method) rows.push_back(row(other, one.ms, false));
      }
    }
    return rows;
  }
  /// By key, the fastest method if it saves at least kLeastGain.
  std::map<std::string, std::string> faster() const {
    std::map<std::string, std::string> methods;
    std::map<std::string, std::map<std::string, double>> sums;  // ms over layers: [key][method]
    for (const Timed& one : others_) sums[one.key][one.method] += one.ms;
    for (const auto& [key, by_method] : sums) {
      double best = (1.0 - kLeastGain) * chosen_ms(key);
      for (const auto& [method, ms] : by_method) {
        if (ms >= best) continue;
        best = ms;
        methods[key] = method;
      }
    }
    return methods;
  }

 private:
  static json row(const Timed& one, double chosen_ms, bool is_chosen) {
    return {{"name", one.layer},    {"product", one.product},
            {"method", one.method}, {"used", is_chosen ? "*" : ""},
            {"pass_ms", one.ms},    {"over_used", one.ms / chosen_ms}};
  }
  double chosen_ms(const std::string& key) const {
    double sum = 0.0;
    for (const Timed& one : chosen_) {
      if (one.key == key) sum += one.ms;
    }
    return sum;
  }
  std::vector<Timed> chosen_, others_;
};

}  // namespace

json run_benches(const TrainingOptions& options, const runner::Surroundings& around,
                 const RunBench& bench) {
  if (options.methods_output.empty()) return bench(options);
  const auto write = [&](const std::map<std::string, std::string>& methods) {
    if (around.world.rank() != 0) return;
    base::write_file(options.methods_output,
                     base::json_text(methods_document(methods, around.threads), 2));
  };
  write({});  // fail at once if the file cannot be written
  TrainingOptions timed = options;
  timed.layers = true;
  timed.limit_repetitions = 0;
  json result = bench(timed);
  MethodTable table(result);
  const auto methods = others(result);
  std::size_t done = 0;
  for (const auto& [product, method] : methods) {
    if (around.world.rank() == 0) {
      std::cerr << "bench: " << ++done << " of " << methods.size() << ": " << product << " by "
                << method << std::endl;
    }
    timed.method_overrides = {{product + " *", method}};
    table.add(product, method, bench(timed));
  }
  timed.method_overrides.clear();
  table.add_again(bench(timed));
  result.erase("layer_methods");
  const std::map<std::string, std::string> faster = table.faster();
  write(faster);
  result["methods"] = table.rows();
  result["faster_methods"] = faster;
  result["definitions"].update(json{
      {"methods", "each way in which a product of a convolution can be made"},
      {"methods.used", "* where the product is made so without being asked"},
      {"methods.pass_ms",
       "forward_ms of the layer where all its forward products are made so, or backward_ms where "
       "the gradient is: the other gradient is part of it. Medians over the steps; of what is used "
       "the smaller of two"},
      {"methods.over_used", "pass_ms over that of what is used"},
      {"faster_methods",
       "written to the file: methods that take at least 2 % less than what is used, in all layers "
       "of a shape together"}});
  return result;
}

}  // namespace parallel
