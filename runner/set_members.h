// The members of a run set: which are finished, run or were cut off, and claiming one so that no
// other process on any host takes it. Hides the files in set/, and how a dead owner is told.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runner/base/clock.h"
#include "runner/set_attempt.h"

namespace runner {

enum class MemberState { kWaiting, kRunning, kCutOff, kFinished };
const char* to_string(MemberState state);

struct Member {
  std::int64_t number = 0;  ///< from 1
  MemberState state = MemberState::kWaiting;
  std::optional<Attempt> last;   ///< the newest; none of one that waits
  std::optional<MemberEnd> end;  ///< of one that is finished or was cut off
};

/// Seconds. Tests have shorter ones.
struct SetTimes {
  double beat = 5.0;     ///< between the signs of life of an owner
  double silent = 60.0;  ///< an owner on another host that is silent for so long is dead
  double look = 0.5;     ///< between looks at others
};

/// A member that this process owns; the sign of life goes on as long as this lives.
class MemberClaim {
 public:
  MemberClaim(std::string folder, Attempt attempt, double beat_s);
  ~MemberClaim();
  MemberClaim(MemberClaim&&) noexcept;
  MemberClaim& operator=(MemberClaim&&) noexcept;

  const Attempt& attempt() const { return attempt_; }
  void set_result(std::int64_t number);
  void finish(const MemberEnd& end);
  void set_ready();  ///< for the common start, see wait_for_start()
  /// Whether another process took this one for dead and began the member again: then what this one
  /// does counts no more.
  bool is_superseded() const;

 private:
  class Heart;
  void write() const;
  std::string folder_;
  Attempt attempt_;
  std::unique_ptr<Heart> heart_;
};

/// Used by one thread of rank 0.
class SetMembers {
 public:
  /// `folder` has the set's results. Makes set/ in it.
  SetMembers(std::string folder, std::int64_t runs, const base::Clock& clock, SetTimes times = {});

  /// In their order. Of an owner on another host it may take until now and `silent` to see that it
  /// is dead; till then its member runs.
  std::vector<Member> look();
  /// The member as it is now.
  Member look(std::int64_t number);
  /// Whether a running member's owner gave no sign of life lately, and is not yet taken for dead.
  bool is_in_doubt(const Member& member);

  /// Claims a member that look() called waiting or cut off; the files of its last attempt go to
  /// cut_off/. Nothing where another process was faster.
  std::optional<MemberClaim> claim(const Member& member);

  /// Members whose newest attempt is not ready for the common start.
  std::vector<std::int64_t> not_ready() const;
  std::int64_t size() const { return runs_; }
  const SetTimes& times() const { return times_; }

 private:
  struct Silence {
    std::int64_t modified_ns = 0;  ///< of the sign of life, when it was seen first
    std::int64_t since_ns = 0;     ///< on the steady clock
  };
  /// By member, of attempts that have a file of this ending.
  std::map<std::int64_t, std::int64_t> newest_attempts(const char* ending) const;
  Member member_of(std::int64_t number, std::int64_t attempt);
  Life life_of(const Attempt& attempt);
  std::int64_t file_system_now_ns();

  std::string folder_;
  std::int64_t runs_;
  const base::Clock& clock_;
  SetTimes times_;
  std::map<std::string, Silence> silences_;           ///< by the owner's token
  std::optional<std::int64_t> file_system_ahead_ns_;  ///< of the steady clock
};

/// Members that look() may let run again, those with the fewest attempts first, so that one that
/// always fails does not keep the others from running.
std::vector<Member> to_run(std::vector<Member> members);

}  // namespace runner
