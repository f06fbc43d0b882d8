// One power log.
#include "analysis/submission/power_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <variant>

#include "analysis/log_file.h"
#include "analysis/submission/package_rules.h"
#include "runner/base/error.h"
#include "runner/base/strict_json.h"
#include "runner/base/units.h"
#include "runner/mllog/keys.h"
#include "runner/mllog/record_reader.h"

namespace analysis::submission {
namespace {

namespace keys = mllog::keys;

constexpr char kLogRule[] = "power.log";
/// Limits for readings in MLCommons' power measurement policy.
constexpr double kLongestInterval_s = 1.0;
constexpr std::int64_t kFewestSamples = 60;

enum class Kind { kStart, kReading, kStop, kEfficiency };

/// A record of a node's log. An invalid value is NaN.
struct Event {
  double time_ms = 0.0;
  double value = 0.0;
  Kind kind = Kind::kReading;
};

bool is_earlier(const Event& one, const Event& other) { return one.time_ms < other.time_ms; }

/// Integrates the power of a node from start to stop. A reading is for the time since the one
/// before it.
struct MeasuredPower {
  std::int64_t starts = 0, stops = 0, samples = 0, intervals = 0;
  double start_ms = 0.0, stop_ms = 0.0, last_ms = 0.0;
  double covered_ms = 0.0, watt_ms = 0.0;
  std::optional<double> efficiency;

  void advance(double time_ms) {
    if (time_ms > last_ms) ++intervals;
    last_ms = time_ms;
  }
  void add(const Event& event);
};

void MeasuredPower::add(const Event& event) {
  const bool is_under_way = starts > 0 && stops == 0;
  switch (event.kind) {
    case Kind::kStart:
      ++starts;
      start_ms = last_ms = event.time_ms;
      break;
    case Kind::kReading:
      if (!is_under_way) break;
      covered_ms += event.time_ms - last_ms;
      watt_ms += event.value * (event.time_ms - last_ms);
      ++samples;
      advance(event.time_ms);
      break;
    case Kind::kStop:
      ++stops;
      stop_ms = event.time_ms;
      if (is_under_way) advance(event.time_ms);
      break;
    case Kind::kEfficiency:
      efficiency = event.value;
  }
}

class PowerLogReader {
 public:
  explicit PowerLogReader(PowerSource source) { log_.source = source; }
  void add(const mllog::Record& record);
  void add(const mllog::MalformedRecord& record);
  PowerLog log() &&;

 private:
  /// Faults of one kind, reported once.
  struct Faults {
    std::int64_t count = 0, line = 0, column = 0;
    std::string text;
  };

  void add_finding(Severity severity, const char* rule, const std::string& text) {
    log_.findings.push_back({severity, 0, 0, text, rule});
  }
  void add_finding(const char* rule, const std::string& text) {
    log_.findings.push_back(package_finding(rule, text));
  }
  void doubt(const std::string& text) { add_finding(Severity::kWarning, kLogRule, text); }
  void fault(const std::string& kind, std::int64_t line, std::int64_t column,
             const std::string& text);
  double watts(const mllog::Record& record);
  double efficiency(const mllog::Record& record);
  void add_event(const mllog::Record& record, Kind kind, double value);
  void add_faults();
  void judge_efficiency(const std::optional<double>& efficiency);
  void rate_node();
  bool bounds_are_clear(const MeasuredPower& measured);
  void rate_measured(const MeasuredPower& measured);
  void judge_sampling();
  void rate_switch();

  PowerLog log_;
  std::map<std::string, Faults> faults_;
  std::vector<Event> events_;         ///< of a node, in the file's order
  std::int64_t reversals_ = 0;        ///< events earlier than the one before
  std::optional<double> estimate_w_;  ///< of a switch: the first
  std::optional<double> efficiency_;  ///< of a switch: the last before the estimate
};

void PowerLogReader::fault(const std::string& kind, std::int64_t line, std::int64_t column,
                           const std::string& text) {
  Faults& faults = faults_[kind];
  if (faults.count++ == 0) faults = {1, line, column, text};
}

void PowerLogReader::add(const mllog::MalformedRecord& record) {
  fault("", record.line, record.column, "damaged record, left out: " + record.reason);
}

/// The value in watts; NaN, with a finding, if it is no power.
double PowerLogReader::watts(const mllog::Record& record) {
  const std::optional<double> value = record.value.number();
  if (value && std::isfinite(*value) && *value >= 0.0) return *value;
  fault(std::string(record.key), record.line, record.column,
        fmt::format("{}: expected watts, a number from 0, found {}", record.key,
                    record.value.is_absent() ? "none" : base::brief_json(record.value.decoded())));
  return std::numeric_limits<double>::quiet_NaN();
}

double PowerLogReader::efficiency(const mllog::Record& record) {
  const std::optional<double> value = record.value.number();
  const bool is_usable = value && std::isfinite(*value) && *value > 0.0;
  if (is_usable && *value <= 1.0) return *value;
  fault(std::string(record.key), record.line, record.column,
        fmt::format("{}: expected a factor above 0 and at most 1, found {}{}", record.key,
                    record.value.is_absent() ? "none" : base::brief_json(record.value.decoded()),
                    is_usable ? "; taken as it stands" : ""));
  return is_usable ? *value : std::numeric_limits<double>::quiet_NaN();
}

void PowerLogReader::add_event(const mllog::Record& record, Kind kind, double value) {
  if (!events_.empty() && record.time_ms < events_.back().time_ms) ++reversals_;
  events_.push_back({record.time_ms, value, kind});
}

void PowerLogReader::add(const mllog::Record& record) {
  if (log_.source == PowerSource::kSwitch) {
    if (estimate_w_) return;
    if (record.key == keys::kConversionEfficiency) efficiency_ = efficiency(record);
    if (record.key == keys::kInterconnectPowerEstimate) estimate_w_ = watts(record);
  } else if (record.key == keys::kPowerReading) {
    add_event(record, Kind::kReading, watts(record));
  } else if (record.key == keys::kConversionEfficiency) {
    add_event(record, Kind::kEfficiency, efficiency(record));
  } else if (record.key == keys::kPowerMeasurementStart) {
    add_event(record, Kind::kStart, 0.0);
  } else if (record.key == keys::kPowerMeasurementStop) {
    add_event(record, Kind::kStop, 0.0);
  }
}

void PowerLogReader::add_faults() {
  for (const auto& [kind, faults] : faults_) {
    const std::string more =
        faults.count > 1 ? fmt::format("; {} more like it", faults.count - 1) : "";
    log_.findings.push_back(
        {Severity::kWarning, faults.line, faults.column, faults.text + more, kLogRule});
  }
}

void PowerLogReader::judge_efficiency(const std::optional<double>& efficiency) {
  if (!efficiency) doubt("no conversion_eff: taken as 1");
  log_.conversion_efficiency = efficiency.value_or(1.0);
  if (std::isfinite(*log_.conversion_efficiency)) return;
  log_.conversion_efficiency.reset();
  doubt("no energy, as its conversion_eff is unknown");
}

void PowerLogReader::rate_switch() {
  judge_efficiency(efficiency_);
  if (!estimate_w_) doubt("no energy: expected interconnect_power_est, found none");
  if (!log_.conversion_efficiency || !estimate_w_) return;
  const double power_w = *log_.conversion_efficiency * *estimate_w_;
  if (std::isfinite(power_w)) log_.power_w = power_w;
}

void PowerLogReader::rate_node() {
  if (reversals_ > 0) {
    std::stable_sort(events_.begin(), events_.end(), is_earlier);
    add_finding(
        Severity::kNote, kLogRule,
        fmt::format("records that stand after a later one: {}; all are taken in order of time",
                    reversals_));
  }
  MeasuredPower measured;
  for (const Event& event : events_) measured.add(event);
  judge_efficiency(measured.efficiency);
  if (!bounds_are_clear(measured)) return;
  if (measured.stops == 0) {
    doubt("no power_measurement_stop: the last power_reading is taken for the end");
    measured.stop_ms = measured.last_ms;
  }
  rate_measured(measured);
}

/// Whether the events delimit one interval with readings; else adds a finding.
bool PowerLogReader::bounds_are_clear(const MeasuredPower& measured) {
  std::string found;
  if (measured.starts != 1) {
    found = fmt::format("one power_measurement_start, found {}", measured.starts);
  } else if (measured.stops > 1) {
    found = fmt::format("one power_measurement_stop, found {}", measured.stops);
  } else if (measured.stops == 1 && measured.stop_ms <= measured.start_ms) {
    found = "power_measurement_stop after power_measurement_start";
  } else if (!(measured.covered_ms > 0.0)) {
    found = "power_reading after power_measurement_start and before its stop, found none";
  }
  if (!found.empty()) doubt("no energy: expected " + found);
  return found.empty();
}

void PowerLogReader::rate_measured(const MeasuredPower& measured) {
  const double measured_ms = measured.stop_ms - measured.start_ms;
  log_.samples = measured.samples;
  log_.measured_s = measured_ms / base::kMsPerSecond;
  log_.sampling_interval_s = *log_.measured_s / static_cast<double>(measured.intervals);
  judge_sampling();
  if (!log_.conversion_efficiency) return;
  const double energy_j = *log_.conversion_efficiency * measured.watt_ms / base::kMsPerSecond;
  const double power_w = energy_j / *log_.measured_s;
  if (!std::isfinite(energy_j) || !std::isfinite(power_w)) {
    doubt("no energy, as the readings from start to stop add up to no number");
    return;
  }
  log_.energy_j = energy_j;
  log_.power_w = power_w;
}

void PowerLogReader::judge_sampling() {
  if (*log_.sampling_interval_s > kLongestInterval_s) {
    add_finding(
        "power.sampling",
        fmt::format("expected a reading every {:g} s or more often, found one every {:.4g} s",
                    kLongestInterval_s, *log_.sampling_interval_s));
  }
  if (log_.samples < kFewestSamples) {
    add_finding("power.samples",
                fmt::format("expected at least {} readings from start to stop, found {}",
                            kFewestSamples, log_.samples));
  }
}

PowerLog PowerLogReader::log() && {
  add_faults();
  if (log_.source == PowerSource::kSwitch) {
    rate_switch();
  } else {
    rate_node();
  }
  return std::move(log_);
}

}  // namespace

PowerLog read_power_log(std::istream& in, PowerSource source) {
  mllog::RecordReader records(in);
  PowerLogReader reader(source);
  while (const std::optional<mllog::LogItem> item = records.next()) {
    std::visit([&](const auto& one) { reader.add(one); }, *item);
  }
  return std::move(reader).log();
}

PowerLog read_power_log(const std::filesystem::path& path, PowerSource source) {
  try {
    base::InputFile in = open_log(path);
    return read_power_log(in, source);
  } catch (const base::SystemError& error) {
    PowerLog log;
    log.source = source;
    std::string reason = error.what();
    const std::string front = path.string() + ": ";  // which the finding has already
    if (reason.starts_with(front)) reason.erase(0, front.size());
    log.findings.push_back({Severity::kWarning, 0, 0, "no energy: " + reason, kLogRule});
    return log;
  }
}

}  // namespace analysis::submission
