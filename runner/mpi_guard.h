// A limit on the time that MPI takes to bring the ranks together, and to let them go.
// Hides the thread that waits, as MPI's own calls do not return.
#pragma once

#include <thread>

#include "runner/launch/launcher.h"

namespace runner {

enum class MpiPhase { kStart, kEnd };

/// While it lives, the process ends with kSystem once `timeout_s` have passed, and says which ranks
/// of its host are missing, or that those of its host are there. The first rank of a host that
/// lacks some speaks first, then rank 0; the launcher then ends the others before they speak. Time
/// during which this process was stopped does not count. `timeout_s` 0: for ever.
class [[nodiscard]] MpiGuard {
 public:
  /// Throws SystemError where no thread can be started.
  MpiGuard(MpiPhase phase, const launch::Launcher& launcher, double timeout_s);
  ~MpiGuard();
  MpiGuard(const MpiGuard&) = delete;
  MpiGuard& operator=(const MpiGuard&) = delete;

 private:
  std::jthread thread_;
};

}  // namespace runner
