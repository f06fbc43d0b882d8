// Output of a command's result: one JSON document, or lines for people.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <ostream>
#include <string>

#include "runner/base/printable.h"

namespace runner {

/// Writes `document` to the file `target`, or to `out` if that is "-". Throws SystemError.
void write_document(const nlohmann::json& document, const std::string& target, std::ostream& out);

/// Prints one line per value, "a.b value", in the document's order. Descends into objects and
/// arrays. An array of plain values takes one line; an array of flat objects becomes a table after
/// the lines, with the member "name" first, then numbers, then text.
void print_facts(const nlohmann::json& facts, std::ostream& out);

using base::bytes_text;

}  // namespace runner
