// What the kernel says of a process on this host.
#pragma once

#include <cstdint>
#include <optional>

namespace base {

struct ProcessState {
  char state = '?';  ///< R runs, S sleeps, D waits for a device, T and t are stopped, Z is a zombie
  std::int64_t parent = 0;
  std::uint64_t start_ticks = 0;  ///< when it began, since the boot
  double age_s = 0.0;             ///< since then
};

/// From /proc/<process>/stat; nothing where that cannot be read.
std::optional<ProcessState> process_state(std::int64_t process);

/// Whether the process exists and has not ended. A zombie has ended, though its parent, or a
/// container's first process, may never take note of that.
bool is_alive(std::int64_t process);

}  // namespace base
