// Systems of the same benchmark side by side, as text.
#pragma once

#include "analysis/findings/report.h"
#include "analysis/report/text/page.h"

namespace analysis::report {

/// Systems of the same benchmark side by side: times, epochs against batch, how runs vary, scale.
void write_joint(TextPage& page, const Report& report);

}  // namespace analysis::report
