// Where a rank's time goes: exclusive subsystem scopes, counters, a step histogram, and an optional
// trace. Hides the scope stack and the clock readings. One Telemetry per rank, used from its main
// thread only.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "runner/base/activity.h"
#include "runner/base/clock.h"
#include "runner/telemetry/trace.h"

namespace telemetry {

/// A layer, and the method by which its products are made.
struct LayerMethod {
  std::string layer, method;
};

/// Every moment of a run belongs to exactly one. Definitions (shown with every report) in
/// subsystem_definition().
enum class Subsystem {
  kStaging,
  kInput,
  kForward,
  kBackward,
  kExchange,
  kOptimizer,
  kEvaluation,
  kCheckpoint,
  kOther
};
inline constexpr int kSubsystemCount = 9;
const char* to_string(Subsystem subsystem);
const char* subsystem_definition(Subsystem subsystem);

enum class Counter {
  kBytesRead,
  kBytesStaged,
  kBytesSent,
  kFlops,
  kTrainSamples,
  kEvalSamples,
  kSteps,
  kExchangeTotalNs,
  kSkippedSamples
};
inline constexpr int kCounterCount = 9;
const char* to_string(Counter counter);
const char* counter_definition(Counter counter);

class Telemetry;

/// Whether inner scopes take nothing from this subsystem: its whole duration is its own, and what
/// they took of it is told apart (Telemetry::within_s). So with staging, evaluation, checkpoint.
bool keeps_all(Subsystem subsystem);

/// While it lives, time belongs to its subsystem; an inner scope pauses it, but for those that
/// keep all.
class [[nodiscard]] Scope {
 public:
  Scope(Telemetry& telemetry, Subsystem subsystem);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  Telemetry& telemetry_;
};

/// Counts of durations in logarithmic buckets (about 5 % wide), so that a million steps stay small.
class Histogram {
 public:
  void add(std::int64_t nanoseconds);
  std::int64_t count() const { return count_; }
  /// Value at quantile q in [0, 1], within a bucket's width; 0 when empty.
  double quantile_s(double q) const;
  double mean_s() const;
  double min_s() const;
  double max_s() const;
  nlohmann::json to_json() const;

 private:
  std::vector<std::int64_t> buckets_;
  std::int64_t count_ = 0, total_ns_ = 0, min_ns_ = 0, max_ns_ = 0;
};

/// The account of one rank, from construction (or the last restart()) on.
class Telemetry {
 public:
  /// `watched`, if any, is told of every scope and step, and outlives this.
  explicit Telemetry(const base::Clock& clock, base::Activity* watched = nullptr);

  /// Forgets everything and begins anew: called at run_start.
  void restart();
  void add(Counter counter, std::int64_t amount);
  /// A transfer starts, or its end was noticed, while other work goes on; several may be under way.
  /// `name` says what goes (a literal), `bytes` how much of it this rank gives. Scopes of kExchange
  /// are exchanges without that. What all cover is kExchangeTotalNs.
  TracedTransfer begin_exchange(const char* name, std::int64_t bytes);
  void end_exchange(const TracedTransfer& transfer);
  /// A training step, from begin to end; returns its wall time in nanoseconds.
  void begin_step();
  std::int64_t end_step();
  /// Which outlives this, is told of all that follows; its steps are numbered as `watched` counts
  /// them.
  void trace_to(Trace& trace) { trace_ = &trace; }
  bool is_traced() const { return trace_ != nullptr; }
  /// A part of the scope that lives, for the trace alone; `name` outlives that. Outside of traced
  /// steps these look at no clock.
  void enter_layer(const char* name, const char* method);
  void leave_layer();
  std::int64_t now_ns() const { return clock_.steady_ns(); }
  const base::Clock& clock() const { return clock_; }

  /// Seconds since restart, all subsystems together.
  double wall_s() const;
  /// Seconds of one subsystem so far, running scope included.
  double seconds(Subsystem subsystem) const;
  /// The part of `outer`, which keeps all, that scopes of `inner` took.
  double within_s(Subsystem outer, Subsystem inner) const;
  std::int64_t count(Counter counter) const;
  /// {"wall_s", "subsystems_s": {...}, "within_s": {outer: {inner: ...}}, "counters": {...},
  /// "step_s": {histogram}, "scopes", "scope_cost_s"}
  nlohmann::json to_json() const;

 private:
  friend class Scope;
  void enter(Subsystem subsystem);
  void leave();
  void account();
  void show() const;
  bool is_in_traced_step() const { return trace_ != nullptr && trace_->is_in_step(); }
  /// Who pays for the time of a scope, and what was done in it.
  struct Charge {
    Subsystem payer, activity;
  };
  using Spent = std::array<std::array<std::int64_t, kSubsystemCount>, kSubsystemCount>;
  /// What was spent up to `now`, by payer and activity.
  Spent spent_until(std::int64_t now) const;
  double scope_cost_s() const;
  std::int64_t count_until(Counter counter, std::int64_t now) const;
  nlohmann::json within_json(const Spent& spent) const;
  const base::Clock& clock_;
  base::Activity* watched_;
  Trace* trace_ = nullptr;
  std::int64_t step_began_ns_ = 0;
  std::int64_t started_ns_ = 0, last_ns_ = 0;
  std::int64_t scopes_ = 0;  ///< with the layers and transfers that were traced
  std::vector<Charge> stack_;
  Spent spent_ns_{};
  std::int64_t exchanges_ = 0, exchange_began_ns_ = 0;  ///< under way now, and since when
  std::array<std::int64_t, kCounterCount> counters_{};
  Histogram steps_;
};

enum class Traced { kNo, kYes };
/// Seconds that entering and leaving one scope costs here and now (median of several thousand); a
/// traced one is recorded, too.
double measured_scope_cost_s(const base::Clock& clock, Traced traced = Traced::kNo);

}  // namespace telemetry
