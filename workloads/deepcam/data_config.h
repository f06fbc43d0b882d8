// The "dataset" section of a DeepCAM configuration.
#pragma once

#include <cstdint>
#include <string>

#include "runner/base/object_reader.h"
#include "workloads/parallel/training_keys.h"

namespace deepcam {

struct DataConfig : parallel::ReadKeys {
  std::string train, validation;  ///< folders of samples
  std::string statistics;         ///< stats.h5
  bool names_statistics = false;  ///< whether the configuration does
  std::int64_t cache_bytes = 0;   ///< memory of a rank for decoded samples
};

/// The default of "statistics" is stats.h5 next to the folder of training samples.
DataConfig parse_data(const base::ObjectReader& in);

}  // namespace deepcam
