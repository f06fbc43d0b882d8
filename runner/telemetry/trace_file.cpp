// Writes the trace file.
#include "runner/telemetry/trace_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "runner/telemetry/seconds_of.h"

namespace telemetry {
namespace {

using Json = nlohmann::json;

constexpr int kTraceSchema = 1;
constexpr std::size_t kTextBytes = 100 * 1024;

std::string dumped(const Json& json) {
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

/// The format's times are in microseconds.
std::string microseconds(std::int64_t nanoseconds) {
  const std::int64_t size = nanoseconds < 0 ? -nanoseconds : nanoseconds;
  return fmt::format("{}{}.{:03}", nanoseconds < 0 ? "-" : "", size / 1000, size % 1000);
}

Json name_of(const char* what, int rank, int line, const std::string& name) {
  return {{"name", what}, {"ph", "M"}, {"pid", rank}, {"tid", line}, {"args", {{"name", name}}}};
}

/// Assigns transfers to lines: the first line of its name that is free.
class Lines {
 public:
  struct Place {
    int line;
    bool is_new;
    std::string title;
  };
  Place place(const TraceEvent& transfer) {
    std::vector<Line>& lines = lines_[transfer.name];
    const auto free = std::ranges::find_if(
        lines, [&](const Line& line) { return line.until_ns <= transfer.begin_ns; });
    if (free != lines.end()) {
      free->until_ns = transfer.end_ns;
      return {free->number, false, ""};
    }
    lines.push_back({++count_, transfer.end_ns});
    return {count_, true,
            lines.size() == 1 ? fmt::format("transfer: {}", transfer.name)
                              : fmt::format("transfer: {} ({})", transfer.name, lines.size())};
  }

 private:
  struct Line {
    int number;
    std::int64_t until_ns;
  };
  std::map<std::string_view, std::vector<Line>> lines_;
  int count_ = 0;  ///< line 0 is the training thread
};

std::string event_text(const TraceEvent& event, int rank, int line, const RankTrace& of,
                       std::int64_t origin_ns) {
  struct Kind {
    const char* category;
    const char* amount;
  };
  const Kind kind = [&]() -> Kind {
    switch (event.kind) {
      case TraceEvent::Kind::kStep:
        return {"step", "step"};
      case TraceEvent::Kind::kLayer:
        return {"layer", nullptr};
      case TraceEvent::Kind::kTransfer:
        return {"transfer", "bytes"};
      case TraceEvent::Kind::kScope:
        break;
    }
    return {"scope", nullptr};
  }();
  const std::int64_t begin = of.clock.to_own(event.begin_ns), end = of.clock.to_own(event.end_ns);
  std::string detail;
  if (kind.amount != nullptr) {
    detail = fmt::format(R"(,"args":{{"{}":{}}})", kind.amount, event.amount);
  } else if (event.method != nullptr) {
    detail = fmt::format(R"(,"args":{{"method":{}}})", dumped(event.method));
  }
  return fmt::format(R"({{"name":{},"cat":"{}","ph":"X","ts":{},"dur":{},"pid":{},"tid":{}{}}})",
                     dumped(event.name), kind.category, microseconds(begin - origin_ns),
                     microseconds(end - begin), rank, line, detail);
}

Json times_json(const TransferTimes& times) {
  return {{"name", times.name},
          {"count", times.count},
          {"bytes", times.bytes},
          {"in_flight_s", seconds_of(times.in_flight_ns)},
          {"exposed_s", seconds_of(times.exposed_ns)},
          {"hidden_s", seconds_of(times.hidden_ns())}};
}

/// Seconds that the transfers of as many steps take alone; null if they were not measured.
Json isolated_s(const RankTrace& rank, const TransferTimes& times) {
  const Trace* const alone = rank.alone;
  if (alone == nullptr || alone->traced_steps() == 0) return {};
  const auto found = std::ranges::find(alone->transfers(), times.name, &TransferTimes::name);
  if (found == alone->transfers().end()) return {};
  return seconds_of(found->in_flight_ns) / static_cast<double>(alone->traced_steps()) *
         static_cast<double>(rank.trace.traced_steps());
}

Json offset_json(const ClockOffset& offset) {
  return {{"offset_s", seconds_of(offset.offset_ns)},
          {"uncertainty_s", seconds_of(offset.uncertainty_ns)}};
}

Json trace_definitions() {
  return {
      {"clock",
       "what was added to the rank's clock to have rank 0's: estimates at the start and at the end "
       "of the run, between and around them a straight line. Each from the shortest of several "
       "messages from rank 0 to the rank's node and back; uncertainty_s is half of its round trip, "
       "and bounds the error. Ranks on rank 0's node have its clock"},
      {"drift", "growth of the offset in a second"},
      {"steps", "training steps that were traced"},
      {"steps_s", "seconds of these steps together, wall time of the rank"},
      {"exchange_s",
       "of these, seconds that training spent in communication: waiting, packing, adding up"},
      {"count", "transfers that began in these steps"},
      {"bytes", "what this rank gave to them, as bytes_sent in the telemetry"},
      {"in_flight_s",
       "seconds of these steps with at least one transfer of the name under way, from its start "
       "until its end was noticed"},
      {"exposed_s", "the part of in_flight_s that training spent in communication"},
      {"hidden_s", "the rest of in_flight_s, behind work"},
      {"isolated_s",
       "seconds that the transfers of as many steps take when ranks do nothing else, measured "
       "after "
       "training; null where that is not measured"},
      {"transfers", "by name; those with names of MPI are calls that wait for their end"},
      {"all_transfers", "transfers of all names together, each moment counted once"},
      {"events", "events of the rank in this file"},
      {"dropped", "steps, scopes and transfers beyond the most that are kept of a rank"},
      {"dropped_layers", "layers beyond the most that are kept of a rank"}};
}

}  // namespace

Json trace_entry(const RankTrace& rank) {
  const Trace& trace = rank.trace;
  Json transfers = Json::array();
  for (const TransferTimes& times : trace.transfers()) {
    transfers.push_back(times_json(times));
    transfers.back()["isolated_s"] = isolated_s(rank, times);
  }
  return {{"rank", rank.identity.rank},
          {"host", rank.identity.host},
          {"node", rank.identity.node},
          {"clock",
           {{"start", offset_json(rank.clock.start())},
            {"end", offset_json(rank.clock.end())},
            {"drift", rank.clock.drift()},
            {"uncertainty_s", seconds_of(rank.clock.uncertainty_ns())}}},
          {"steps", trace.traced_steps()},
          {"steps_s", seconds_of(trace.steps_ns())},
          {"exchange_s", seconds_of(trace.exchange_ns())},
          {"events", rank.events.size()},
          {"dropped", trace.dropped()},
          {"dropped_layers", trace.dropped_layers()},
          {"transfers", std::move(transfers)},
          {"all_transfers", times_json(trace.all_transfers())}};
}

void trace_texts(const RankTrace& rank, std::int64_t origin_ns,
                 const std::function<void(const std::string& text)>& take) {
  const int number = rank.identity.rank;
  std::string text;
  const auto add = [&](const std::string& event) {
    if (!text.empty()) text += ",\n";
    text += event;
    if (text.size() < kTextBytes) return;
    take(text);
    text.clear();
  };
  add(dumped(name_of("process_name", number, 0,
                     fmt::format("rank {} on {}", number, rank.identity.host))));
  add(dumped({{"name", "process_sort_index"},
              {"ph", "M"},
              {"pid", number},
              {"args", {{"sort_index", number}}}}));
  add(dumped(name_of("thread_name", number, 0, "training")));
  Lines lines;
  for (const TraceEvent& event : rank.events) {
    int line = 0;
    if (event.kind == TraceEvent::Kind::kTransfer) {
      const Lines::Place place = lines.place(event);
      line = place.line;
      if (place.is_new) add(dumped(name_of("thread_name", number, line, place.title)));
    }
    add(event_text(event, number, line, rank, origin_ns));
  }
  if (!text.empty()) take(text);
}

TraceFile::TraceFile(const std::string& path) : file_(path) { file_.write("{\"traceEvents\":["); }

void TraceFile::add(const std::string& text) {
  file_.write(std::exchange(is_empty_, false) ? "\n" : ",\n");
  file_.write(text);
}

void TraceFile::finish(const std::string& workload, const StepRange& steps,
                       const std::vector<Json>& entries) {
  const Json other = {{"schema", kTraceSchema},    {"workload", workload},
                      {"first_step", steps.first}, {"last_step", steps.last},
                      {"ranks", entries},          {"definitions", trace_definitions()}};
  file_.write("],\n\"displayTimeUnit\":\"ms\",\n\"otherData\":" + dumped(other) + "}\n");
  file_.finish();
}

std::string transfers_text(const std::vector<Json>& entries) {
  struct Means {
    double in_flight_ms = 0.0, exposed_ms = 0.0, hidden_ms = 0.0, megabytes = 0.0;
  };
  constexpr double kMilli = 1e3, kMega = 1e-6;
  std::vector<std::pair<std::string, Means>> rows;
  const auto add = [&](const Json& times, double steps) {
    const auto name = times.at("name").get<std::string>();
    auto row = std::ranges::find(rows, name, &std::pair<std::string, Means>::first);
    if (row == rows.end()) row = rows.insert(rows.end(), {name, {}});
    const auto mean = [&](const char* key, double unit) {
      return unit * times.at(key).get<double>() / steps / static_cast<double>(entries.size());
    };
    row->second.in_flight_ms += mean("in_flight_s", kMilli);
    row->second.exposed_ms += mean("exposed_s", kMilli);
    row->second.hidden_ms += mean("hidden_s", kMilli);
    row->second.megabytes += mean("bytes", kMega);
  };
  const auto steps_of = [](const Json& entry) {
    return std::max(1.0, entry.at("steps").get<double>());
  };
  for (const Json& entry : entries) {
    for (const Json& times : entry.at("transfers")) add(times, steps_of(entry));
  }
  if (rows.empty()) return "";
  for (const Json& entry : entries) add(entry.at("all_transfers"), steps_of(entry));
  std::string text = fmt::format("{:<26}{:>14}{:>14}{:>14}{:>12}\n", "transfers, by step",
                                 "in flight ms", "exposed ms", "hidden ms", "MB sent");
  for (const auto& [name, means] : rows) {
    text += fmt::format("  {:<24}{:>14.3f}{:>14.3f}{:>14.3f}{:>12.3f}\n", name, means.in_flight_ms,
                        means.exposed_ms, means.hidden_ms, means.megabytes);
  }
  return text;
}

}  // namespace telemetry
