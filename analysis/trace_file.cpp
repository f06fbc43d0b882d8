// Reads the trace that a run writes next to its log.
#include "analysis/trace_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "runner/base/error.h"
#include "runner/base/input_file.h"
#include "runner/base/units.h"

namespace analysis {
namespace {

using nlohmann::json;

constexpr std::uintmax_t kLargest = std::uintmax_t{1} << 30;
constexpr std::size_t kMostLayers = 100000;
/// 30,000 years, of which sums are finite.
constexpr double kLongest_us = 1e18;

/// Parses the events of a trace one by one, as a file may have hundreds of thousands per rank.
class TraceReader : public nlohmann::json_sax<json> {
 public:
  RunTrace trace;      ///< layers are sums
  double steps = 0.0;  ///< of all ranks together

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override { return take(static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) override {
    return take(static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t&) override { return take(value); }
  bool string(string_t& value) override {
    entries_.text(value, depth_);
    if (depth_ == kEvent && key_ == "name") event_.name = value;
    if (depth_ == kEvent && key_ == "cat") event_.category = value;
    if (key_ == "ts" || key_ == "dur") take(std::numeric_limits<double>::quiet_NaN());
    return true;
  }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override {
    if (++depth_ == kEvent) event_ = {};
    return true;
  }
  bool end_object() override {
    entries_.end_object(depth_);
    return depth_-- != kEvent || !in_events_ || finish_event();
  }
  bool start_array(std::size_t) override {
    ++depth_;
    if (depth_ == kEvent - 1) in_events_ = key_ == "traceEvents";
    has_events |= in_events_;
    return true;
  }
  bool end_array() override {
    if (--depth_ == 1) in_events_ = false;
    return true;
  }
  bool key(string_t& value) override {
    if (!in_events_) entries_.key(value, depth_);
    if (depth_ <= kEvent) key_ = value;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const json::exception&) override {
    wrong_at = position;
    return false;
  }
  /// The problem of an event or an entry; "" if there is none.
  std::string whats_wrong() const { return problem_.empty() ? entries_.problem() : problem_; }
  TracedStep step() const { return entries_.means(); }
  std::size_t wrong_at = 0;
  bool has_events = false;  ///< a list of them, which may be empty

 private:
  /// Nesting depth inside an event: document, list, event.
  static constexpr int kEvent = 3;
  struct Event {
    std::string name, category;
    double begin = 0.0, duration = 0.0;
    std::int64_t rank = 0;
  };

  bool take(double value) {
    if (!in_events_) entries_.number(value, depth_);
    if (depth_ != kEvent || !in_events_) return true;
    if (key_ == "ts") event_.begin = value;
    if (key_ == "dur") event_.duration = value;
    const bool is_rank = value >= 0.0 && value < static_cast<double>(RunTrace::kMostRanks);
    if (key_ == "pid") event_.rank = is_rank ? static_cast<std::int64_t>(value) : -1;
    return true;
  }
  bool finish_event() {
    ++events_;
    if (event_.category == "step") steps += 1.0;
    if ((event_.category == "layer" || event_.category == "scope") && !has_usable_times()) {
      problem_ = fmt::format(
          "/traceEvents/{}: expected ts from {:g} to {:g} and dur from 0 to {:g} microseconds, "
          "found {:g} and {:g}",
          events_ - 1, -kLongest_us, kLongest_us, kLongest_us, event_.begin, event_.duration);
      return false;
    }
    if (event_.category == "layer") {
      trace.layers[event_.name] += event_.duration * base::kMicrosecond;
      if (trace.layers.size() > kMostLayers) return false;
    }
    if (event_.category == "scope") add_span();
    return true;
  }

  bool has_usable_times() const {
    return std::abs(event_.begin) <= kLongest_us && event_.duration >= 0.0 &&
           event_.duration <= kLongest_us;
  }

  void add_span() {
    if (event_.rank < 0 || ++spans_of_[event_.rank] > RunTrace::kMostSpans) {
      ++trace.spans_left_out;
      return;
    }
    trace.spans.push_back({event_.rank, event_.name, event_.begin * base::kMicrosecond,
                           (event_.begin + event_.duration) * base::kMicrosecond});
  }

  TraceEntries entries_;
  std::map<std::int64_t, std::int64_t> spans_of_;
  std::string problem_;
  std::int64_t events_ = 0;
  int depth_ = 0;
  bool in_events_ = false;
  std::string key_;
  Event event_;
};

}  // namespace

std::optional<RunTrace> read_trace_of(const std::filesystem::path& log,
                                      std::vector<Finding>& findings) {
  const auto path = std::filesystem::path(log).replace_extension(".trace.json");
  std::error_code failed;
  if (!std::filesystem::exists(path, failed)) return std::nullopt;
  const auto refuse = [&](const std::string& why) {
    findings.push_back(
        make_finding(Rule::kTelemetryDamaged, {}, fmt::format("{}: {}", path.string(), why)));
    return std::nullopt;
  };
  TraceReader reader;
  bool is_whole = false;
  try {
    base::InputFile in(path.string());
    if (std::filesystem::file_size(path, failed) > kLargest || failed) {
      return refuse("expected a file of at most 1 GiB; left out");
    }
    is_whole = json::sax_parse(in, &reader);
  } catch (const base::SystemError& error) {
    findings.push_back(make_finding(Rule::kTelemetryDamaged, {}, error.what()));
    return std::nullopt;
  }
  if (reader.trace.layers.size() > kMostLayers) {
    return refuse(fmt::format("expected at most {} layers", kMostLayers));
  }
  if (const std::string problem = reader.whats_wrong(); !problem.empty()) return refuse(problem);
  if (!is_whole) {
    return refuse(
        fmt::format("byte {}: expected the trace of a run, found no JSON", reader.wrong_at));
  }
  if (!reader.has_events) return refuse("expected the trace of a run, found no traceEvents");
  for (auto& [name, seconds] : reader.trace.layers) seconds /= std::max(reader.steps, 1.0);
  reader.trace.step = reader.step();
  double origin = 0.0;
  for (const TraceSpan& span : reader.trace.spans) origin = std::min(origin, span.begin_s);
  for (TraceSpan& span : reader.trace.spans) {
    span.begin_s -= origin;
    span.end_s -= origin;
  }
  return std::move(reader.trace);
}

}  // namespace analysis
