// Writes JSON documents for people and scripts.
#include "analysis/report/json/document.h"

#include <nlohmann/json.hpp>

namespace analysis::report {

std::string document_text(const nlohmann::ordered_json& document) {
  constexpr int kIndent = 1;
  return document.dump(kIndent, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

}  // namespace analysis::report
