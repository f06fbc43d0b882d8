// Runs work that may crash or hang, such as starting MPI, in a child process that reports its
// progress.
#pragma once

#include <functional>
#include <string>

namespace doctor {

/// The child's channel to its parent.
class Reporter {
 public:
  Reporter(int channel, int own_stderr) : channel_(channel), own_stderr_(own_stderr) {}
  /// Reports the child's current stage and restarts the parent's time limit.
  void stage(const std::string& what) const;
  /// Reports a result that survives the child's death. The last one counts.
  void result(const std::string& text) const;
  /// From now on stderr is the parent's; until then the parent captures it.
  void give_back_stderr() const;

 private:
  void send(char kind, const std::string& text) const;
  int channel_, own_stderr_;
};

struct Outcome {
  enum class End { kReturned, kDied, kTimedOut };
  End end = End::kReturned;
  int status = 0;          ///< the return value of `work`
  std::string stage;       ///< the last one
  std::string result;      ///< the last one
  std::string complaints;  ///< stderr output before give_back_stderr()
};

/// Runs `work`, which returns an exit status, in a child. If standard output cannot be written, the
/// child says so and the status is that of a SystemError. A child that stays in one stage for
/// longer than `patience_s` is killed, as is one whose parent dies. Throws SystemError if no child
/// can be started.
Outcome run_watched(const std::function<int(const Reporter&)>& work, double patience_s);

}  // namespace doctor
