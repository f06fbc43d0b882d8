// Less memory for more work: what the backward pass makes again.
// Hides nothing.
#pragma once

namespace nn {

/// What is not kept from the forward pass, but made again, bit by bit, where the backward pass
/// needs it: less memory. Slices may be others, and with them the order in which gradients are
/// summed.
enum class Recompute {
  kNone,
  kNormalizations,  ///< outputs of batch norms, from their sources and the statistics
  kBlocks           ///< those of convolutions, too, but for values that several operations read
};

constexpr const char* to_string(Recompute recompute) {
  switch (recompute) {
    case Recompute::kNone:
      return "none";
    case Recompute::kNormalizations:
      return "normalizations";
    case Recompute::kBlocks:
      break;
  }
  return "blocks";
}

}  // namespace nn
