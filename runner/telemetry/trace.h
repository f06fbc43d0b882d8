// The timeline of a rank's work in selected training steps, and how its transfers overlapped with
// work.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace telemetry {

/// Training steps counted from 1 over the run (including the steps before a resume), both
/// inclusive.
struct StepRange {
  std::int64_t first = 1, last = 0;
};
/// Parses "FIRST:LAST"; throws ConfigError unless 1 <= FIRST <= LAST.
StepRange parse_step_range(const std::string& text);

/// Times are nanoseconds on the rank's own clock. Names are literals or outlive the trace.
struct TraceEvent {
  enum class Kind { kStep, kScope, kLayer, kTransfer };
  const char* name = nullptr;
  Kind kind = Kind::kScope;
  std::int64_t begin_ns = 0, end_ns = 0;
  std::int64_t amount = 0;  ///< of a step: its number; of a transfer: bytes that this rank sent
  const char* method = nullptr;  ///< of a layer
};

/// Totals of the transfers with one name within the steps, or of all transfers.
struct TransferTimes {
  std::string name;
  std::int64_t count = 0, bytes = 0;
  std::int64_t in_flight_ns = 0;  ///< time while at least one was in flight
  std::int64_t exposed_ns = 0;    ///< the part of in_flight_ns during which the rank was in an
                                  ///< exchange scope
  std::int64_t hidden_ns() const { return in_flight_ns - exposed_ns; }
};

/// What Trace::end_transfer() needs to know about the start.
struct TracedTransfer {
  int times = -1;  ///< index; -1: began outside of the traced steps
  std::int64_t event = -1;
  bool is_traced() const { return times >= 0; }
};

/// Records nothing outside of its steps. Calls must be in order of time and from one thread.
class Trace {
 public:
  /// Maximum number of stored layer events, and of all other events; more are counted and dropped.
  /// Both buffers take 24 MiB, events() the same again, and half of that for sorting.
  static constexpr std::int64_t kMostEvents = std::int64_t{1} << 18;
  explicit Trace(const StepRange& steps, std::int64_t most_events = kMostEvents);

  const StepRange& steps() const { return steps_; }
  /// Discards everything.
  void restart();

  bool is_in_step() const { return is_in_step_; }  ///< in one of the steps to trace
  void begin_step(std::int64_t number, std::int64_t now_ns);
  void end_step(std::int64_t now_ns);
  /// Enters a scope, nested in those entered before.
  void enter(const char* name, bool is_exchange, std::int64_t now_ns);
  /// `method` computes the layer's products; null: unknown.
  void enter_layer(const char* name, const char* method, std::int64_t now_ns);
  void leave(std::int64_t now_ns);
  TracedTransfer begin_transfer(const char* name, std::int64_t bytes, std::int64_t now_ns);
  void end_transfer(const TracedTransfer& transfer, std::int64_t now_ns);

  /// Completed events in order of their start, an outer one before its inner ones.
  std::vector<TraceEvent> events() const;
  /// Events so far, whether stored or dropped, completed or not.
  std::int64_t event_count() const {
    return std::ssize(events_) + std::ssize(layers_) + dropped_ + dropped_layers_;
  }
  std::int64_t dropped() const { return dropped_; }
  std::int64_t dropped_layers() const { return dropped_layers_; }
  std::int64_t traced_steps() const { return traced_steps_; }
  std::int64_t steps_ns() const { return steps_ns_; }        ///< total duration of the traced steps
  std::int64_t exchange_ns() const { return exchange_ns_; }  ///< the part of it in exchange scopes
  /// By name, in order of the first start; complete even if events were dropped.
  const std::vector<TransferTimes>& transfers() const { return transfers_; }
  /// All transfers together, each moment counted once.
  const TransferTimes& all_transfers() const { return all_; }

 private:
  /// An open scope or layer: where it is stored, or -1.
  struct Open {
    std::vector<TraceEvent>* events;
    std::int64_t event;
    bool is_exchange;
  };
  std::int64_t record(std::vector<TraceEvent>& events, std::int64_t& dropped,
                      const TraceEvent& event) const;
  bool is_exposed() const { return !open_.empty() && open_.back().is_exchange; }
  /// Accounts for the time since the last change.
  void advance(std::int64_t now_ns);
  int times_of(const char* name);

  StepRange steps_;
  std::int64_t most_events_;
  std::vector<TraceEvent> events_, layers_;
  std::int64_t dropped_ = 0, dropped_layers_ = 0;
  bool is_in_step_ = false;
  std::int64_t step_event_ = -1, step_began_ns_ = 0, last_ns_ = 0;
  std::int64_t traced_steps_ = 0, steps_ns_ = 0, exchange_ns_ = 0;
  std::vector<Open> open_;
  std::vector<TransferTimes> transfers_;
  std::vector<std::int64_t> under_way_;  ///< number in flight, for each of transfers_
  TransferTimes all_;
  std::int64_t all_under_way_ = 0;
};

}  // namespace telemetry
