// How gradients travel between nodes: keys of the section "training".
#pragma once

#include "workloads/nn/precision.h"

namespace parallel {

struct GradientTravel {
  nn::Precision payload = nn::Precision::kF32;  ///< sums are f32 all the same
  /// Whether weights are updated during the next forward pass, each when it is needed; what is
  /// needed first overtakes the rest.
  bool late_update = true;
};

}  // namespace parallel
