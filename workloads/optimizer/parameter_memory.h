// Memory for weights, gradients and the optimizer's state: a replica's own, or shared by the
// replicas of a node.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runner/base/ceil_div.h"
#include "workloads/kernels/aligned.h"

namespace nn {

/// Tensors in a block begin at multiples of this many floats. They are then aligned to cache lines,
/// and no tile of blocked weights, of at most 16 x 64 floats, straddles two cells of an update.
inline constexpr std::int64_t kTensorAlignment = 1024;
constexpr std::int64_t aligned_floats(std::int64_t floats) {
  return base::round_up(floats, kTensorAlignment);
}

/// Allocates blocks, which live as long as this object.
class ParameterMemory {
 public:
  virtual ~ParameterMemory() = default;
  /// Returns a zeroed block, the same for all replicas that share memory.
  virtual std::span<float> shared_block(std::int64_t floats) = 0;
  /// Returns a zeroed block of this replica alone.
  virtual std::span<float> own_block(std::int64_t floats) = 0;
  /// The blocks that the last own_block() call returned to each replica that shares memory, in
  /// their order.
  virtual std::vector<std::span<float>> blocks_of_all() const = 0;
  /// Whether this replica writes shared blocks; exactly one does.
  virtual bool is_writer() const = 0;
  /// Whether all of them passed the same number. Collective among the replicas that share memory.
  virtual bool agree(std::uint64_t number) const = 0;
  /// Makes what each has written to shared blocks visible to all. Collective likewise.
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
