// Seconds of layers on two sides, the largest difference first.
// Hides how layers are matched, and the layout of traces.
#include "analysis/comparison/layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "runner/base/error.h"

namespace analysis::comparison {
namespace {

using nlohmann::json;

constexpr double kMicrosecond = 1e-6;

/// Takes the events of a trace one by one: a file holds hundreds of thousands of each rank.
class LayerReader : public nlohmann::json_sax<json> {
 public:
  LayerTimes sums;
  std::set<std::int64_t> ranks;
  double steps = 0.0;  ///< of all ranks together

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override { return take(static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) override {
    return take(static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t&) override { return take(value); }
  bool string(string_t& value) override {
    if (depth_ == kEvent && key_ == "name") event_.name = value;
    if (depth_ == kEvent && key_ == "cat") event_.category = value;
    return true;
  }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override {
    if (++depth_ == kEvent) event_ = {};
    return true;
  }
  bool end_object() override {
    if (depth_-- == kEvent && in_events_) finish_event();
    return true;
  }
  bool start_array(std::size_t) override {
    ++depth_;
    if (depth_ == kEvent - 1) in_events_ = key_ == "traceEvents";
    return true;
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool key(string_t& value) override {
    if (depth_ <= kEvent) key_ = value;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const json::exception&) override {
    wrong_at = position;
    return false;
  }
  std::size_t wrong_at = 0;

 private:
  /// Depth of what stands in an event: document, list, event.
  static constexpr int kEvent = 3;
  struct Event {
    std::string name, category;
    double duration = 0.0;
    std::int64_t rank = 0;
  };

  bool take(double value) {
    if (depth_ != kEvent || !in_events_) return true;
    if (key_ == "dur") event_.duration = value;
    if (key_ == "pid") event_.rank = static_cast<std::int64_t>(value);
    return true;
  }
  void finish_event() {
    ranks.insert(event_.rank);
    if (event_.category == "step") steps += 1.0;
    if (event_.category == "layer") sums[event_.name] += event_.duration * kMicrosecond;
  }

  int depth_ = 0;
  bool in_events_ = false;
  std::string key_;
  Event event_;
};

}  // namespace

std::vector<LayerDifference> layer_differences(const LayerTimes& first, const LayerTimes& second) {
  std::map<std::string, LayerDifference> by_name;
  for (const auto& [name, seconds] : first) by_name[name].first_s = seconds;
  for (const auto& [name, seconds] : second) by_name[name].second_s = seconds;
  std::vector<LayerDifference> differences;
  for (auto& [name, one] : by_name) {
    one.name = name;
    differences.push_back(std::move(one));
  }
  std::stable_sort(differences.begin(), differences.end(),
                   [](const LayerDifference& a, const LayerDifference& b) {
                     return std::abs(a.difference_s()) > std::abs(b.difference_s());
                   });
  return differences;
}

std::optional<LayerTimes> read_layers_beside(const std::filesystem::path& log) {
  const auto path = std::filesystem::path(log).replace_extension(".trace.json");
  std::error_code failed;
  if (!std::filesystem::exists(path, failed)) return std::nullopt;
  std::ifstream in(path, std::ios::binary);
  LayerReader reader;
  if (!in || !json::sax_parse(in, &reader)) {
    throw base::DataError(fmt::format("{}: byte {}: expected the trace of a run, found no JSON",
                                      path.string(), reader.wrong_at));
  }
  if (reader.sums.empty() || reader.steps <= 0.0) return std::nullopt;
  for (auto& [name, seconds] : reader.sums) seconds /= reader.steps;
  return reader.sums;
}

}  // namespace analysis::comparison
