// Which samples a pass is of, for what training draws at random.
// Hides nothing.
#pragma once

#include <cstdint>
#include <vector>

namespace nn {

/// What dropout draws depends on these alone, and on the layer: never on ranks or batches.
struct SampleStreams {
  std::uint64_t seed = 0, epoch = 0;
  std::vector<std::uint64_t> samples;  ///< index in the dataset, of each sample of the pass
};

}  // namespace nn
