// A figure of a report: name, unit, definition and getter. JSON, CSV, text and HTML all read tables
// of these, so every figure has a definition and is computed in one place.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/facts.h"
#include "analysis/systems.h"
#include "analysis/value.h"

namespace analysis {

template <class Facts>
struct Field {
  std::string name;
  std::string unit;  ///< "" for counts, names and booleans
  std::string definition;
  std::function<Value(const Facts&)> get;
};

/// The field of that name; null if there is none.
template <class Facts>
const Field<Facts>* find_field(const std::vector<Field<Facts>>& table, const std::string& name) {
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const Field<Facts>& field) { return field.name == name; });
  return found == table.end() ? nullptr : &*found;
}

}  // namespace analysis
