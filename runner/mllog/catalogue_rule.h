// A rule that findings name, as the catalogue has it.
#pragma once

#include <optional>
#include <string_view>

#include "runner/mllog/finding.h"

namespace mllog {

struct CatalogueRule {
  std::string_view id;                        ///< stable: reports, filters and scripts name it
  std::optional<Finding::Severity> severity;  ///< of each of its findings; nothing: it depends
  std::string_view meaning;                   ///< one sentence
  std::string_view source;                    ///< the rule's text, or who met it
  std::string_view advice;                    ///< what to do; "" where the meaning says it
};

}  // namespace mllog
