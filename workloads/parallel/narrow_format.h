// Formats in which floats take fewer bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "workloads/kernels/kernels.h"
#include "workloads/parallel/gradient_travel.h"

namespace parallel {

/// Writes blocks of kFormatBlock values, the last one maybe shorter, one behind the other; each
/// may be read without the others.
class NarrowFormat {
 public:
  NarrowFormat(GradientPayload payload, const nn::Kernels& kernels)
      : payload_(payload), kernels_(kernels) {}
  virtual ~NarrowFormat() = default;
  std::int64_t bytes(std::int64_t count) const { return narrow_bytes(payload_, count); }
  virtual void write(const float* values, std::int64_t count, std::byte* to) const = 0;
  virtual void read(const std::byte* from, std::int64_t count, float* values) const = 0;

 protected:
  const GradientPayload payload_;
  const nn::Kernels& kernels_;
};

/// kBf16: each value rounded to nearest. kInt8: of each block a scale (f32), its largest magnitude
/// over 127, and each value as a byte, a multiple of that scale. A block with an infinity or NaN is
/// read as NaN.
/// Source: dynamic fixed point per block, Sridharan et al., arXiv:1801.08030.
std::unique_ptr<NarrowFormat> narrow_format(GradientPayload payload, const nn::Kernels& kernels);

}  // namespace parallel
