// Verdicts as text.
#pragma once

#include <cstddef>
#include <iosfwd>

#include "analysis/findings/check_report.h"

namespace analysis::report {

struct CheckTextOptions {
  bool quiet = false;      ///< nothing of logs that pass
  bool fix_hints = false;  ///< behind the first finding of each rule, what to do
  std::size_t width = 80;  ///< of tables
};

/// Each log with its verdict, what led to it, and the audit's warnings and errors, but for
/// suppressed ones; the same of each folder and of a submission; then how many logs passed.
void write_check_text(std::ostream& out, const CheckReport& report,
                      const CheckTextOptions& options);

}  // namespace analysis::report
