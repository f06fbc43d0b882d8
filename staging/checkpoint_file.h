// Checkpoints: one HDF5 file, written and verified by all ranks together.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runner/base/state.h"
#include "runner/checkpointer.h"
#include "runner/communicator.h"

namespace staging {

/// Collective. Rank 0 writes HDF5's own bytes to `path`.part. Each rank then writes its share of
/// the replicated arrays and its own rows of the distributed ones to their final offsets, and
/// flushes them to the device. Last, rank 0 writes the header with all hashes and renames the file
/// to `path`. So `path` is complete or absent, and no rank waits for one that failed; MPI-IO
/// guarantees neither. `about` is stored in the header. Throws AgreedError naming file and reason,
/// and then leaves no file behind.
void write_checkpoint(const runner::Communicator& world, const std::string& path,
                      const std::string& about, const std::vector<base::StateArray>& arrays);

/// The content of a checkpoint. Opening one verifies all of its hashes.
class CheckpointReader final : public base::StateSource {
 public:
  /// Collective: the ranks share the reading. Throws AgreedError when `path` is not a checkpoint or
  /// any byte of it is damaged.
  CheckpointReader(const runner::Communicator& world, const std::string& path);
  ~CheckpointReader() override;

  const std::string& about() const;
  bool has(const std::string& name) const override;
  std::vector<std::int64_t> shape(const std::string& name) const override;
  void read(const std::string& name, base::ElementType element,
            const std::vector<std::int64_t>& shape, std::span<std::byte> out) const override;
  void read_rows(const std::string& name, base::ElementType element, std::int64_t first_row,
                 std::span<std::byte> out) const override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// write_checkpoint() and CheckpointReader as the runner's CheckpointFormat.
runner::CheckpointFormat checkpoint_format();

}  // namespace staging
