// The state of a run set's members, and claiming one so that no other process on any host takes it.
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
  std::optional<Attempt> last;   ///< the newest attempt; empty in state kWaiting
  std::optional<MemberEnd> end;  ///< if it is finished or was interrupted
};

/// Times in seconds; tests use shorter ones.
struct SetTimes {
  double beat = 5.0;     ///< between two signs of life of an owner
  double silent = 60.0;  ///< an owner on another host that is silent this long is taken for dead
  double look = 0.5;     ///< between two looks at other members
};

/// A member that this process owns; its sign of life continues while this object lives.
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
  /// Whether another process took this one for dead and restarted the member; this process's result
  /// then does not count.
  bool is_superseded() const;

 private:
  class Heart;
  void write() const;
  std::string folder_;
  Attempt attempt_;
  std::unique_ptr<Heart> heart_;
};

/// Not thread-safe; used by one thread of rank 0.
class SetMembers {
 public:
  /// `folder` holds the set's results; creates set/ in it.
  SetMembers(std::string folder, std::int64_t runs, const base::Clock& clock, SetTimes times = {});

  /// All members in order. Detecting the death of an owner on another host takes up to `silent`
  /// seconds; until then its member counts as running.
  std::vector<Member> look();
  /// The current state of one member.
  Member look(std::int64_t number);
  /// Whether a running member's owner gave no recent sign of life, but is not yet taken for dead.
  bool is_in_doubt(const Member& member);

  /// Claims a member that look() reported as waiting or cut off, and moves the files of its last
  /// attempt to cut_off/. Returns nothing if another process was faster.
  std::optional<MemberClaim> claim(const Member& member);

  /// Members whose newest attempt is not ready for the common start.
  std::vector<std::int64_t> not_ready() const;
  std::int64_t size() const { return runs_; }
  const SetTimes& times() const { return times_; }

 private:
  struct Silence {
    std::int64_t modified_ns = 0;  ///< the sign of life's file time at first sight
    std::int64_t since_ns = 0;     ///< on the steady clock
  };
  /// The newest attempt, by member, that has a file with this ending.
  std::map<std::int64_t, std::int64_t> newest_attempts(const char* ending) const;
  Member member_of(std::int64_t number, std::int64_t attempt);
  Life life_of(const Attempt& attempt);
  std::int64_t file_system_now_ns();

  std::string folder_;
  std::int64_t runs_;
  const base::Clock& clock_;
  SetTimes times_;
  std::map<std::string, Silence> silences_;           ///< by the owner's token
  std::optional<std::int64_t> file_system_ahead_ns_;  ///< the file system's clock minus the steady
                                                      ///< clock
};

/// The members to be run, fewest attempts first, so that one that always fails does not block the
/// others.
std::vector<Member> to_run(std::vector<Member> members);

}  // namespace runner
