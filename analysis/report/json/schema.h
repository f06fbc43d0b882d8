// JSON Schemas (draft 7) of the documents that `analyze` and `compare` write.
// Names and definitions of figures come from the same tables as in the documents.
#pragma once

#include <string>

namespace analysis::report {

/// Schema of report_json_text().
std::string report_schema_text();
/// Schema of compare_json_text() and bench_compare_json_text().
std::string compare_schema_text();

}  // namespace analysis::report
