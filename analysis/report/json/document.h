// How JSON documents for people and scripts are written.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace analysis::report {

/// Indented by one blank, invalid UTF-8 replaced, with a line end.
std::string document_text(const nlohmann::ordered_json& document);

}  // namespace analysis::report
