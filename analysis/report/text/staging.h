// What staging did, as text.
#pragma once

#include "analysis/findings/report.h"
#include "analysis/report/text/page.h"

namespace analysis::report {

/// A table of the sets that the run staged, the slowest nodes, what of the time to train staging
/// is, and where samples were read. Nothing for a log that tells nothing of that.
void write_staging(TextPage& page, const RunReport& run);

/// A line for each set that was copied: bytes, nodes, rate and the slowest node.
void write_staging_lines(TextPage& page, const RunFacts& facts);

}  // namespace analysis::report
