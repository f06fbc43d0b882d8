// One attempt to run a member of a run set.
#include "runner/set_attempt.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "runner/base/object_reader.h"
#include "runner/base/strict_json.h"

namespace runner {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kAttemptSchema = 1;
constexpr std::int64_t kMostExitCode = 255;
constexpr std::pair<const char*, MemberStatus> kStatuses[] = {
    {"success", MemberStatus::kSuccess},        {"target_missed", MemberStatus::kTargetMissed},
    {"diverged", MemberStatus::kDiverged},      {"failed", MemberStatus::kFailed},
    {"not_started", MemberStatus::kNotStarted}, {"stopped", MemberStatus::kStopped}};

MemberEnd parse_end(const base::ObjectReader& in) {
  std::vector<std::pair<std::string, MemberStatus>> statuses(std::begin(kStatuses),
                                                             std::end(kStatuses));
  MemberEnd end;
  end.status = in.choice("status", static_cast<MemberStatus>(-1), statuses, "how it ended");
  end.reason = in.required<std::string>("reason", "why it did not reach its target");
  end.code = static_cast<base::ExitCode>(
      in.required<std::int64_t>("exit_code", "of this run", base::within(0, kMostExitCode)));
  return end;
}

/// Removes `before`, such as "member_", and the number after it from `text`. Returns the number, or
/// 0 if `text` does not begin so.
std::int64_t take_number(std::string_view& text, std::string_view before) {
  std::int64_t number = 0;
  if (!text.starts_with(before)) return 0;
  text.remove_prefix(before.size());
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 1) return 0;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

}  // namespace

const char* to_string(MemberStatus status) {
  for (const auto& [name, value] : kStatuses) {
    if (value == status) return name;
  }
  return "unknown";
}

bool is_final(MemberStatus status) {
  return status != MemberStatus::kNotStarted && status != MemberStatus::kStopped;
}

std::string to_text(const Attempt& attempt) {
  Json json = {{"schema", kAttemptSchema},         {"member", attempt.member},
               {"attempt", attempt.number},        {"owner", to_json(attempt.owner)},
               {"started_ms", attempt.started_ms}, {"result", attempt.result}};
  if (attempt.end) {
    json["end"] = {{"status", to_string(attempt.end->status)},
                   {"reason", attempt.end->reason},
                   {"exit_code", static_cast<int>(attempt.end->code)}};
  }
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

Attempt parse_attempt(const std::string& text, const std::string& path) {
  const Json json = base::parse_strict_json(text, path, base::JsonComments::kRefused);
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() - 1;  // one can follow
  try {
    const base::ObjectReader in(json, path);
    in.required<std::int64_t>("schema", "of this file",
                              base::within(kAttemptSchema, kAttemptSchema));
    Attempt attempt;
    attempt.member = in.required<std::int64_t>("member", "of the set", base::within(1, kMost));
    attempt.number = in.required<std::int64_t>("attempt", "of this member", base::within(1, kMost));
    attempt.owner = parse_owner(in.object("owner", "the process that runs it"));
    attempt.started_ms = in.required<std::int64_t>("started_ms", "when", base::at_least(0));
    attempt.result = in.required<std::int64_t>("result", "n of result_<n>.txt", base::at_least(0));
    if (in.has("end")) attempt.end = parse_end(in.object("end", "how it ended"));
    in.reject_unknown();
    return attempt;
  } catch (const base::ConfigError& e) {
    throw base::DataError(e.what());  // not a configuration, but a damaged file that a program
                                      // wrote
  }
}

std::string attempt_path(const std::string& folder, std::int64_t member, std::int64_t number,
                         const char* ending) {
  return fmt::format("{}/set/member_{}.attempt_{}{}", folder, member, number, ending);
}

std::optional<AttemptName> parse_attempt_name(const std::string& name) {
  std::string_view rest = name;
  AttemptName found;
  found.member = take_number(rest, "member_");
  found.number = take_number(rest, ".attempt_");
  found.ending = rest;
  if (found.member == 0 || found.number == 0) return std::nullopt;
  return found;
}

}  // namespace runner
