// Runs the members of a set, one after the other.
#include "runner/set_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <thread>

#include "runner/result_files.h"
#include "runner/run_result.h"
#include "runner/together.h"

namespace runner {
namespace {

using base::ExitCode;

class Set {
 public:
  Set(const RunConfig& config, const SetPlan& plan, const RunMember& run, const SetDoors& doors)
      : config_(config), plan_(plan), run_(run), doors_(doors), folder_(results_folder(config)) {}

  SetOutcome go();

 private:
  struct Next {
    std::int64_t member = 0;  ///< 0: nothing is left to do here
    std::uint64_t seed = 0;
  };
  void open();
  void warn_of_other_logs(const std::vector<Member>& members) const;
  /// Collective. Claims a member that this process has not tried yet.
  Next next();
  std::optional<MemberClaim> claim_next();
  void wait_for_start();
  std::vector<Member> wanted();
  void finish(const MemberRun& done);
  /// The summary as text; "" if another instance tells it.
  std::string summarize();
  bool stop_requested() const;
  ExitCode verdict(const std::vector<Member>& members) const;
  ExitCode verdict_of_only(const Member& member) const;

  const RunConfig& config_;
  const SetPlan& plan_;
  const RunMember& run_;
  const SetDoors& doors_;
  const std::string folder_;
  // On rank 0:
  SetDefinition set_;
  std::optional<SetMembers> members_;
  std::optional<MemberClaim> claim_;
  std::set<std::int64_t> tried_;
  bool has_started_ = false;  ///< common start: once it has happened, no member starts alone
  std::optional<SummaryFile> summary_;
  nlohmann::json only_document_;
};

SetOutcome Set::go() {
  on_rank_0(doors_.world, [this] { open(); });
  bool is_stopped = false;
  for (Next one = next(); one.member != 0; one = next()) {
    const MemberHooks hooks{[this](std::int64_t number) { claim_->set_result(number); },
                            [this] { wait_for_start(); }};
    const MemberRun done = run_(one.seed, one.member, hooks);
    on_rank_0(doors_.world, [&] { finish(done); });
    is_stopped = done.end.status == MemberStatus::kStopped;
    if (is_stopped) break;
  }
  is_stopped = is_stopped || stop_requested();
  SetOutcome outcome;
  std::int64_t code = 0;
  on_rank_0(doors_.world, [&] {
    doors_.world.activity().enter_phase("summary of the set");
    outcome.summary = summarize();
    outcome.code = is_stopped ? ExitCode::kStopped : verdict(members_->look());
    outcome.document = plan_.only ? only_document_ : summary_->update().document;
    outcome.document["exit_code"] = static_cast<int>(outcome.code);
    code = static_cast<std::int64_t>(outcome.code);
  });
  outcome.code = static_cast<ExitCode>(doors_.world.allreduce_max(code));
  return outcome;
}

void Set::open() {
  SetDefinition wanted;
  wanted.runs = plan_.runs;
  wanted.master_seed = config_.seed;
  wanted.kind = plan_.kind;
  wanted.ranks = doors_.world.size();
  wanted.config = config_.reader.resolved();
  wanted.created_ms = doors_.clock.unix_ms();
  set_ = open_set(folder_, wanted);
  members_.emplace(folder_, plan_.runs, doors_.clock, plan_.times);
  summary_.emplace(folder_, set_, *members_, plan_.invocation, doors_.summarize);
  const std::vector<Member> members = members_->look();
  const auto finished = std::ranges::count(members, MemberState::kFinished, &Member::state);
  doors_.console.info(fmt::format("set of {} runs, master seed {}, {} finished: {}", set_.runs,
                                  set_.master_seed, finished, folder_));
  warn_of_other_logs(members);
  has_started_ = plan_.kind == SetKind::kTogether && has_started(folder_);
}

void Set::wait_for_start() {
  doors_.console.info(fmt::format("run {} is ready, and waits for all {} to start together",
                                  claim_->attempt().member, set_.runs));
  runner::wait_for_start({folder_, doors_.clock, plan_.start_timeout_s, doors_.stop_requested,
                          [this] { doors_.world.activity().progress(); }},
                         *members_, *claim_);
}

void Set::warn_of_other_logs(const std::vector<Member>& members) const {
  // A running member may have a log whose number it has not recorded yet.
  if (std::ranges::count(members, MemberState::kRunning, &Member::state) > 0) return;
  std::set<std::int64_t> own;
  for (const Member& member : members) own.insert(member.last ? member.last->result : 0);
  const std::vector<std::int64_t> all = result_numbers(folder_);
  const auto others = std::ranges::count_if(all, [&](std::int64_t n) { return !own.contains(n); });
  if (others == 0) return;
  doors_.console.warn(
      fmt::format("{} also has {} logs of runs that are not of this set: analyze and check count "
                  "them with it; move them, or give the set another results.directory",
                  folder_, others));
}

Set::Next Set::next() {
  Next one;
  on_rank_0(doors_.world, [&] {
    claim_ = doors_.stop_requested() ? std::nullopt : claim_next();
    if (!claim_) return;
    one.member = claim_->attempt().member;
    one.seed = member_seed(set_, one.member);
    tried_.insert(one.member);
    const std::int64_t attempt = claim_->attempt().number;
    if (attempt == 1) return;
    doors_.console.info(fmt::format("run {} of {} was cut off and begins again, attempt {}",
                                    one.member, set_.runs, attempt));
  });
  doors_.world.broadcast(std::as_writable_bytes(std::span(&one, 1)), 0);
  return one;
}

std::vector<Member> Set::wanted() {
  std::vector<Member> members;
  if (plan_.only) {
    members = {members_->look(*plan_.only)};
  } else {
    members = members_->look();
  }
  std::erase_if(members, [this](const Member& one) { return tried_.contains(one.number); });
  return members;
}

std::optional<MemberClaim> Set::claim_next() {
  doors_.world.activity().enter_phase("choice of the next member");
  if (has_started_) return std::nullopt;
  while (!doors_.stop_requested()) {
    const std::vector<Member> members = wanted();
    for (const Member& member : to_run(members)) {
      if (auto claim = members_->claim(member)) return claim;
    }
    // A silent owner may be dead. Wait for certainty, as no other process may take over.
    const bool in_doubt = std::ranges::any_of(
        members, [this](const Member& member) { return members_->is_in_doubt(member); });
    if (!in_doubt && to_run(members).empty()) return std::nullopt;
    doors_.world.activity().progress();
    std::this_thread::sleep_for(std::chrono::duration<double>(members_->times().look));
  }
  return std::nullopt;
}

void Set::finish(const MemberRun& done) {
  const Attempt& attempt = claim_->attempt();
  if (claim_->is_superseded()) {
    doors_.console.warn(fmt::format(
        "run {} was begun again by another process, which took this one for dead: what this "
        "one did is in cut_off/",
        attempt.member));
    if (attempt.result > 0) move_cut_off(folder_, attempt.result);
  } else {
    claim_->finish(done.end);
  }
  if (is_final(done.end.status) && done.end.status != MemberStatus::kSuccess) {
    doors_.console.warn(
        fmt::format("run {} stays in the set as a failure: {}", attempt.member, done.end.reason));
  } else if (done.end.status == MemberStatus::kNotStarted) {
    doors_.console.warn(
        fmt::format("run {} ended before its first epoch: {}", attempt.member, done.end.reason));
  }
  if (plan_.only) {
    only_document_ = done.document;
    only_document_["kind"] = "member";
    only_document_["member"] = attempt.member;
    only_document_["runs"] = set_.runs;
  }
  claim_.reset();
  // If hundreds of instances end together, only the last one should read all logs.
  if (plan_.kind == SetKind::kOneByOne) summary_->update();
}

std::string Set::summarize() {
  const auto running = std::ranges::count(members_->look(), MemberState::kRunning, &Member::state);
  if (plan_.kind == SetKind::kTogether && running > 0) {
    doors_.console.info(
        fmt::format("{} other instances still run: the last one tells the summary", running));
    return "";
  }
  const SetSummary& summary = summary_->update();
  if (!plan_.only || !only_document_.is_null()) return summary.text;
  for (const nlohmann::json& member : summary.document["members"]) {
    if (member["member"] == *plan_.only) only_document_ = member;
  }
  only_document_["schema"] = kResultSchema;
  only_document_["kind"] = "member";
  only_document_["runs"] = set_.runs;
  return summary.text;
}

bool Set::stop_requested() const {
  return doors_.world.allreduce_max(std::int64_t{doors_.stop_requested() ? 1 : 0}) != 0;
}

ExitCode Set::verdict(const std::vector<Member>& members) const {
  if (plan_.only) return verdict_of_only(members[static_cast<std::size_t>(*plan_.only - 1)]);
  ExitCode worst = ExitCode::kSuccess;
  for (const Member& member : members) {
    if (member.state != MemberState::kFinished) return ExitCode::kIncomplete;
    const ExitCode code = member.end->code;
    const bool is_error = code != ExitCode::kSuccess && code != ExitCode::kTargetMissed;
    const bool has_error = worst != ExitCode::kSuccess && worst != ExitCode::kTargetMissed;
    if (is_error && !has_error) worst = code;
    if (code == ExitCode::kTargetMissed && worst == ExitCode::kSuccess) worst = code;
  }
  return worst;
}

ExitCode Set::verdict_of_only(const Member& member) const {
  if (member.end && (is_final(member.end->status) || tried_.contains(member.number))) {
    return member.end->code;
  }
  if (has_started_ && member.state != MemberState::kRunning) {
    doors_.console.warn(
        fmt::format("run {} was cut off after the common start, and cannot be repeated alone: the "
                    "summary tells whether the others make a result; a new set needs another "
                    "results.directory",
                    member.number));
  } else if (member.last) {
    doors_.console.warn(
        fmt::format("run {} is run by {}", member.number, to_text(member.last->owner)));
  }
  return ExitCode::kIncomplete;
}

}  // namespace

SetOutcome run_members(const RunConfig& config, const SetPlan& plan, const RunMember& run,
                       const SetDoors& doors) {
  return Set(config, plan, run, doors).go();
}

}  // namespace runner
