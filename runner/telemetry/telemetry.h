// Where a rank's time goes: exclusive subsystem scopes, counters, a step histogram, and an optional
// trace. One Telemetry per rank, used only from its main thread.
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

/// A layer and the method that computes its products.
struct LayerMethod {
  std::string layer, method;
};

/// Every moment of a run belongs to exactly one subsystem. subsystem_definition() gives their
/// definitions, which every report shows.
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
  kSkippedSamples,
  kFlawedSamples,
  kBytesFromCopy,
  kBytesFromSource,
  kSamplesFromCopy,
  kSamplesFromSource,
  kRepairedSamples,
  kBytesFromMemory,
  kBytesFromDisk,
  kBytesFromPeers,
  kSamplesFromMemory,
  kSamplesFromDisk,
  kSamplesFromPeers,
  kGradientBytesSent,
  kGradientMessagesSent
};
inline constexpr int kCounterCount = 23;
const char* to_string(Counter counter);
const char* counter_definition(Counter counter);

class Telemetry;

/// Whether time in inner scopes still counts for this subsystem: true for staging, evaluation and
/// checkpoint. The time of inner scopes is also reported separately (Telemetry::within_s).
bool includes_inner_scopes(Subsystem subsystem);

/// While it lives, time counts for its subsystem. An inner scope pauses it unless
/// includes_inner_scopes(subsystem).
class [[nodiscard]] Scope {
 public:
  Scope(Telemetry& telemetry, Subsystem subsystem);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  Telemetry& telemetry_;
};

/// Durations counted in logarithmic buckets (about 5 % wide): small for any number of steps.
class Histogram {
 public:
  void add(std::int64_t nanoseconds);
  std::int64_t count() const { return count_; }
  /// The value at quantile q in [0, 1], to within a bucket's width; 0 if empty.
  double quantile_s(double q) const;
  double mean_s() const;
  double min_s() const;
  double max_s() const;
  nlohmann::json to_json() const;

 private:
  std::vector<std::int64_t> buckets_;
  std::int64_t count_ = 0, total_ns_ = 0, min_ns_ = 0, max_ns_ = 0;
};

/// Pieces in which gradients travel between nodes, tried at the start of training.
struct PieceTrial {
  std::int64_t bytes = 0;   ///< of each
  bool last_first = false;  ///< whether later ones overtake earlier ones
  double step_s = 0;        ///< the shortest step with it, on the slowest rank
  bool is_kept = false;     ///< for all later steps
};

/// The account of one rank since construction or the last restart().
class Telemetry {
 public:
  /// `watched`, if present, is notified of every scope and step; it outlives this object.
  explicit Telemetry(const base::Clock& clock, base::Activity* watched = nullptr);

  /// Discards everything and restarts; called at run_start.
  void restart();
  void add(Counter counter, std::int64_t amount);
  /// Call begin_exchange() when a transfer starts in the background, and end_exchange() when its
  /// end is noticed; several may be in flight. `name` (a literal) says what is transferred, `bytes`
  /// how much this rank sends. A scope of kExchange is an exchange by itself. kExchangeTotalNs is
  /// the time covered by any of them.
  TracedTransfer begin_exchange(const char* name, std::int64_t bytes);
  void end_exchange(const TracedTransfer& transfer);
  void tell_trial(const PieceTrial& trial) { trials_.push_back(trial); }
  /// A training step. end_step() returns its wall time in nanoseconds.
  void begin_step();
  std::int64_t end_step();
  /// Also records everything from now on in `trace`, which outlives this object. Steps are numbered
  /// as `watched` counts them.
  void trace_to(Trace& trace) { trace_ = &trace; }
  bool is_traced() const { return trace_ != nullptr; }
  /// Marks a layer within the current scope, for the trace only; `name` must outlive the trace.
  /// Outside of traced steps these calls do not read the clock.
  void enter_layer(const char* name, const char* method);
  void leave_layer();
  std::int64_t now_ns() const { return clock_.steady_ns(); }
  const base::Clock& clock() const { return clock_; }

  /// Seconds since restart, over all subsystems.
  double wall_s() const;
  /// Seconds of one subsystem so far, including the running scope.
  double seconds(Subsystem subsystem) const;
  /// The seconds of `outer`, which must keep all, that were spent in scopes of `inner`.
  double within_s(Subsystem outer, Subsystem inner) const;
  std::int64_t count(Counter counter) const;
  /// {"wall_s", "subsystems_s": {...}, "within_s": {outer: {inner: ...}}, "counters": {...},
  /// "step_s": {histogram}, "scopes", "scope_cost_s", "gradient_pieces": [{"bytes",
  /// "last_first", "step_s", "is_kept"}]}
  nlohmann::json to_json() const;
  /// Of the traced steps, counted from 1, the one that goes on; 0: none does.
  std::int64_t traced_step() const { return is_in_traced_step() ? trace_->traced_steps() : 0; }

 private:
  friend class Scope;
  void enter(Subsystem subsystem);
  void leave();
  void account();
  void show() const;
  bool is_in_traced_step() const { return trace_ != nullptr && trace_->is_in_step(); }
  /// The subsystem that a scope's time counts for, and the scope's own subsystem.
  struct Charge {
    Subsystem payer, activity;
  };
  using Spent = std::array<std::array<std::int64_t, kSubsystemCount>, kSubsystemCount>;
  /// Time spent up to `now`, by payer and activity.
  Spent spent_until(std::int64_t now) const;
  double scope_cost_s() const;
  std::int64_t count_until(Counter counter, std::int64_t now) const;
  nlohmann::json within_json(const Spent& spent) const;
  const base::Clock& clock_;
  base::Activity* watched_;
  Trace* trace_ = nullptr;
  std::int64_t step_began_ns_ = 0;
  std::int64_t started_ns_ = 0, last_ns_ = 0;
  std::int64_t scopes_ = 0;  ///< includes traced layers and transfers
  std::vector<Charge> stack_;
  Spent spent_ns_{};
  std::int64_t exchanges_ = 0, exchange_began_ns_ = 0;  ///< number in flight now, and the start of
                                                        ///< that period
  std::array<std::int64_t, kCounterCount> counters_{};
  Histogram steps_;
  std::vector<PieceTrial> trials_;
};

enum class Traced { kNo, kYes };
/// Measured cost in seconds of entering and leaving one scope (median of batches); kYes: a traced
/// one.
double measured_scope_cost_s(const base::Clock& clock, Traced traced = Traced::kNo);

}  // namespace telemetry
