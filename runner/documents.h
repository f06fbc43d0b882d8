// How a command hands out what it found: one JSON document, or lines for people.
// Hides where "-" goes and how nested facts become lines.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <ostream>
#include <string>

#include "runner/base/printable.h"

namespace runner {

/// Writes `document` to the file `target`, or to `out` if that is "-". Throws SystemError.
void write_document(const nlohmann::json& document, const std::string& target, std::ostream& out);

/// One line per value, "a.b   value", in the document's order; objects and arrays are descended
/// into, arrays of plain values stay on one line, arrays of flat objects become tables behind the
/// lines: the member "name" first, then numbers, then text.
void print_facts(const nlohmann::json& facts, std::ostream& out);

using base::bytes_text;

}  // namespace runner
