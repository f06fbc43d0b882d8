// Shared memory for the weights, gradients and optimizer state of the replicas of a node.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <vector>

#include "runner/communicator.h"
#include "runner/shared_memory.h"
#include "workloads/optimizer/parameter_memory.h"

namespace parallel {

/// One copy of weights and optimizer state on each node. The node's first rank writes them, except
/// in an update, where each rank writes its own part. Construction, destruction, shared_block() and
/// own_block() are collective over the node.
class NodeMemory final : public nn::ParameterMemory {
 public:
  /// `node` outlives this.
  explicit NodeMemory(const runner::Communicator& node) : node_(node) {}
  std::span<float> shared_block(std::int64_t floats) override;
  std::span<float> own_block(std::int64_t floats) override;
  bool is_writer() const override { return node_.rank() == 0; }
  bool agree(std::uint64_t number) const override;
  void publish() override { node_.barrier(); }
  std::vector<std::span<float>> blocks_of_all() const override;

 private:
  const runner::Communicator& node_;
  std::list<runner::SharedMemory> segments_;
  const runner::SharedMemory* own_ = nullptr;
};

/// Memory for the ranks of `node`, which outlives it. A rank alone gets private memory, which may
/// have huge pages: shared memory has none on most systems.
std::shared_ptr<nn::ParameterMemory> make_memory(const runner::Communicator& node);

}  // namespace parallel
