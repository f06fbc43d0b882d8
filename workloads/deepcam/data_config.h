// The section "dataset" of a DeepCAM configuration.
// Hides its keys, defaults and checks.
#pragma once

#include <cstdint>
#include <string>

#include "runner/base/object_reader.h"
#include "workloads/parallel/training_keys.h"

namespace deepcam {

struct DataConfig : parallel::ReadKeys {
  std::string train, validation;  ///< folders of samples
  std::string statistics;         ///< stats.h5
  std::int64_t cache_bytes = 0;   ///< of decoded samples that a rank keeps in memory
};

/// Without "statistics" it is stats.h5 beside the folder of training samples.
DataConfig parse_data(const base::ObjectReader& in);

}  // namespace deepcam
