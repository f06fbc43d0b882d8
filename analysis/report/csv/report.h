// The report as tidy tables in CSV (RFC 4180: CRLF line ends, quotes where needed).
#pragma once

#include <string>
#include <vector>

#include "analysis/findings/report.h"

namespace analysis::report {

/// One record: cells joined by commas, quoted if they contain a comma, quote or line end.
std::string csv_line(const std::vector<std::string>& cells);

/// A row per log: its name and every figure of run_fields(); absent figures are empty.
std::string runs_csv(const Report& report);
/// A row per evaluation: log, metric, epoch_num, time_s, quality, at_target, position,
/// position_unit.
std::string convergence_csv(const Report& report);
/// A row per part of a run: log, source (telemetry or log), ranks, part, min_s, mean_s, max_s,
/// percent.
std::string subsystems_csv(const Report& report);
/// A row per rank and part: log, rank, host, part, seconds.
std::string ranks_csv(const Report& report);
/// A row per bucket of the histogram of step times: log, low_s, high_s, steps.
std::string steps_csv(const Report& report);
/// A row per layer of traced steps: log, layer, seconds.
std::string layers_csv(const Report& report);
/// A row per name of transfers of traced steps, and one for all: log, transfer, count, bytes, and
/// seconds in flight, exposed and hidden, of a step.
std::string transfers_csv(const Report& report);
/// A row per set that a run staged: log, set, every figure of staged_fields(), and slowest_host and
/// slowest_bytes_per_second of the slowest node.
std::string staging_csv(const Report& report);
/// A row per straggler, and one per run whose exchange dominates: log, what (straggler or
/// slow_exchange), phase, rank, node, host, longer_s, others_waited_s, part (of the straggler's
/// work, the one furthest beyond the median rank's), part_s, bytes_per_s.
std::string waiting_csv(const Report& report);
/// A row per set of runs with every figure of system_fields().
std::string systems_csv(const Report& report);

}  // namespace analysis::report
