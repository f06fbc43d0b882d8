// The kernel's view of a process on this host.
#pragma once

#include <cstdint>
#include <optional>

namespace base {

struct ProcessState {
  char state = '?';  ///< R runs, S sleeps, D waits for a device, T and t are stopped, Z is a zombie
  std::int64_t parent = 0;
  std::uint64_t start_ticks = 0;  ///< start time in clock ticks since boot
  double age_s = 0.0;             ///< seconds since the start
};

/// From /proc/<process>/stat; nothing if it cannot be read.
std::optional<ProcessState> process_state(std::int64_t process);

/// Whether the process exists and has not ended. A zombie has ended, even if its parent, or a
/// container's first process, never reaps it.
bool is_alive(std::int64_t process);

}  // namespace base
