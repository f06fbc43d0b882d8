// Reference points, and sets drawn from their runs, as text.
#pragma once

#include <cstddef>
#include <iosfwd>

#include "analysis/submission/bootstrap.h"
#include "analysis/submission/rcp.h"

namespace analysis::report {

/// Reference points with their statistics in that era, and a plot of them.
void write_points_text(std::ostream& out, const submission::ReferenceSet& set,
                       const submission::RcpEraFacts& era, std::size_t width);
/// How sets drawn from the runs of one reference point fare in the test.
void write_bootstrap_text(std::ostream& out, const submission::ReferenceSet& set,
                          const submission::Bootstrap& drawn, std::size_t width);

}  // namespace analysis::report
