// Bfloat16, and bytes with a scale for each block.
#include "workloads/parallel/narrow_format.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "runner/base/error.h"
#include "workloads/nn/precision.h"

namespace parallel {
namespace {

class Bf16Format final : public NarrowFormat {
 public:
  using NarrowFormat::NarrowFormat;
  void write(const float* values, std::int64_t count, std::byte* to) const override {
    kernels_.round_to_bf16(values, reinterpret_cast<nn::Bf16*>(to), count);
  }
  void read(const std::byte* from, std::int64_t count, float* values) const override {
    kernels_.widen(reinterpret_cast<const nn::Bf16*>(from), values, count);
  }
};

class Int8Format final : public NarrowFormat {
 public:
  using NarrowFormat::NarrowFormat;
  void write(const float* values, std::int64_t count, std::byte* to) const override {
    for (std::int64_t at = 0; at < count; at += kFormatBlock) {
      const std::int64_t part = std::min(kFormatBlock, count - at);
      float scale;
      kernels_.round_to_bytes(values + at, reinterpret_cast<std::int8_t*>(to + nn::kFloatBytes),
                              &scale, part);
      std::memcpy(to, &scale, sizeof scale);
      to += nn::kFloatBytes + part;
    }
  }
  void read(const std::byte* from, std::int64_t count, float* values) const override {
    for (std::int64_t at = 0; at < count; at += kFormatBlock) {
      const std::int64_t part = std::min(kFormatBlock, count - at);
      float scale;
      std::memcpy(&scale, from, sizeof scale);
      kernels_.widen_bytes(reinterpret_cast<const std::int8_t*>(from + nn::kFloatBytes), scale,
                           values + at, part);
      from += nn::kFloatBytes + part;
    }
  }
};

}  // namespace

std::unique_ptr<NarrowFormat> narrow_format(GradientPayload payload, const nn::Kernels& kernels) {
  if (payload == GradientPayload::kBf16) return std::make_unique<Bf16Format>(payload, kernels);
  if (payload == GradientPayload::kInt8) return std::make_unique<Int8Format>(payload, kernels);
  throw base::Error(base::ExitCode::kInternal,
                    std::string("no narrow format: ") + to_string(payload));
}

}  // namespace parallel
