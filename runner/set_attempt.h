// One attempt to run a member of a run set, and its files in set/.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "runner/base/error.h"
#include "runner/set_owner.h"

namespace runner {

enum class MemberStatus {
  kSuccess,
  kTargetMissed,
  kDiverged,
  kFailed,      ///< an error ended the run
  kNotStarted,  ///< an error came before the first epoch: to be run again
  kStopped      ///< by a signal: to be run again
};
const char* to_string(MemberStatus status);
/// Whether the member is not run again: a failure is a result too.
bool is_final(MemberStatus status);

struct MemberEnd {
  MemberStatus status = MemberStatus::kSuccess;
  std::string reason;  ///< "" after success
  base::ExitCode code = base::ExitCode::kSuccess;
};

/// A member that was interrupted has several attempts.
struct Attempt {
  std::int64_t member = 0, number = 0;  ///< from 1
  SetOwner owner;
  std::int64_t started_ms = 0;
  std::int64_t result = 0;  ///< n of result_<n>.txt; 0 before the claim
  std::optional<MemberEnd> end;
};

/// The content of an attempt's file, for base::create_exclusively().
std::string to_text(const Attempt& attempt);
/// Throws DataError naming `path`.
Attempt parse_attempt(const std::string& text, const std::string& path);

/// <folder>/set/member_<member>.attempt_<number><ending>, with one of the endings below.
std::string attempt_path(const std::string& folder, std::int64_t member, std::int64_t number,
                         const char* ending);
inline constexpr char kAttemptFile[] = ".json";
inline constexpr char kAliveFile[] = ".alive";  ///< its modification time is the sign of life
inline constexpr char kReadyFile[] = ".ready";  ///< initialised, waiting for the common start

/// The parts of an attempt file's name.
struct AttemptName {
  std::int64_t member = 0, number = 0;
  std::string ending;
};
std::optional<AttemptName> parse_attempt_name(const std::string& name);

}  // namespace runner
