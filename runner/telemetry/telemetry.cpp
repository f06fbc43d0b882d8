// The account of one rank.
#include "runner/telemetry/telemetry.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "runner/base/error.h"
#include "runner/base/units.h"
#include "runner/telemetry/seconds_of.h"

namespace telemetry {

namespace {

std::size_t index(Subsystem subsystem) { return static_cast<std::size_t>(subsystem); }
std::size_t index(Counter counter) { return static_cast<std::size_t>(counter); }

template <class Row>
std::int64_t sum_of(const Row& row) {
  return std::accumulate(row.begin(), row.end(), std::int64_t{0});
}

}  // namespace

bool includes_inner_scopes(Subsystem subsystem) {
  return subsystem == Subsystem::kEvaluation || subsystem == Subsystem::kStaging ||
         subsystem == Subsystem::kCheckpoint;
}

Scope::Scope(Telemetry& telemetry, Subsystem subsystem) : telemetry_(telemetry) {
  telemetry_.enter(subsystem);
}

Scope::~Scope() { telemetry_.leave(); }

Telemetry::Telemetry(const base::Clock& clock, base::Activity* watched)
    : clock_(clock), watched_(watched) {
  stack_.push_back({Subsystem::kOther, Subsystem::kOther});
  restart();
}

void Telemetry::restart() {
  started_ns_ = last_ns_ = exchange_began_ns_ = now_ns();
  scopes_ = 0;
  spent_ns_ = {};
  counters_.fill(0);
  steps_ = Histogram();
  trials_.clear();
  if (trace_ != nullptr) trace_->restart();
}

void Telemetry::account() {
  const std::int64_t now = now_ns();
  const Charge& charge = stack_.back();
  spent_ns_[index(charge.payer)][index(charge.activity)] += now - last_ns_;
  last_ns_ = now;
}

void Telemetry::enter(Subsystem subsystem) {
  account();
  const Subsystem outer = stack_.back().payer;
  stack_.push_back({includes_inner_scopes(outer) ? outer : subsystem, subsystem});
  ++scopes_;
  if (subsystem == Subsystem::kExchange && exchanges_++ == 0) exchange_began_ns_ = last_ns_;
  if (trace_ != nullptr) {
    trace_->enter(to_string(subsystem), subsystem == Subsystem::kExchange, last_ns_);
  }
  show();
}

void Telemetry::leave() {
  account();
  const bool was_exchange = stack_.back().activity == Subsystem::kExchange;
  stack_.pop_back();
  if (was_exchange && --exchanges_ == 0) {
    add(Counter::kExchangeTotalNs, last_ns_ - exchange_began_ns_);
  }
  if (trace_ != nullptr) trace_->leave(last_ns_);
  show();
}

void Telemetry::show() const {
  if (watched_ == nullptr) return;
  // Show the inner scope, even if its time counts for the outer one.
  const Subsystem activity = stack_.back().activity;
  watched_->set_work(activity == Subsystem::kOther ? nullptr : to_string(activity));
}

TracedTransfer Telemetry::begin_exchange(const char* name, std::int64_t bytes) {
  const bool is_first = exchanges_++ == 0, is_traced = is_in_traced_step();
  if (!is_first && !is_traced) return {};
  const std::int64_t now = now_ns();
  if (is_first) exchange_began_ns_ = now;
  if (!is_traced) return {};
  ++scopes_;
  return trace_->begin_transfer(name, bytes, now);
}

void Telemetry::end_exchange(const TracedTransfer& transfer) {
  const bool is_last = --exchanges_ == 0;
  if (!is_last && !transfer.is_traced()) return;
  const std::int64_t now = now_ns();
  if (is_last) add(Counter::kExchangeTotalNs, now - exchange_began_ns_);
  if (transfer.is_traced()) trace_->end_transfer(transfer, now);  // possibly after its step
}

void Telemetry::enter_layer(const char* name, const char* method) {
  if (!is_in_traced_step()) return;
  ++scopes_;
  trace_->enter_layer(name, method, now_ns());
}

void Telemetry::leave_layer() {
  if (is_in_traced_step()) trace_->leave(now_ns());
}

void Telemetry::add(Counter counter, std::int64_t amount) { counters_[index(counter)] += amount; }

void Telemetry::begin_step() {
  step_began_ns_ = now_ns();
  if (trace_ == nullptr) return;
  trace_->begin_step(watched_ == nullptr ? steps_.count() + 1 : watched_->look().steps + 1,
                     step_began_ns_);
}

std::int64_t Telemetry::end_step() {
  const std::int64_t now = now_ns();
  if (trace_ != nullptr) trace_->end_step(now);
  steps_.add(now - step_began_ns_);
  if (watched_ != nullptr) watched_->finish_step();
  return now - step_began_ns_;
}

double Telemetry::wall_s() const { return seconds_of(now_ns() - started_ns_); }

Telemetry::Spent Telemetry::spent_until(std::int64_t now) const {
  Spent spent = spent_ns_;
  spent[index(stack_.back().payer)][index(stack_.back().activity)] += now - last_ns_;
  return spent;
}

std::int64_t Telemetry::count_until(Counter counter, std::int64_t now) const {
  const bool runs = counter == Counter::kExchangeTotalNs && exchanges_ > 0;
  return counters_[index(counter)] + (runs ? now - exchange_began_ns_ : 0);
}

double Telemetry::seconds(Subsystem subsystem) const {
  return seconds_of(sum_of(spent_until(now_ns())[index(subsystem)]));
}

double Telemetry::within_s(Subsystem outer, Subsystem inner) const {
  return seconds_of(spent_until(now_ns())[index(outer)][index(inner)]);
}

std::int64_t Telemetry::count(Counter counter) const { return count_until(counter, now_ns()); }

nlohmann::json Telemetry::within_json(const Spent& spent) const {
  nlohmann::json within = nlohmann::json::object();
  for (int i = 0; i < kSubsystemCount; ++i) {
    const auto outer = static_cast<Subsystem>(i);
    if (!includes_inner_scopes(outer)) continue;
    nlohmann::json& parts = within[to_string(outer)] = nlohmann::json::object();
    for (int j = 0; j < kSubsystemCount; ++j) {
      const auto inner = static_cast<Subsystem>(j);
      const std::int64_t took = spent[index(outer)][index(inner)];
      if (inner != outer && took > 0) parts[to_string(inner)] = seconds_of(took);
    }
  }
  return within;
}

nlohmann::json Telemetry::to_json() const {
  const std::int64_t now = now_ns();  // a single clock reading, so that the parts sum to the whole
  const Spent spent = spent_until(now);
  nlohmann::json subsystems, counters;
  for (int i = 0; i < kSubsystemCount; ++i) {
    const auto subsystem = static_cast<Subsystem>(i);
    subsystems[to_string(subsystem)] = seconds_of(sum_of(spent[index(subsystem)]));
  }
  for (int i = 0; i < kCounterCount; ++i) {
    const auto counter = static_cast<Counter>(i);
    counters[to_string(counter)] = count_until(counter, now);
  }
  nlohmann::json pieces = nlohmann::json::array();
  for (const PieceTrial& trial : trials_) {
    pieces.push_back({{"bytes", trial.bytes},
                      {"last_first", trial.last_first},
                      {"step_s", trial.step_s},
                      {"is_kept", trial.is_kept}});
  }
  return {{"wall_s", seconds_of(now - started_ns_)},
          {"subsystems_s", std::move(subsystems)},
          {"within_s", within_json(spent)},
          {"counters", std::move(counters)},
          {"step_s", steps_.to_json()},
          {"scopes", scopes_},
          {"scope_cost_s", scope_cost_s()},
          {"gradient_pieces", std::move(pieces)}};
}

double Telemetry::scope_cost_s() const {
  const double one_s = measured_scope_cost_s(clock_);
  const double all_s = static_cast<double>(scopes_) * one_s;
  const std::int64_t traced = trace_ == nullptr ? 0 : trace_->event_count();
  if (traced == 0) return all_s;
  const double more_s = std::max(0.0, measured_scope_cost_s(clock_, Traced::kYes) - one_s);
  return all_s + static_cast<double>(traced) * more_s;
}

double measured_scope_cost_s(const base::Clock& clock, Traced traced) {
  // One scope is shorter than the clock's resolution: time batches, and take their median.
  constexpr int kBatches = 41, kScopesPerBatch = 100;
  base::Activity activity;
  Telemetry telemetry(clock, &activity);
  Trace trace({1, 1}, traced == Traced::kYes ? 1 + kBatches * kScopesPerBatch : 0);
  if (traced == Traced::kYes) telemetry.trace_to(trace);
  telemetry.begin_step();
  std::vector<std::int64_t> batches_ns;
  for (int batch = 0; batch < kBatches; ++batch) {
    const std::int64_t start = clock.steady_ns();
    for (int i = 0; i < kScopesPerBatch; ++i) const Scope scope(telemetry, Subsystem::kForward);
    batches_ns.push_back(clock.steady_ns() - start);
  }
  const auto median = batches_ns.begin() + kBatches / 2;
  std::nth_element(batches_ns.begin(), median, batches_ns.end());
  return static_cast<double>(*median) * base::kNanosecond / kScopesPerBatch;
}

}  // namespace telemetry
