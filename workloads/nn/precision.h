// The number format of activations and their gradients.
// Hides nothing.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace nn {

enum class Precision {
  kF32,  ///< all of it in single precision
  kBf16  ///< activations, their gradients and the operands of convolutions in bfloat16; weights
         ///< that are updated, sums, statistics and the loss in single precision or better
};

/// What convolutions and perceptrons multiply. Sums are of floats in either case.
enum class Products {
  kFaster,  ///< as is faster on this CPU (product_rates.h)
  kPairs,  ///< pairs of bfloat16 numbers, by instructions made for them; in f32, three such numbers
           ///< make up a float, where the CPU has matrix tiles
  kFloats  ///< floats: what is in bfloat16 is widened, and weights are not rounded
};

/// The precision of a network, and of which layers not.
struct Arithmetic {
  Precision precision = Precision::kF32;
  /// Convolutions computed in single precision all the same; what goes in and out keeps
  /// `precision`.
  std::set<std::string> f32_layers;
  /// Whether gradients of convolutions that are computed in single precision may be products of
  /// transformed tiles (Winograd; Lavin & Gray, arXiv:1509.09308), where that is faster; in bf16
  /// their values, too. Their rounding errors are about twice those of plain sums.
  bool winograd_gradients = true;
  Products products = Products::kPairs;
  /// What kFaster means where ranks have agreed on it; kFaster: as this process measures it.
  Products faster = Products::kFaster;
  /// Methods of convolutions' products in place of the table's, by key: as method_key() in
  /// products/method.h has them, or "forward *" for all forward products. A method that cannot make
  /// a product leaves it to the table.
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

/// As MLPerf's logs name it.
constexpr const char* logged_name(Precision precision) {
  return precision == Precision::kBf16 ? "bfloat16" : "fp32";
}

/// Bytes of an activation.
constexpr std::int64_t bytes_of(Precision precision) {
  return precision == Precision::kBf16 ? 2 : 4;
}

}  // namespace nn
