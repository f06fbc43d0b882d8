// The samples of a pass, as keys of training's random numbers.
#pragma once

#include <cstdint>
#include <vector>

namespace nn {

/// Dropout's random numbers depend on these and on the layer alone, never on ranks or batches.
struct SampleStreams {
  std::uint64_t seed = 0, epoch = 0;
  std::vector<std::uint64_t> samples;  ///< index in the dataset of each sample of the pass
};

}  // namespace nn
