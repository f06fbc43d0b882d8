// Verdicts as text.
#pragma once

#include <cstddef>
#include <iosfwd>

#include "analysis/findings/check_report.h"

namespace analysis::report {

struct CheckTextOptions {
  bool quiet = false;      ///< omit logs and sets that pass
  bool fix_hints = false;  ///< print advice after the first finding of each rule
  std::size_t width = 80;  ///< of tables
};

/// Writes each log's verdict with the violations, then the audit's warnings and errors without
/// suppressed ones; then the same for each folder and for a submission; last the counts.
void write_check_text(std::ostream& out, const CheckReport& report,
                      const CheckTextOptions& options);

}  // namespace analysis::report
