// Rates of multiply instructions.
#include "workloads/nn/product_rates.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "runner/base/error.h"
#include "workloads/kernels/tiling.h"

namespace nn {
namespace {

constexpr std::int64_t kInstructions = 48000;  // about 10 to 30 us: shorter than a time slice
constexpr int kRepetitions = 20;

/// Seconds that `multiply` takes for kInstructions; the best of kRepetitions.
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
  if (!kernels.has_pairs()) {
    throw base::Error(base::ExitCode::kInternal, "kernels without products of pairs");
  }
  return {kLanes * kInstructions / seconds_of(kernels.pair_gemm.spend_floats),
          2.0 * kLanes * kInstructions / seconds_of(kernels.pair_gemm.spend_pairs)};
}

Products faster_products(const Kernels& kernels) {
  // Floats must be this much faster, as widening costs time.
  constexpr double kLeastGain = 1.25;
  if (!kernels.has_pairs()) return Products::kFloats;
  const ProductRates rates = measure_product_rates(kernels);
  return rates.floats > kLeastGain * rates.pairs ? Products::kFloats : Products::kPairs;
}

Products CpuProducts::own() const {
  if (arithmetic_.products != Products::kFaster) return arithmetic_.products;
  if (arithmetic_.faster != Products::kFaster) return arithmetic_.faster;
  if (!device_->faster) device_->faster = faster_products(*kernels_);
  return *device_->faster;
}

Products CpuProducts::library() const {
  const bool is_in_tiles = device_->multiplies_in_tiles;
  return arithmetic_.products == Products::kFaster && is_in_tiles ? Products::kPairs : own();
}

bool CpuProducts::wants_channels_last() const {
  return arithmetic_.precision == Precision::kBf16 && device_->multiplies_in_tiles &&
         library() == Products::kPairs;
}

bool CpuProducts::uses_bf16x3() const {
  return arithmetic_.precision == Precision::kF32 && kernels_->has_tiles() &&
         arithmetic_.products != Products::kFloats;
}

}  // namespace nn
