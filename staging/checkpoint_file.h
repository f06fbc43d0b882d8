// Checkpoints: one HDF5 file, written and checked by all ranks together.
// Hides the layout, who writes what, and that the file has its name only when it is complete.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runner/base/state.h"
#include "runner/checkpointer.h"
#include "runner/communicator.h"

namespace staging {

/// Collective. Rank 0 writes HDF5's own bytes under `path`.part; then each rank writes its share of
/// the arrays that all have, and its own rows of the others, straight to their places, and flushes
/// them to the device. At last the header with all hashes is written and the file gets its name,
/// so that `path` is whole or not there and nobody waits for a rank that failed, which MPI-IO could
/// not give. `about` is kept beside the arrays. Throws AgreedError naming file and reason, and then
/// leaves nothing behind.
void write_checkpoint(const runner::Communicator& world, const std::string& path,
                      const std::string& about, const std::vector<base::StateArray>& arrays);

/// The content of a checkpoint, all of which was compared with its hashes when it was opened.
class CheckpointReader final : public base::StateSource {
 public:
  /// Collective: ranks share out the reading. Throws AgreedError when `path` is no checkpoint, or
  /// is damaged anywhere.
  CheckpointReader(const runner::Communicator& world, const std::string& path);
  ~CheckpointReader() override;

  const std::string& about() const;
  std::vector<std::int64_t> shape(const std::string& name) const override;
  void read(const std::string& name, base::ElementType element,
            const std::vector<std::int64_t>& shape, std::span<std::byte> out) const override;
  void read_rows(const std::string& name, base::ElementType element, std::int64_t first_row,
                 std::span<std::byte> out) const override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Both, as the runner wants them.
runner::CheckpointFormat checkpoint_format();

}  // namespace staging
