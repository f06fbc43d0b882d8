// Blocks of floats in shared-memory segments.
#include "workloads/parallel/node_memory.h"

#include <bit>

namespace parallel {
namespace {

std::span<float> as_floats(std::span<std::byte> bytes) {
  // Parts are aligned to cache lines and accessed as floats only.
  return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
}

std::int64_t bytes_of(std::int64_t floats) {
  return floats * static_cast<std::int64_t>(sizeof(float));
}

}  // namespace

std::span<float> NodeMemory::shared_block(std::int64_t floats) {
  const std::int64_t here = is_writer() ? bytes_of(floats) : 0;
  return as_floats(segments_.emplace_back(node_, here).part(0));
}

std::span<float> NodeMemory::own_block(std::int64_t floats) {
  own_ = &segments_.emplace_back(node_, bytes_of(floats));
  return as_floats(own_->part(node_.rank()));
}

bool NodeMemory::agree(std::uint64_t number) const {
  const auto bits = std::bit_cast<std::int64_t>(number);
  return node_.allreduce_min(bits) == node_.allreduce_max(bits);
}

std::vector<std::span<float>> NodeMemory::blocks_of_all() const {
  std::vector<std::span<float>> blocks;
  for (int rank = 0; rank < node_.size(); ++rank) blocks.push_back(as_floats(own_->part(rank)));
  return blocks;
}

std::shared_ptr<nn::ParameterMemory> make_memory(const runner::Communicator& node) {
  if (node.size() == 1) return std::make_shared<nn::PrivateMemory>();
  return std::make_shared<NodeMemory>(node);
}

}  // namespace parallel
