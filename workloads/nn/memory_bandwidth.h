// Memory bandwidth: besides its products, the other bound of a layer's speed.
#pragma once

#include <cstdint>
#include <vector>

#include "runner/base/clock.h"
#include "workloads/kernels/aligned.h"
#include "workloads/kernels/kernels.h"

namespace nn {

/// Bytes of a block, far beyond all caches. A CopyBandwidth holds two blocks, triad_bandwidth()
/// three while it runs.
inline constexpr std::int64_t kBandwidthBlockBytes = std::int64_t{256} << 20;

/// Times copies between blocks of memory on all threads of this process, by streaming stores where
/// kernels have them. Call measure() between the measurements to compare with, so that both see the
/// machine in the same state.
class CopyBandwidth {
 public:
  /// `kernels` must outlive this.
  explicit CopyBandwidth(const Kernels& kernels);
  void measure(const base::Clock& clock);
  /// Bytes per second of the median copy, reads and writes both counted; NaN before the first.
  double usual() const;

 private:
  const Kernels& kernels_;
  AlignedFloats from_, to_;
  std::vector<double> seconds_;
};

/// Bytes per second of a = b + s c, the triad of the STREAM benchmark, measured likewise: two
/// blocks read, one written. The best of `repetitions`.
/// Source: McCalpin, "Memory bandwidth and machine balance", 1995.
double triad_bandwidth(const Kernels& kernels, int repetitions, const base::Clock& clock);

}  // namespace nn
