// Writes JSON documents for people and scripts.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace analysis::report {

/// `document` as text: indented by one blank, invalid UTF-8 replaced, with a line end.
std::string document_text(const nlohmann::ordered_json& document);

}  // namespace analysis::report
