// Rates of products.
// Hides the loops' length.
#include "workloads/nn/product_rates.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "runner/base/error.h"
#include "workloads/nn/onednn.h"

namespace nn {
namespace {

constexpr std::int64_t kInstructions = 48000;  // about 10 to 30 us: shorter than a time slice
constexpr int kRepetitions = 20;

/// Seconds that kInstructions of them take.
double seconds_of(void (*multiply)(std::int64_t instructions)) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kRepetitions; ++i) {
    const auto began = std::chrono::steady_clock::now();
    multiply(kInstructions);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    best = std::min(best, took.count());
  }
  return best;
}

}  // namespace

ProductRates measure_product_rates(const Kernels& kernels) {
  const Bf16Products& products = kernels.bf16_products;
  if (products.spend_pairs == nullptr || products.spend_floats == nullptr) {
    throw base::Error(base::ExitCode::kInternal, "kernels without products of pairs");
  }
  constexpr double kLanes = 16.0;
  return {kLanes * kInstructions / seconds_of(products.spend_floats),
          2.0 * kLanes * kInstructions / seconds_of(products.spend_pairs)};
}

Products faster_products(const Kernels& kernels) {
  // Widening costs something, too.
  constexpr double kLeastGain = 1.25;
  if (kernels.bf16_products.multiply == nullptr) return Products::kFloats;
  static const ProductRates rates = measure_product_rates(kernels);
  return rates.floats > kLeastGain * rates.pairs ? Products::kFloats : Products::kPairs;
}

Products own_products(const Arithmetic& arithmetic, const Kernels& kernels) {
  if (arithmetic.products != Products::kFaster) return arithmetic.products;
  return arithmetic.faster != Products::kFaster ? arithmetic.faster : faster_products(kernels);
}

Products library_products(const Arithmetic& arithmetic, const Kernels& kernels) {
  const bool has_tiles = multiplies_in_tiles();
  if (arithmetic.products == Products::kFaster && has_tiles) return Products::kPairs;
  return own_products(arithmetic, kernels);
}

bool wants_channels_last(const Arithmetic& arithmetic, const Kernels& kernels) {
  return arithmetic.precision == Precision::kBf16 && multiplies_in_tiles() &&
         library_products(arithmetic, kernels) == Products::kPairs;
}

bool multiplies_parts(const Arithmetic& arithmetic, const Kernels& kernels) {
  return arithmetic.precision == Precision::kF32 && multiplies_in_tiles() &&
         kernels.float_tiles.multiply != nullptr &&
         library_products(arithmetic, kernels) == Products::kPairs;
}

}  // namespace nn
