// Finds the M runs of a folder of which N make a result, and the folders that hold some of them.
// Hides which runs count as failed, and how picked runs are recognised.
#pragma once

#include <cstdint>
#include <span>

#include "analysis/findings/run_group.h"

namespace analysis {

struct CheckedFile;
struct CheckReport;

/// Which of these runs make a result. All are of one folder, by name.
RunChoice choose_among(std::span<const CheckedFile* const> runs);

/// Makes a group of each folder of `report`: of one with another number of logs than `expected` (M)
/// its choice has a problem, unless all its logs are of runs of a group. Those of pruned results
/// and of throughput runs are left out. Warnings about picked runs that are not the window to
/// submit go to the report's sets.
void add_run_groups(CheckReport& report, std::int64_t expected);

/// What the RCP test of the window to submit scales its score by; 1 where it did not pass, or was
/// not made.
double normalization_of(const CheckReport& report, const RunGroup& group);

/// Whether a log is judged with its group, which forgives failed runs, and not by itself.
bool is_of_group(const CheckReport& report, const CheckedFile& file);
/// Whether a log, one of report.files, is of a group with a window to submit, but not in that.
bool is_left_out(const CheckReport& report, const CheckedFile& file);

}  // namespace analysis
