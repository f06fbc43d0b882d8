// The summary of a run set.
#include "runner/set_summary.h"

#include <fmt/format.h>

#include <utility>

#include "runner/base/replaced_file.h"
#include "runner/run_config.h"
#include "runner/start_barrier.h"

namespace runner {
namespace {

using Json = nlohmann::json;

constexpr int kSetSummarySchema = 1;
/// A limit on rewrites: writers that keep disturbing each other would be a bug.
constexpr int kMostWritings = 20;

Json facts_of(const Member& member, std::uint64_t seed) {
  const bool has_end = member.end.has_value();
  const std::int64_t result = member.last ? member.last->result : 0;
  Json facts = {{"member", member.number},
                {"seed", seed},
                {"state", to_string(member.state)},
                {"status", has_end ? Json(to_string(member.end->status)) : Json()},
                {"reason", has_end ? Json(member.end->reason) : Json()},
                {"exit_code", has_end ? Json(static_cast<int>(member.end->code)) : Json()},
                {"attempts", member.last ? member.last->number : 0},
                {"result", result > 0 ? Json(result) : Json()},
                {"log", result > 0 ? Json(fmt::format("result_{}.txt", result)) : Json()}};
  for (const char* key : {"host", "process", "job", "started_ms"}) facts[key] = nullptr;
  if (!member.last) return facts;
  facts["host"] = member.last->owner.host;
  facts["process"] = member.last->owner.process;
  if (!member.last->owner.job.empty()) facts["job"] = member.last->owner.job;
  facts["started_ms"] = member.last->started_ms;
  return facts;
}

}  // namespace

Json set_facts(const std::string& folder, const SetDefinition& set,
               const std::vector<Member>& members, const SetInvocation& invocation) {
  const std::vector<std::uint64_t> seeds = derive_seeds(set.master_seed, set.runs);
  Json list = Json::array();
  for (const Member& member : members) {
    list.push_back(facts_of(member, seeds[static_cast<std::size_t>(member.number - 1)]));
  }
  return {{"schema", kSetSummarySchema},
          {"kind", "set"},
          {"mode", to_string(set.kind)},
          {"folder", folder},
          {"runs", set.runs},
          {"master_seed", set.master_seed},
          {"ranks", set.ranks},
          {"started", set.kind == SetKind::kTogether && has_started(folder)},
          {"command", invocation.command},
          {"round", invocation.round.empty() ? Json() : Json(invocation.round)},
          {"members", std::move(list)}};
}

std::string summary_path(const std::string& folder) { return folder + "/set_summary.json"; }

SummaryFile::SummaryFile(std::string folder, const SetDefinition& set, SetMembers& members,
                         SetInvocation invocation, const SummarizeSet& summarize)
    : folder_(std::move(folder)),
      set_(set),
      members_(members),
      invocation_(std::move(invocation)),
      summarize_(summarize) {}

Json SummaryFile::facts() const { return set_facts(folder_, set_, members_.look(), invocation_); }

const SetSummary& SummaryFile::update() {
  Json now = facts();
  for (int writing = 0; now != summarized_ && writing < kMostWritings; ++writing) {
    summary_ = summarize_(now);
    summarized_ = std::move(now);
    base::replace_file(summary_path(folder_),
                       summary_.document.dump(2, ' ', true, Json::error_handler_t::replace) + "\n");
    // Another process may have finished a member meanwhile and written before this one did.
    now = facts();
  }
  return summary_;
}

}  // namespace runner
