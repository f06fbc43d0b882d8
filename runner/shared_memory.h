// Memory shared by the ranks of a node, in an MPI window.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace runner {

class Communicator;

/// One part per rank of a communicator; every rank can read and write all parts. Initially zero;
/// each part is aligned to a cache line.
class SharedMemory {
 public:
  /// Collective; `bytes` may differ between ranks. All ranks of `node` must be on one node
  /// (Communicator::split_node). Throws SystemError on every rank if the system lacks the memory.
  SharedMemory(const Communicator& node, std::int64_t bytes);
  SharedMemory(SharedMemory&&) noexcept;
  SharedMemory& operator=(SharedMemory&&) noexcept;
  /// Collective, unless an exception is unwinding.
  ~SharedMemory();

  std::span<std::byte> part(int rank) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace runner
