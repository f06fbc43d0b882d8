// A workload put together as a run does it, for tests on any number of ranks, and its weights.
// Hides what surrounds it.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "runner/base/error.h"
#include "runner/workload.h"
#include "telemetry_account.h"

namespace workload_trial {

using Arrays = std::map<std::string, std::vector<float>>;

/// ||a - b|| / ||b - start|| over all arrays: 0 where b has learnt what a has.
inline double update_error(const Arrays& start, const Arrays& a, const Arrays& b) {
  double distance = 0.0, norm = 0.0;
  for (const auto& [name, values] : b) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto goal = static_cast<double>(values[i]);
      norm += std::pow(goal - static_cast<double>(start.at(name).at(i)), 2);
      distance += std::pow(static_cast<double>(a.at(name).at(i)) - goal, 2);
    }
  }
  return norm > 0.0 ? std::sqrt(distance / norm) : std::numeric_limits<double>::infinity();
}

/// Weights as a file has them.
class MemoryState final : public runner::StateWriter, public runner::StateReader {
 public:
  using Shape = std::vector<std::int64_t>;
  void write(const std::string& name, const Shape& shape, std::span<const float> data) override {
    arrays[name].assign(data.begin(), data.end());
    shapes_[name] = shape;
  }
  void write(const std::string& name, std::int64_t) override { ADD_FAILURE() << name; }
  bool has(const std::string& name) const override { return arrays.count(name) == 1; }
  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const auto& [name, values] : arrays) names.push_back(name);
    return names;
  }
  std::vector<float> read(const std::string& name, const Shape& shape) const override {
    if (!has(name) || shapes_.at(name) != shape) {
      throw base::DataError("memory: " + name + ": absent or of another shape");
    }
    return arrays.at(name);
  }
  std::int64_t read_integer(const std::string& name) const override {
    throw base::DataError("memory: " + name + ": no weights");
  }
  const Shape& shape(const std::string& name) const { return shapes_.at(name); }
  Arrays arrays;

 private:
  std::map<std::string, Shape> shapes_;
};

/// A workload on `world`, ready to train.
class Trial {
 public:
  using Check = void (*)(const base::ObjectReader& reader);
  Trial(const runner::Communicator& world, const nlohmann::json& config, Check check,
        runner::MakeWorkload make)
      : Trial(world, runner::discover_topology(world), config, check, make) {}
  Trial(const runner::Communicator& world, runner::Topology topology, const nlohmann::json& config,
        Check check, runner::MakeWorkload make)
      : world_(world), topology_(std::move(topology)), telemetry_(clock_) {
    const base::ObjectReader reader(config, "test.json");
    (void)runner::parse_run_config(reader, "test.json");
    check(reader);
    reader.reject_unknown();
    workload_ =
        make(runner::parse_run_config(reader, "test.json"), {world, topology_, telemetry_, 1});
    workload_->open_data();
    workload_->initialize();
    facts_ = workload_->stage();
  }
  ~Trial() { telemetry::expect_whole_entry(telemetry::rank_entry({0, "here", 0, 1}, telemetry_)); }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;
  runner::Workload& workload() { return *workload_; }
  const nlohmann::json& staging() const { return facts_; }
  std::int64_t count(telemetry::Counter counter) const { return telemetry_.count(counter); }
  /// Scopes of telemetry so far.
  std::int64_t scopes() const { return telemetry_.to_json().at("scopes"); }
  /// Collective. On every rank what it has.
  Arrays weights() { return written(true).arrays; }
  /// Collective. On rank 0 alone, which gathers what others have.
  MemoryState saved_weights() { return written(world_.rank() == 0); }

 private:
  MemoryState written(bool is_here) {
    MemoryState state;
    workload_->save_weights(is_here ? &state : nullptr);
    world_.barrier();  // a node's ranks share them: nobody changes them while another reads
    return state;
  }

  const runner::Communicator& world_;
  base::SystemClock clock_;
  runner::Topology topology_;
  telemetry::Telemetry telemetry_;
  std::unique_ptr<runner::Workload> workload_;
  nlohmann::json facts_;
};

/// Collective. Expects that weights with a NaN have no quality, whatever becomes of the NaN behind
/// a rectifier. `weights` are whole on every rank.
inline void expect_no_quality_with_nan(const runner::Communicator& world,
                                       runner::Workload& workload, MemoryState weights) {
  for (const auto& one : {weights.arrays.begin(), std::prev(weights.arrays.end())}) {
    const float before = std::exchange(one->second.back(), std::numeric_limits<float>::quiet_NaN());
    world.barrier();  // the ranks of a node share one copy of the weights
    workload.load_weights(weights);
    EXPECT_TRUE(std::isnan(workload.evaluate(nullptr))) << one->first;
    one->second.back() = before;
  }
  world.barrier();
  workload.load_weights(weights);
  EXPECT_TRUE(std::isfinite(workload.evaluate(nullptr)));
}

}  // namespace workload_trial
