// JSON Schemas (draft 7) of the documents that `analyze` and `compare` write.
// Hides how they are put together; names and definitions of figures come from the same tables as
// the documents.
#pragma once

#include <string>

namespace analysis::report {

/// Of report_json_text().
std::string report_schema_text();
/// Of what `compare --json` writes, of runs and of bench results.
std::string compare_schema_text();

}  // namespace analysis::report
