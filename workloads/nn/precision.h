// The number format of activations and their gradients.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace nn {

enum class Precision {
  kF32,  ///< everything in single precision
  kBf16  ///< activations, their gradients and the operands of convolutions in bfloat16; weights
         ///< that are updated, sums, statistics and the loss in single precision or better
};

/// What convolutions and perceptrons multiply. Sums are in floats in any case.
enum class Products {
  kFaster,  ///< what is faster on this CPU (product_rates.h)
  kPairs,   ///< pairs of bf16 elements, by the instructions for them; in f32 the bf16x3 split of
            ///< floats, on CPUs with AMX tiles
  kFloats   ///< floats: bf16 activations are widened, and weights are not rounded
};

/// The precision of a network, and exceptions.
struct Arithmetic {
  Precision precision = Precision::kF32;
  /// Convolutions computed in single precision all the same; their sources and results keep
  /// `precision`.
  std::set<std::string> f32_layers;
  /// Whether gradients of convolutions that are computed in single precision may use products of
  /// transformed tiles (Winograd; Lavin & Gray, arXiv:1509.09308), where these are faster; in bf16
  /// their forward products may, too. Rounding errors are about twice those of plain sums.
  bool winograd_gradients = true;
  Products products = Products::kPairs;
  /// What kFaster means if the ranks have agreed on it; kFaster: what this process measures.
  Products faster = Products::kFaster;
  /// Methods of convolutions' products that override the table's, by key: method_key() of
  /// products/method.h, or "forward *" for all forward products. A method that cannot make a
  /// product is ignored.
  std::map<std::string, std::string> methods;
};

constexpr const char* to_string(Precision precision) {
  return precision == Precision::kBf16 ? "bf16" : "f32";
}

constexpr const char* to_string(Products products) {
  switch (products) {
    case Products::kPairs:
      return "pairs";
    case Products::kFloats:
      return "floats";
    default:
      return "auto";
  }
}

/// The name in MLPerf's logs.
constexpr const char* logged_name(Precision precision) {
  return precision == Precision::kBf16 ? "bfloat16" : "fp32";
}

inline constexpr std::int64_t kFloatBytes = sizeof(float);

/// Bytes of an element of an activation.
constexpr std::int64_t bytes_of(Precision precision) {
  return precision == Precision::kBf16 ? 2 : 4;
}

}  // namespace nn
