// The "staging" section of a configuration, the same for every workload.
#pragma once

#include <string>

#include "runner/base/object_reader.h"
#include "staging/stage.h"

namespace staging {

struct StagingConfig {
  StagingMode mode = StagingMode::kNode;
  std::string directory;
  Afterwards afterwards = Afterwards::kRemove;
};

StagingConfig parse_staging(const base::ObjectReader& section);

}  // namespace staging
