// The kernel's view of a process on this host, and how to recognise it from elsewhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

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

/// Identifies a process for others. Its number alone may be reused, in a container or after a
/// reboot.
struct ProcessIdentity {
  std::int64_t number = 0;
  std::uint64_t start_ticks = 0;  ///< since boot; 0: unknown
  std::string kernel;             ///< boot and process namespace; "" if unknown
  bool operator==(const ProcessIdentity&) const = default;
};
ProcessIdentity this_process_identity();

/// Whether it runs on the kernel of this process, since the same boot, perhaps in another
/// container. Nothing if that is unknown.
std::optional<bool> is_on_this_kernel(const ProcessIdentity& process);

/// kUnknown: it runs where this process cannot look, as on another host or in another container.
enum class Life { kAlive, kDead, kUnknown };
Life life_from_here(const ProcessIdentity& process);

}  // namespace base
