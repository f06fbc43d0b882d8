// The random numbers of one augmented image, for tests of input transforms.
#pragma once

#include <cstdint>

#include "runner/base/random.h"

namespace images {

inline base::RandomStream stream(std::uint64_t index) {
  return {7, base::Purpose::kAugment, 1, index};
}

}  // namespace images
