// Less memory for more work: what the backward pass makes again.
// Hides nothing.
#pragma once

#include <array>
#include <cstddef>

namespace nn {

/// What is not kept from the forward pass, but made again, bit by bit, where the backward pass
/// needs it: less memory. Slices may be others, and with them the order in which gradients are
/// summed.
enum class Recompute {
  kNone,
  kNormalizations,  ///< outputs of batch norms, from their sources and the statistics
  kBlocks           ///< those of convolutions, too, but for values that several operations read
};

inline constexpr std::array kAllRecompute = {Recompute::kNone, Recompute::kNormalizations,
                                             Recompute::kBlocks};

constexpr const char* to_string(Recompute recompute) {
  constexpr std::array kNames = {"none", "normalizations", "blocks"};
  return kNames.at(static_cast<std::size_t>(recompute));
}

}  // namespace nn
