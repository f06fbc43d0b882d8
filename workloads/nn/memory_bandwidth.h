// What the machine's memory gives: the other bound of a layer beside its products.
// Hides how it is measured.
#pragma once

#include <cstdint>
#include <vector>

#include "runner/base/clock.h"
#include "workloads/kernels/aligned.h"
#include "workloads/kernels/kernels.h"

namespace nn {

/// Size of the blocks, far beyond all caches. A rank takes two of them for as long as it has a
/// CopyBandwidth, and three while it measures a triad.
inline constexpr std::int64_t kBandwidthBlockBytes = std::int64_t{256} << 20;

/// Copies between blocks of memory, past the caches where kernels can, on all threads of this
/// process. They are made one at a time, between what they are compared with, so that both see the
/// same machine.
class CopyBandwidth {
 public:
  /// `kernels` outlive this.
  explicit CopyBandwidth(const Kernels& kernels);
  void measure(const base::Clock& clock);
  /// Bytes a second of the median copy, reads and writes both counted; NaN before the first one.
  double usual() const;

 private:
  const Kernels& kernels_;
  AlignedFloats from_, to_;
  std::vector<double> seconds_;
};

/// Bytes a second of a = b + s c, the triad of the STREAM benchmark, in the same way: two blocks
/// read, one written. The best of `repetitions`.
/// Source: McCalpin, "Memory bandwidth and machine balance", 1995.
double triad_bandwidth(const Kernels& kernels, int repetitions, const base::Clock& clock);

}  // namespace nn
