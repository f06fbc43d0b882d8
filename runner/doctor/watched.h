// Runs what may die or hang, as starting MPI does, in a child process that tells how far it came.
// Hides pipes, signals and time limits.
#pragma once

#include <functional>
#include <string>

namespace doctor {

/// The child's way to its parent.
class Teller {
 public:
  Teller(int channel, int own_stderr) : channel_(channel), own_stderr_(own_stderr) {}
  /// What the child does from now on; starts the clock of the parent's patience anew.
  void stage(const std::string& what) const;
  /// What is to be known even if this process dies. The last one counts.
  void result(const std::string& text) const;
  /// From now on stderr goes where the parent's goes; until then the parent keeps it.
  void give_back_stderr() const;

 private:
  void tell(char kind, const std::string& text) const;
  int channel_, own_stderr_;
};

struct Outcome {
  enum class End { kReturned, kDied, kTimedOut };
  End end = End::kReturned;
  int status = 0;          ///< what `work` returned
  std::string stage;       ///< the last one
  std::string result;      ///< the last one
  std::string complaints;  ///< of stderr, before it was given back
};

/// Runs `work` in a child; it returns an exit status. A child that is in one stage for longer than
/// `patience_s` is killed; so is one whose parent dies. Throws SystemError when there can be none.
Outcome run_watched(const std::function<int(const Teller&)>& work, double patience_s);

}  // namespace doctor
