// Files that every HTML report contains, embedded in the program when it is built: Chart.js from
// Debian's libjs-chart.js, style and script from assets/.
#pragma once

#include <string_view>

namespace analysis::report {

/// Chart.js, minified (MIT licence; the notice is at its beginning).
std::string_view chart_library();
std::string_view report_style();
std::string_view report_script();

}  // namespace analysis::report
