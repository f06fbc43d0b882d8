// Passes over large blocks by all threads.
// Hides pieces, pages and repetitions.
#include "workloads/nn/memory_bandwidth.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "workloads/nn/aligned.h"

namespace nn {
namespace {

constexpr std::int64_t kBlockFloats = kBandwidthBlockBytes / std::int64_t{sizeof(float)};

/// The least seconds that `pass`, given pieces of a block, takes over the whole of it.
template <class Pass>
double best_pass(int repetitions, const base::Clock& clock, const Pass& pass) {
  constexpr std::int64_t kPiece = 1 << 16;
  std::int64_t best_ns = std::numeric_limits<std::int64_t>::max();
  for (int i = 0; i <= repetitions; ++i) {  // the first one makes the pages
    const std::int64_t began_ns = clock.steady_ns();
#pragma omp parallel for schedule(static)
    for (std::int64_t at = 0; at < kBlockFloats; at += kPiece) pass(at, kPiece);
    const std::int64_t took_ns = clock.steady_ns() - began_ns;
    if (i > 0) best_ns = std::min(best_ns, took_ns);
  }
  return static_cast<double>(best_ns) * 1e-9;
}

}  // namespace

double copy_bandwidth(int repetitions, const base::Clock& clock) {
  const AlignedFloats from(kBlockFloats), to(kBlockFloats);
  const double best = best_pass(repetitions, clock, [&](std::int64_t at, std::int64_t count) {
    std::memcpy(to.data() + at, from.data() + at, static_cast<std::size_t>(count) * sizeof(float));
  });
  return 2.0 * static_cast<double>(kBandwidthBlockBytes) / best;
}

double triad_bandwidth(int repetitions, const base::Clock& clock) {
  const AlignedFloats b(kBlockFloats), c(kBlockFloats), a(kBlockFloats);
  const float scale = 3.0F;
  const double best = best_pass(repetitions, clock, [&](std::int64_t at, std::int64_t count) {
    for (std::int64_t i = at; i < at + count; ++i) {
      a.data()[i] = b.data()[i] + scale * c.data()[i];
    }
  });
  return 3.0 * static_cast<double>(kBandwidthBlockBytes) / best;
}

}  // namespace nn
