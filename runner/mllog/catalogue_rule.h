// An entry in the catalogue of rules, which findings refer to by id.
#pragma once

#include <optional>
#include <string_view>

#include "runner/mllog/finding.h"

namespace mllog {

struct CatalogueRule {
  std::string_view id;                        ///< stable: used by reports, filters and scripts
  std::optional<Finding::Severity> severity;  ///< of all its findings; empty: varies
  std::string_view meaning;                   ///< one sentence
  std::string_view source;                    ///< the rule's text, or who reported the problem
  std::string_view advice;                    ///< what to do; "" if the meaning says so
};

}  // namespace mllog
