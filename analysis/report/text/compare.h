// Comparisons as text.
#pragma once

#include "analysis/findings/compared.h"
#include "analysis/report/text/page.h"

namespace analysis::report {

/// Benchmark by benchmark: the sides, how their times differ and by which factors, what they do not
/// have in common, and for this program's own runs the subsystems, ranks and layers.
void write_compare_text(TextPage& page, const Compared& compared);

}  // namespace analysis::report
