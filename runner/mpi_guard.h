// A time limit for MPI's start, first sum and end, enforced by a thread since the calls may never
// return.
#pragma once

#include <thread>

#include "runner/launch/launcher.h"

namespace runner {

enum class MpiPhase { kStart, kFirstSum, kEnd };

/// While it lives, the process ends with kSystem after `timeout_s` seconds and prints which ranks
/// of its host are missing, or that all of its host's ranks are present. The first rank of an
/// incomplete host prints first, then rank 0; the launcher then ends the others before they print.
/// Time during which this process was stopped does not count. `timeout_s` 0: no limit.
class [[nodiscard]] MpiGuard {
 public:
  /// Throws SystemError if no thread can be started.
  MpiGuard(MpiPhase phase, const launch::Launcher& launcher, double timeout_s);
  ~MpiGuard();
  MpiGuard(const MpiGuard&) = delete;
  MpiGuard& operator=(const MpiGuard&) = delete;

 private:
  std::jthread thread_;
};

}  // namespace runner
