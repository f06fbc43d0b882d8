// The report as tidy tables in CSV.
#include "analysis/report/csv/report.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <string_view>
#include <system_error>

#include "analysis/fields.h"
#include "analysis/run_fields.h"
#include "analysis/staged_fields.h"
#include "analysis/system_fields.h"
#include "runner/base/printable.h"

namespace analysis::report {
namespace {

bool is_number(const std::string& text) {
  double value = 0.0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  return parsed.ec == std::errc() && parsed.ptr == end;
}

/// Whether a spreadsheet would compute the cell. Logs of others may hold such text.
bool is_formula(const std::string& text) {
  constexpr std::string_view kBegin = "=+-@\t\r";
  return !text.empty() && kBegin.find(text.front()) != std::string_view::npos && !is_number(text);
}

std::string cell(std::string text) {
  if (is_formula(text)) text.insert(0, 1, '\'');
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char character : text) {
    if (character == '"') quoted += '"';
    quoted += character;
  }
  return quoted + '"';
}

std::string exact(const Value& value) { return base::printable(to_exact_text(value)); }

template <class Facts>
std::string table_of(const char* name_column, const std::vector<Field<Facts>>& fields,
                     const auto& reports) {
  std::vector<std::string> cells = {name_column};
  for (const Field<Facts>& field : fields) cells.push_back(field.name);
  std::string csv = csv_line(cells);
  for (const auto& report : reports) {
    cells = {base::printable(report.name)};
    for (const Field<Facts>& field : fields) cells.push_back(exact(field.get(report.facts)));
    csv += csv_line(cells);
  }
  return csv;
}

void add_parts(std::string& csv, const RunReport& run, const char* source, std::int64_t ranks,
               const Breakdown& breakdown) {
  for (const Part& part : breakdown.parts) {
    csv += csv_line({base::printable(run.name), source, ranks > 0 ? std::to_string(ranks) : "",
                     base::printable(part.name), exact(part.min_s), exact(part.mean_s),
                     exact(part.max_s), exact(optional_value(part.percent))});
  }
}

}  // namespace

std::string csv_line(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& text : cells) {
    if (&text != &cells.front()) line += ',';
    line += cell(text);
  }
  return line + "\r\n";
}

std::string runs_csv(const Report& report) { return table_of("log", run_fields(), report.runs); }

std::string systems_csv(const Report& report) {
  return table_of("folder", system_fields(), report.systems);
}

std::string convergence_csv(const Report& report) {
  std::string csv = csv_line({"log", "metric", "epoch_num", "time_s", "quality", "at_target",
                              "position", "position_unit"});
  for (const RunReport& run : report.runs) {
    for (std::size_t i = 0; i < run.facts.evaluations.size(); ++i) {
      const Evaluation& one = run.facts.evaluations[i];
      csv += csv_line({base::printable(run.name), base::printable(run.facts.metric),
                       exact(optional_value(run.facts.epoch_num(one))), exact(one.time_s),
                       exact(one.quality), run.facts.at_target == i ? "true" : "false",
                       exact(optional_value(one.position)), run.facts.position_unit_text()});
    }
  }
  return csv;
}

std::string ranks_csv(const Report& report) {
  std::string csv = csv_line({"log", "rank", "host", "part", "seconds"});
  for (const RunReport& run : report.runs) {
    if (!run.telemetry) continue;
    for (const RankParts& rank : run.telemetry->by_rank) {
      for (std::size_t i = 0; i < rank.seconds.size(); ++i) {
        csv += csv_line({base::printable(run.name), std::to_string(rank.rank),
                         base::printable(rank.host), run.telemetry->subsystems.parts[i].name,
                         exact(rank.seconds[i])});
      }
    }
  }
  return csv;
}

std::string steps_csv(const Report& report) {
  std::string csv = csv_line({"log", "low_s", "high_s", "steps"});
  for (const RunReport& run : report.runs) {
    if (!run.telemetry) continue;
    for (const StepCount& one : run.telemetry->step_histogram) {
      csv += csv_line({base::printable(run.name), exact(one.low_s), exact(one.high_s),
                       std::to_string(one.steps)});
    }
  }
  return csv;
}

std::string layers_csv(const Report& report) {
  std::string csv = csv_line({"log", "layer", "seconds"});
  for (const RunReport& run : report.runs) {
    if (!run.trace) continue;
    for (const auto& [layer, seconds] : run.trace->layers) {
      csv += csv_line({base::printable(run.name), base::printable(layer), exact(seconds)});
    }
  }
  return csv;
}

std::string transfers_csv(const Report& report) {
  std::string csv = csv_line(
      {"log", "transfer", "count", "bytes", "in_flight_s", "exposed_s", "hidden_s", "isolated_s"});
  for (const RunReport& run : report.runs) {
    if (!run.trace) continue;
    for (const TracedTransfers& one : run.trace->step.transfers) {
      csv += csv_line({base::printable(run.name), base::printable(one.name), exact(one.count),
                       exact(one.bytes), exact(one.in_flight_s), exact(one.exposed_s),
                       exact(one.hidden_s()),
                       std::isnan(one.isolated_s) ? "" : exact(one.isolated_s)});
    }
  }
  return csv;
}

std::string staging_csv(const Report& report) {
  std::vector<std::string> cells = {"log", "set"};
  for (const Field<StagedSet>& field : staged_fields()) cells.push_back(field.name);
  cells.insert(cells.end(), {"slowest_host", "slowest_bytes_per_second"});
  std::string csv = csv_line(cells);
  for (const RunReport& run : report.runs) {
    for (const StagedSet& set : run.facts.staged_sets) {
      cells = {base::printable(run.name), base::printable(set.name)};
      for (const Field<StagedSet>& field : staged_fields()) cells.push_back(exact(field.get(set)));
      const bool has_slowest = !set.slowest.empty();
      cells.push_back(has_slowest ? base::printable(set.slowest.front().host) : "");
      cells.push_back(has_slowest ? exact(set.slowest.front().bytes_per_second) : "");
      csv += csv_line(cells);
    }
  }
  return csv;
}

std::string waiting_csv(const Report& report) {
  std::string csv = csv_line({"log", "what", "phase", "rank", "node", "host", "longer_s",
                              "others_waited_s", "part", "part_s", "bytes_per_s"});
  for (const RunReport& run : report.runs) {
    if (!run.telemetry) continue;
    for (const Straggler& one : run.telemetry->waiting.stragglers) {
      const bool has_part = !one.where.empty();
      csv += csv_line({base::printable(run.name), "straggler", one.phase, std::to_string(one.rank),
                       std::to_string(one.node), base::printable(one.host), exact(one.longer_s),
                       exact(one.others_waited_s), has_part ? one.where.front().first : "",
                       has_part ? exact(one.where.front().second) : "", ""});
    }
    if (const auto& slow = run.telemetry->waiting.slow_exchange) {
      csv += csv_line({base::printable(run.name), "slow_exchange", "training", "", "",
                       base::printable(fmt::format("{}", fmt::join(slow->hosts, " "))), "", "",
                       "exchange", exact(slow->least_s), exact(slow->bytes_per_s)});
    }
  }
  return csv;
}

std::string subsystems_csv(const Report& report) {
  std::string csv =
      csv_line({"log", "source", "ranks", "part", "min_s", "mean_s", "max_s", "percent"});
  for (const RunReport& run : report.runs) {
    if (run.telemetry) {
      add_parts(csv, run, "telemetry", run.telemetry->ranks, run.telemetry->subsystems);
    }
    if (run.log_parts) add_parts(csv, run, "log", 0, *run.log_parts);
  }
  return csv;
}

}  // namespace analysis::report
