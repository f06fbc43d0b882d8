// The rows of `trainmark scale` as text, JSON and CSV: one table of figures and definitions.
#pragma once

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

#include "runner/scale/figures.h"

namespace scale {

nlohmann::ordered_json document(const Result& result);
std::string csv(const Result& result);
void print(const Result& result, std::ostream& out);

}  // namespace scale
