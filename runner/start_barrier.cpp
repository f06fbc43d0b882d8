// The common start of members. Polling rates are limited so that hundreds of members do not
// overload a file system.
#include "runner/start_barrier.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/exclusive_file.h"
#include "runner/base/json_text.h"
#include "runner/base/object_reader.h"
#include "runner/base/strict_json.h"
#include "runner/base/units.h"

namespace runner {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kStartFileSchema = 1;
/// An attempt that ended at most this long before ours began belongs to the same launch.
constexpr std::int64_t kSameLaunchMs = 60000;
/// Limits for all members together: listings of the folder, and reads of each other's files, per
/// second.
constexpr double kListingsPerS = 200.0, kReadsPerS = 2000.0;
constexpr double kShortestLook = 0.05, kLongestLook = 3.0, kShortestCheck = 1.0;
/// The start is scheduled this many looks ahead, so that every member sees it in time.
constexpr double kLooksBeforeStart = 4.0;
constexpr std::size_t kMostNamedMembers = 20;

[[noreturn]] void give_up(const std::string& message) {
  throw base::Error(base::ExitCode::kIncomplete, message);
}

std::string start_path(const std::string& folder) { return folder + "/set/start.json"; }

/// The decided start: when, and with which attempt of each member.
struct Start {
  std::int64_t at_ms = 0;
  std::vector<std::int64_t> attempts;
};

std::optional<Start> read_start(const std::string& folder) {
  const std::string path = start_path(folder);
  const auto text = base::read_created(path);
  if (!text) return std::nullopt;
  const Json json = base::parse_strict_json(*text, path, base::JsonComments::kRefused);
  try {
    const base::ObjectReader in(json, path);
    in.required<std::int64_t>("schema", "of this file",
                              base::within(kStartFileSchema, kStartFileSchema));
    Start start;
    start.at_ms = in.required<std::int64_t>("start_ms", "when", base::at_least(0));
    start.attempts = in.required<std::vector<std::int64_t>>("attempts", "of each member");
    in.required<std::string>("created_by", "host, process and a random number");
    in.reject_unknown();
    return start;
  } catch (const base::ConfigError& e) {
    throw base::DataError(e.what());
  }
}

std::string list_text(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < std::min(numbers.size(), kMostNamedMembers); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(numbers[i]);
  }
  if (numbers.size() > kMostNamedMembers) {
    text += fmt::format(" and {} more", numbers.size() - kMostNamedMembers);
  }
  return text;
}

class Wait {
 public:
  Wait(const StartBarrier& barrier, SetMembers& members, const MemberClaim& claim)
      : barrier_(barrier),
        members_(members),
        own_(claim.attempt()),
        began_ns_(barrier.clock.steady_ns()),
        look_s_(std::clamp(static_cast<double>(members.size()) / kListingsPerS, kShortestLook,
                           kLongestLook)),
        check_s_(std::max(kShortestCheck, static_cast<double>(members.size()) *
                                              static_cast<double>(members.size()) / kReadsPerS)) {}

  void go() {
    double checked_s = -check_s_;
    while (!barrier_.stop_requested()) {
      if (const auto start = read_start(barrier_.folder)) return begin(*start);
      const std::vector<std::int64_t> missing = members_.not_ready();
      if (missing.empty() && decide()) continue;
      if (waited_s() - checked_s >= check_s_) {
        checked_s = waited_s();
        check_others();
      }
      if (waited_s() > barrier_.timeout_s) time_out(missing);
      pause(look_s_);
    }
  }

 private:
  double waited_s() const {
    return static_cast<double>(barrier_.clock.steady_ns() - began_ns_) / base::kNsPerSecond;
  }
  void pause(double seconds) const {
    barrier_.progress();
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  }
  /// Whether the start is decided, by this member or another.
  bool decide() {
    Json attempts = Json::array();
    for (const Member& member : members_.look()) {
      if (member.state != MemberState::kRunning) return false;
      attempts.push_back(member.last->number);
    }
    const auto margin_ms =
        static_cast<std::int64_t>(look_s_ * kLooksBeforeStart * base::kMsPerSecond);
    const Json start = {{"schema", kStartFileSchema},
                        {"start_ms", barrier_.clock.unix_ms() + margin_ms},
                        {"attempts", std::move(attempts)},
                        {"created_by", base::unique_token()}};
    base::create_exclusively(start_path(barrier_.folder), base::json_text(start, 2));
    return true;
  }
  void begin(const Start& start) const {
    const auto index = static_cast<std::size_t>(own_.member - 1);
    if (index >= start.attempts.size() || start.attempts[index] != own_.number) {
      give_up(
          fmt::format("the members of this set started together without attempt {} of member "
                      "{}; a new set needs another results.directory",
                      own_.number, own_.member));
    }
    // A wrong clock on another host must not delay this one for long.
    const double longest_s = 2.0 * look_s_ * kLooksBeforeStart;
    const double left_s =
        static_cast<double>(start.at_ms - barrier_.clock.unix_ms()) / base::kMsPerSecond;
    if (left_s > 0.0) pause(std::min(left_s, longest_s));
  }
  void check_others() {
    for (const Member& member : members_.look()) {
      if (member.state == MemberState::kRunning) alive_.insert(member.number);
      if (!member.end || member.number == own_.member) continue;
      const bool is_of_this_launch = alive_.contains(member.number) ||
                                     member.last->started_ms >= own_.started_ms - kSameLaunchMs;
      if (!is_of_this_launch) continue;
      give_up(fmt::format("member {} ended before the common start: {}", member.number,
                          member.end->reason));
    }
  }
  [[noreturn]] void time_out(const std::vector<std::int64_t>& missing) const {
    give_up(fmt::format(
        "the common start did not come in {:.6g} s: members {} of {} are not ready; start them at "
        "the same time, or give a longer --together-timeout",
        barrier_.timeout_s, list_text(missing), members_.size()));
  }

  const StartBarrier& barrier_;
  SetMembers& members_;
  const Attempt& own_;
  const std::int64_t began_ns_;
  const double look_s_, check_s_;
  std::set<std::int64_t> alive_;  ///< seen running while this one waited
};

}  // namespace

void wait_for_start(const StartBarrier& barrier, SetMembers& members, MemberClaim& claim) {
  claim.set_ready();
  Wait(barrier, members, claim).go();
}

bool has_started(const std::string& folder) { return read_start(folder).has_value(); }

}  // namespace runner
