// What the HTML report carries in itself, embedded when the program is built.
// Hides where it comes from: Chart.js from Debian's libjs-chart.js, style and script from assets/.
#pragma once

#include <string_view>

namespace analysis::report {

/// Chart.js, minified (MIT licence; its notice stands at its beginning).
std::string_view chart_library();
std::string_view report_style();
std::string_view report_script();

}  // namespace analysis::report
