// Records the events of selected steps.
#include "runner/telemetry/trace.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>
#include <utility>

#include "runner/base/error.h"

namespace telemetry {
namespace {

/// End time of an event that is not completed.
constexpr std::int64_t kOpen = std::numeric_limits<std::int64_t>::min();

/// `text` as a number if it is one as a whole; else 0.
std::int64_t step_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : 0;
}

}  // namespace

StepRange parse_step_range(const std::string& text) {
  const std::string_view all = text;
  const std::size_t colon = all.find(':');
  StepRange range{0, 0};
  if (colon != std::string_view::npos) {
    range = {step_number(all.substr(0, colon)), step_number(all.substr(colon + 1))};
  }
  if (range.first < 1 || range.last < range.first) {
    throw base::ConfigError(
        "expected FIRST:LAST, two numbers of steps with 1 <= FIRST <= LAST, "
        "got '" +
        text + "'");
  }
  return range;
}

Trace::Trace(const StepRange& steps, std::int64_t most_events)
    : steps_(steps), most_events_(most_events) {
  // Reserves address space only; no step then waits for a reallocation.
  events_.reserve(static_cast<std::size_t>(most_events));
  layers_.reserve(static_cast<std::size_t>(most_events));
  restart();
}

void Trace::restart() {
  events_.clear();
  layers_.clear();
  open_.clear();
  transfers_.clear();
  under_way_.clear();
  all_ = {};
  all_.name = "all";
  is_in_step_ = false;
  dropped_ = dropped_layers_ = all_under_way_ = traced_steps_ = steps_ns_ = exchange_ns_ = 0;
}

std::int64_t Trace::record(std::vector<TraceEvent>& events, std::int64_t& dropped,
                           const TraceEvent& event) const {
  if (std::ssize(events) >= most_events_) {
    ++dropped;
    return -1;
  }
  events.push_back(event);
  return std::ssize(events) - 1;
}

void Trace::advance(std::int64_t now_ns) {
  const std::int64_t passed = now_ns - last_ns_;
  last_ns_ = now_ns;
  const auto count = [&](TransferTimes& times, std::int64_t under_way) {
    if (under_way == 0) return;
    times.in_flight_ns += passed;
    if (is_exposed()) times.exposed_ns += passed;
  };
  for (std::size_t i = 0; i < transfers_.size(); ++i) count(transfers_[i], under_way_[i]);
  count(all_, all_under_way_);
  if (is_exposed()) exchange_ns_ += passed;
}

void Trace::begin_step(std::int64_t number, std::int64_t now_ns) {
  is_in_step_ = number >= steps_.first && number <= steps_.last;
  if (!is_in_step_) return;
  last_ns_ = step_began_ns_ = now_ns;
  ++traced_steps_;
  step_event_ = record(events_, dropped_, {"step", TraceEvent::Kind::kStep, now_ns, kOpen, number});
}

void Trace::end_step(std::int64_t now_ns) {
  if (!is_in_step_) return;
  advance(now_ns);
  steps_ns_ += now_ns - step_began_ns_;
  if (step_event_ >= 0) events_[static_cast<std::size_t>(step_event_)].end_ns = now_ns;
  open_.clear();
  is_in_step_ = false;
}

void Trace::enter(const char* name, bool is_exchange, std::int64_t now_ns) {
  if (!is_in_step_) return;
  advance(now_ns);
  open_.push_back({&events_,
                   record(events_, dropped_, {name, TraceEvent::Kind::kScope, now_ns, kOpen}),
                   is_exchange});
}

void Trace::enter_layer(const char* name, const char* method, std::int64_t now_ns) {
  if (!is_in_step_) return;
  advance(now_ns);
  open_.push_back(
      {&layers_,
       record(layers_, dropped_layers_, {name, TraceEvent::Kind::kLayer, now_ns, kOpen, 0, method}),
       is_exposed()});
}

void Trace::leave(std::int64_t now_ns) {
  if (open_.empty()) return;  // it was entered before the step
  advance(now_ns);
  const Open last = open_.back();
  open_.pop_back();
  if (last.event >= 0) (*last.events)[static_cast<std::size_t>(last.event)].end_ns = now_ns;
}

int Trace::times_of(const char* name) {
  const auto found = std::ranges::find(transfers_, name, &TransferTimes::name);
  const auto index = static_cast<int>(found - transfers_.begin());
  if (found == transfers_.end()) {
    transfers_.emplace_back().name = name;
    under_way_.push_back(0);
  }
  return index;
}

TracedTransfer Trace::begin_transfer(const char* name, std::int64_t bytes, std::int64_t now_ns) {
  if (!is_in_step_) return {};
  advance(now_ns);
  const int index = times_of(name);
  ++under_way_[static_cast<std::size_t>(index)];
  ++all_under_way_;
  for (TransferTimes* times : {&transfers_[static_cast<std::size_t>(index)], &all_}) {
    ++times->count;
    times->bytes += bytes;
  }
  return {index,
          record(events_, dropped_, {name, TraceEvent::Kind::kTransfer, now_ns, kOpen, bytes})};
}

void Trace::end_transfer(const TracedTransfer& transfer, std::int64_t now_ns) {
  // A transfer that began before restart() is unknown.
  if (!transfer.is_traced() || std::cmp_greater_equal(transfer.times, under_way_.size())) return;
  if (is_in_step_) advance(now_ns);
  --under_way_[static_cast<std::size_t>(transfer.times)];
  --all_under_way_;
  if (transfer.event >= 0) events_[static_cast<std::size_t>(transfer.event)].end_ns = now_ns;
}

std::vector<TraceEvent> Trace::events() const {
  std::vector<TraceEvent> all;
  all.reserve(events_.size() + layers_.size());
  for (const auto* part : {&events_, &layers_}) all.insert(all.end(), part->begin(), part->end());
  std::erase_if(all, [](const TraceEvent& event) { return event.end_ns == kOpen; });
  std::ranges::stable_sort(all, [](const TraceEvent& a, const TraceEvent& b) {
    return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.end_ns > b.end_ns;
  });
  return all;
}

}  // namespace telemetry
