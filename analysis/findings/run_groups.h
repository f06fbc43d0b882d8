// Finds groups of M runs, of which N make a result, and the folders that hold some of their runs.
#pragma once

#include <cstdint>
#include <span>

#include "analysis/findings/run_group.h"

namespace analysis {

struct CheckedFile;
struct CheckReport;

/// Chooses the runs that make a result. `runs` are the runs of one folder, by name.
RunChoice choose_among(std::span<const CheckedFile* const> runs);

/// Makes a group of each folder of `report`. A folder without exactly `expected` (M) logs gets a
/// choice with a problem, unless all its logs are from runs of one group: then the group lists it
/// in `picked`. Leaves out folders of pruned results and of throughput runs. Adds findings to the
/// report's sets for groups without a window to submit, and for picked runs that are not that
/// window.
void add_run_groups(CheckReport& report, std::int64_t expected);

/// The score factor of the RCP test on the window to submit; 1 if the test did not pass or was not
/// made.
double normalization_of(const CheckReport& report, const RunGroup& group);

/// Whether a log is judged as part of a group, which forgives failed runs.
bool is_of_group(const CheckReport& report, const CheckedFile& file);
/// Whether a log, an element of report.files, is in a group with a window to submit, but not in
/// that window.
bool is_left_out(const CheckReport& report, const CheckedFile& file);

}  // namespace analysis
