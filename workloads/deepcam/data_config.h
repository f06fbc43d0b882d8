// The section "dataset" of a DeepCAM configuration.
// Hides its keys, defaults and checks.
#pragma once

#include <cstdint>
#include <string>

#include "runner/base/object_reader.h"

namespace deepcam {

struct DataConfig {
  std::string train, validation;                           ///< folders of samples
  std::string statistics;                                  ///< stats.h5
  std::int64_t train_samples = 0, validation_samples = 0;  ///< 0: counted when opened
  std::int64_t shards = 1;
  std::int64_t cache_bytes = 0;     ///< of decoded samples that a rank keeps in memory
  std::int64_t decode_threads = 0;  ///< per rank; 0: as many as compute threads
  std::int64_t prefetch_batches = 2;
  bool counts_known() const { return train_samples > 0 && validation_samples > 0; }
};

/// Without "statistics" it is stats.h5 beside the folder of training samples.
DataConfig parse_data(const base::ObjectReader& in);

}  // namespace deepcam
