// The "staging" section of a configuration, the same for every workload.
#pragma once

#include "runner/base/object_reader.h"
#include "staging/stage.h"

namespace staging {

StagingConfig parse_staging(const base::ObjectReader& section);

}  // namespace staging
