// What a rank did in some training steps, moment by moment, and how its transfers hid behind work.
// Hides the buffers and the account of what was under way at each moment.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace telemetry {

/// Training steps counted from 1 over the run (a resumed one goes on counting), both inclusive.
struct StepRange {
  std::int64_t first = 1, last = 0;
};
/// "FIRST:LAST"; throws ConfigError for anything else, and unless 1 <= FIRST <= LAST.
StepRange parse_step_range(const std::string& text);

/// Times are those of the rank's own clock, in nanoseconds; names are literals or outlive the
/// trace.
struct TraceEvent {
  enum class Kind { kStep, kScope, kLayer, kTransfer };
  const char* name = nullptr;
  Kind kind = Kind::kScope;
  std::int64_t begin_ns = 0, end_ns = 0;
  std::int64_t amount = 0;  ///< of a step its number, of a transfer the bytes that this rank gave
  const char* method = nullptr;  ///< of a layer
};

/// Of all transfers of one name within the steps, or of all.
struct TransferTimes {
  std::string name;
  std::int64_t count = 0, bytes = 0;
  std::int64_t in_flight_ns = 0;  ///< while at least one was under way
  std::int64_t exposed_ns = 0;    ///< the part of it that the rank was in exchange
  std::int64_t hidden_ns() const { return in_flight_ns - exposed_ns; }
};

/// What Trace::end_transfer() needs to know of the begin.
struct TracedTransfer {
  int times = -1;  ///< index; -1: began outside of the steps
  std::int64_t event = -1;
  bool is_traced() const { return times >= 0; }
};

/// Records nothing outside of its steps. Calls come in the order of time from one thread.
class Trace {
 public:
  /// Events that are kept of layers, and of all the rest; more are counted and dropped. Both
  /// together take 24 MiB, events() as much again, and half of that more while it sorts them.
  static constexpr std::int64_t kMostEvents = std::int64_t{1} << 18;
  explicit Trace(const StepRange& steps, std::int64_t most_events = kMostEvents);

  const StepRange& steps() const { return steps_; }
  /// Forgets everything.
  void restart();

  bool is_in_step() const { return is_in_step_; }  ///< one of its own
  void begin_step(std::int64_t number, std::int64_t now_ns);
  void end_step(std::int64_t now_ns);
  /// A scope, within that which was entered before.
  void enter(const char* name, bool is_exchange, std::int64_t now_ns);
  /// `method`: by which the layer's products are made; null: not told.
  void enter_layer(const char* name, const char* method, std::int64_t now_ns);
  void leave(std::int64_t now_ns);
  TracedTransfer begin_transfer(const char* name, std::int64_t bytes, std::int64_t now_ns);
  void end_transfer(const TracedTransfer& transfer, std::int64_t now_ns);

  /// Those that are over, in the order of their begin, an outer one before its inner ones.
  std::vector<TraceEvent> events() const;
  /// All so far, kept or dropped, over or not.
  std::int64_t event_count() const {
    return std::ssize(events_) + std::ssize(layers_) + dropped_ + dropped_layers_;
  }
  std::int64_t dropped() const { return dropped_; }
  std::int64_t dropped_layers() const { return dropped_layers_; }
  std::int64_t traced_steps() const { return traced_steps_; }
  std::int64_t steps_ns() const { return steps_ns_; }        ///< the traced steps together
  std::int64_t exchange_ns() const { return exchange_ns_; }  ///< of it, in exchange
  /// By name, in the order of first begins; complete whatever was dropped.
  const std::vector<TransferTimes>& transfers() const { return transfers_; }
  /// Of all together, each moment counted once.
  const TransferTimes& all_transfers() const { return all_; }

 private:
  /// A scope or layer that was entered: where it was recorded, or -1.
  struct Open {
    std::vector<TraceEvent>* events;
    std::int64_t event;
    bool is_exchange;
  };
  std::int64_t record(std::vector<TraceEvent>& events, std::int64_t& dropped,
                      const TraceEvent& event) const;
  bool is_exposed() const { return !open_.empty() && open_.back().is_exchange; }
  /// Counts the time since the last change.
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
  std::vector<std::int64_t> under_way_;  ///< of each of them
  TransferTimes all_;
  std::int64_t all_under_way_ = 0;
};

}  // namespace telemetry
