// The number format of activations and their gradients.
// Hides nothing.
#pragma once

#include <cstdint>
#include <set>
#include <string>

namespace nn {

enum class Precision {
  kF32,  ///< all of it in single precision
  kBf16  ///< activations, their gradients and the operands of convolutions in bfloat16; weights
         ///< that are updated, sums, statistics and the loss in single precision or better
};

/// The precision of a network, and of which layers not.
struct Arithmetic {
  Precision precision = Precision::kF32;
  /// Convolutions computed in single precision all the same; what goes in and out keeps
  /// `precision`.
  std::set<std::string> f32_layers;
  /// Whether gradients of convolutions that are computed in single precision may be products of
  /// transformed tiles (Winograd; Lavin & Gray, arXiv:1509.09308), where that is faster. Their
  /// rounding errors are about twice those of plain sums.
  bool winograd_gradients = true;
};

constexpr const char* to_string(Precision precision) {
  return precision == Precision::kBf16 ? "bf16" : "f32";
}

/// Bytes of an activation.
constexpr std::int64_t bytes_of(Precision precision) {
  return precision == Precision::kBf16 ? 2 : 4;
}

}  // namespace nn
