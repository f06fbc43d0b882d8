// Memory that the ranks of a node see together.
// Hides the MPI window behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace runner {

class Communicator;

/// A part for each rank of a communicator, all of them readable and writable by every rank. Zeroed
/// at first; each part begins at a cache line.
class SharedMemory {
 public:
  /// Collective; `bytes` may differ between ranks. All ranks of `node` are on one node
  /// (Communicator::split_node). Throws SystemError on every rank when the system has no such
  /// memory.
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
