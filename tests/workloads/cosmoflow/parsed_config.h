// A configuration parsed from JSON, for tests.
#pragma once

#include <nlohmann/json.hpp>

#include "runner/base/object_reader.h"
#include "workloads/cosmoflow/config.h"

namespace cosmoflow {

inline Config parsed(const nlohmann::json& object) {
  return parse_config(base::ObjectReader(object, "small.json"));
}

}  // namespace cosmoflow
