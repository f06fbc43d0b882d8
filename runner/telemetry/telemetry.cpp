// The account of one rank.
// Hides the scope stack and the clock readings.
#include "runner/telemetry/telemetry.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runner/base/error.h"

namespace telemetry {

namespace {

constexpr double kNanosecond = 1e-9;

std::size_t index(Subsystem subsystem) { return static_cast<std::size_t>(subsystem); }
std::size_t index(Counter counter) { return static_cast<std::size_t>(counter); }

/// Whether inner scopes change nothing: the whole duration belongs to this one.
bool keeps_all(Subsystem subsystem) {
  return subsystem == Subsystem::kEvaluation || subsystem == Subsystem::kStaging ||
         subsystem == Subsystem::kCheckpoint;
}

}  // namespace

Scope::Scope(Telemetry& telemetry, Subsystem subsystem) : telemetry_(telemetry) {
  telemetry_.enter(subsystem);
}

Scope::~Scope() { telemetry_.leave(); }

Telemetry::Telemetry(const base::Clock& clock) : clock_(clock) {
  stack_.push_back(Subsystem::kOther);
  restart();
}

void Telemetry::restart() {
  started_ns_ = last_ns_ = now_ns();
  scopes_ = 0;
  spent_ns_.fill(0);
  counters_.fill(0);
  steps_ = Histogram();
}

void Telemetry::account() {
  const std::int64_t now = now_ns();
  spent_ns_[index(stack_.back())] += now - last_ns_;
  last_ns_ = now;
}

void Telemetry::enter(Subsystem subsystem) {
  account();
  stack_.push_back(keeps_all(stack_.back()) ? stack_.back() : subsystem);
  ++scopes_;
}

void Telemetry::leave() {
  account();
  stack_.pop_back();
}

void Telemetry::add(Counter counter, std::int64_t amount) { counters_[index(counter)] += amount; }

void Telemetry::add_step(std::int64_t nanoseconds) { steps_.add(nanoseconds); }

double Telemetry::wall_s() const {
  return static_cast<double>(now_ns() - started_ns_) * kNanosecond;
}

double Telemetry::seconds(Subsystem subsystem) const {
  std::int64_t spent = spent_ns_[index(subsystem)];
  if (stack_.back() == subsystem) spent += now_ns() - last_ns_;
  return static_cast<double>(spent) * kNanosecond;
}

std::int64_t Telemetry::count(Counter counter) const { return counters_[index(counter)]; }

nlohmann::json Telemetry::to_json() const {
  const std::int64_t now = now_ns();  // one reading, so that the parts sum to the whole
  auto spent = spent_ns_;
  spent[index(stack_.back())] += now - last_ns_;
  nlohmann::json subsystems, counters;
  for (int i = 0; i < kSubsystemCount; ++i) {
    const auto subsystem = static_cast<Subsystem>(i);
    subsystems[to_string(subsystem)] = static_cast<double>(spent[index(subsystem)]) * kNanosecond;
  }
  for (int i = 0; i < kCounterCount; ++i) {
    const auto counter = static_cast<Counter>(i);
    counters[to_string(counter)] = count(counter);
  }
  return {{"wall_s", static_cast<double>(now - started_ns_) * kNanosecond},
          {"subsystems_s", std::move(subsystems)},
          {"counters", std::move(counters)},
          {"step_s", steps_.to_json()},
          {"scopes", scopes_},
          {"scope_cost_s", static_cast<double>(scopes_) * measured_scope_cost_s(clock_)}};
}

double measured_scope_cost_s(const base::Clock& clock) {
  // One scope is shorter than the clock can tell: batches are timed, and their median is taken.
  constexpr int kBatches = 41, kScopesPerBatch = 100;
  Telemetry telemetry(clock);
  std::vector<std::int64_t> batches_ns;
  for (int batch = 0; batch < kBatches; ++batch) {
    const std::int64_t start = clock.steady_ns();
    for (int i = 0; i < kScopesPerBatch; ++i) const Scope scope(telemetry, Subsystem::kForward);
    batches_ns.push_back(clock.steady_ns() - start);
  }
  const auto median = batches_ns.begin() + kBatches / 2;
  std::nth_element(batches_ns.begin(), median, batches_ns.end());
  return static_cast<double>(*median) * kNanosecond / kScopesPerBatch;
}

}  // namespace telemetry
