// Where weights, gradients and the optimizer's state lie: in memory of a replica's own, or in
// memory that the replicas of a node share. Hides who else sees it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "workloads/kernels/aligned.h"

namespace nn {

/// Tensors in a block begin at multiples of so many floats: at cache lines, and so that the tiles
/// of blocked weights, the widest of 16 x 64 floats, do not lie across the cells of an update.
inline constexpr std::int64_t kTensorAlignment = 1024;
constexpr std::int64_t aligned_floats(std::int64_t floats) {
  return (floats + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
}

/// Blocks live as long as this.
class ParameterMemory {
 public:
  virtual ~ParameterMemory() = default;
  /// Zeroed. The same block for all replicas that share memory.
  virtual std::span<float> shared_block(std::int64_t floats) = 0;
  /// Zeroed. This replica's own.
  virtual std::span<float> own_block(std::int64_t floats) = 0;
  /// What the last own_block() gave to each replica that shares memory, in their order.
  virtual std::vector<std::span<float>> blocks_of_all() const = 0;
  /// Whether this replica writes what is shared; one of them does.
  virtual bool is_writer() const = 0;
  /// Collective among them: whether all gave the same number.
  virtual bool agree(std::uint64_t number) const = 0;
  /// Collective among them. Afterwards all see what each has written to shared blocks.
  virtual void publish() = 0;
};

class PrivateMemory final : public ParameterMemory {
 public:
  std::span<float> shared_block(std::int64_t floats) override {
    return blocks_.emplace_back(floats).span();
  }
  std::span<float> own_block(std::int64_t floats) override { return own_ = shared_block(floats); }
  std::vector<std::span<float>> blocks_of_all() const override { return {own_}; }
  bool is_writer() const override { return true; }
  bool agree(std::uint64_t /*number*/) const override { return true; }
  void publish() override {}

 private:
  std::vector<AlignedFloats> blocks_;
  std::span<float> own_;
};

}  // namespace nn
