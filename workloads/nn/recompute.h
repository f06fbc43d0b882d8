// What the backward pass recomputes, to save memory.
#pragma once

#include <array>
#include <cstddef>

namespace nn {

/// Values that the forward pass does not keep: the backward pass recomputes them, with the same
/// bits, where it needs them. Slices may differ, and with them the order in which gradients are
/// summed.
enum class Recompute {
  kNone,
  kNormalizations,  ///< outputs of batch norms, from their sources and the statistics
  kBlocks           ///< and of convolutions; but no values with several readers
};

inline constexpr std::array kAllRecompute = {Recompute::kNone, Recompute::kNormalizations,
                                             Recompute::kBlocks};

constexpr const char* to_string(Recompute recompute) {
  constexpr std::array kNames = {"none", "normalizations", "blocks"};
  return kNames.at(static_cast<std::size_t>(recompute));
}

}  // namespace nn
