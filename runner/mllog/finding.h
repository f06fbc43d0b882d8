// A judge's finding about one place in a log.
#pragma once

#include <cstdint>
#include <string>

namespace mllog {

/// Line and column count from 1; 0 means the whole file.
struct Finding {
  enum class Severity { kNote, kWarning, kError };
  Severity severity = Severity::kWarning;
  std::int64_t line = 0;
  std::int64_t column = 0;
  std::string text;
  std::string rule;                     ///< its id in the catalogue of rules; "" if it has none
  std::string suppressed_because = {};  ///< reason why the finding is suppressed; "": it is
                                        ///< reported
};

constexpr const char* to_string(Finding::Severity severity) {
  switch (severity) {
    case Finding::Severity::kNote:
      return "note";
    case Finding::Severity::kWarning:
      return "warning";
    default:
      return "error";
  }
}

}  // namespace mllog
