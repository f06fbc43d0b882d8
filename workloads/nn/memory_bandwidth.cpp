// Timed passes over large blocks by all threads.
#include "workloads/nn/memory_bandwidth.h"

#include <algorithm>
#include <array>
#include <limits>

#include "runner/base/median.h"
#include "workloads/nn/precision.h"

namespace nn {
namespace {

constexpr std::int64_t kBlockFloats = kBandwidthBlockBytes / kFloatBytes;

/// Calls pass(first, count) for pieces of a block, on all threads.
template <class Pass>
void for_each_piece_of_block(const Pass& pass) {
  constexpr std::int64_t kPiece = 1 << 16;
#pragma omp parallel for schedule(static)
  for (std::int64_t at = 0; at < kBlockFloats; at += kPiece) pass(at, kPiece);
}

/// A block whose pages have been written: pages never written all map to one page of zeros, which
/// the caches hold.
AlignedFloats written_block() {
  AlignedFloats block(kBlockFloats);
  for_each_piece_of_block(
      [&](std::int64_t at, std::int64_t count) { std::fill_n(block.data() + at, count, 1.0F); });
  return block;
}

template <class Pass>
double pass_seconds(const base::Clock& clock, const Pass& pass) {
  const std::int64_t began_ns = clock.steady_ns();
  for_each_piece_of_block(pass);
  return static_cast<double>(clock.steady_ns() - began_ns) * 1e-9;
}

}  // namespace

CopyBandwidth::CopyBandwidth(const Kernels& kernels)
    : kernels_(kernels), from_(written_block()), to_(written_block()) {}

void CopyBandwidth::measure(const base::Clock& clock) {
  seconds_.push_back(pass_seconds(clock, [this](std::int64_t at, std::int64_t count) {
    kernels_.stream_copy(from_.data() + at, count * kFloatBytes, to_.data() + at);
  }));
}

double CopyBandwidth::usual() const {
  return 2.0 * static_cast<double>(kBandwidthBlockBytes) / base::median_of(seconds_);
}

double triad_bandwidth(const Kernels& kernels, int repetitions, const base::Clock& clock) {
  constexpr std::int64_t kTogether = 1024;  // floats, which stay in the L1 cache
  const AlignedFloats a = written_block(), b = written_block(), c = written_block();
  const float scale = 3.0F;
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repetitions; ++i) {
    const double took = pass_seconds(clock, [&](std::int64_t first, std::int64_t count) {
      alignas(64) std::array<float, kTogether> sums;
      for (std::int64_t at = first; at < first + count; at += kTogether) {
        for (std::int64_t j = 0; j < kTogether; ++j) {
          sums[static_cast<std::size_t>(j)] = b.data()[at + j] + scale * c.data()[at + j];
        }
        kernels.stream_copy(sums.data(), kTogether * kFloatBytes, a.data() + at);
      }
    });
    best = std::min(best, took);
  }
  return 3.0 * static_cast<double>(kBandwidthBlockBytes) / best;
}

}  // namespace nn
