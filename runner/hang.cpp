// The verdict on ranks that make no progress.
#include "runner/hang.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

namespace runner {
namespace {

/// The most culprits and groups of waiting ranks that a message names; more would obscure it.
constexpr std::size_t kMostNamedRanks = 4;

std::string place(const RankState& state) {
  return state.call.empty() ? state.doing : fmt::format("{} ({})", state.doing, state.call);
}

std::string name(const RankState& state) {
  return fmt::format("rank {} (host {}, process {})", state.rank, state.host, state.process);
}

/// The ranks by their role in a hang.
struct Roles {
  std::vector<const Seen*> lost;     ///< silent: stopped, or their host is gone
  std::vector<const Seen*> stuck;    ///< alive, in work of their own, without progress
  std::vector<const Seen*> waiting;  ///< for other ranks
  std::vector<int> unheard;
  bool is_someone_idle = false;  ///< at least one rank made no progress for hang_s
  bool do_all_wait = true;       ///< all ranks heard from have waited for hang_s
};

Roles roles_of(std::span<const Seen> ranks, const Judge& judge) {
  const double silence_s = judge.lost_s > 0 ? judge.lost_s : judge.hang_s;
  Roles roles;
  for (const Seen& rank : ranks) {
    if (!rank.heard) {
      roles.unheard.push_back(rank.state.rank);
    } else if (silence_s > 0 && rank.silent_s >= silence_s) {
      roles.lost.push_back(&rank);
    } else {
      const bool waits = !rank.state.call.empty();
      const bool is_idle = judge.hang_s > 0 && rank.state.idle_s >= judge.hang_s;
      roles.is_someone_idle |= is_idle;
      roles.do_all_wait &= is_idle && waits;
      if (is_idle && !waits) roles.stuck.push_back(&rank);
      if (waits) roles.waiting.push_back(&rank);
    }
  }
  return roles;
}

/// Whether silence alone justifies ending the job; a network may lose messages while the job goes
/// on.
bool is_loss_certain(const Roles& roles, const Judge& judge) {
  if (judge.lost_s <= 0 || roles.lost.empty()) return false;
  const auto is_near = [&](const Seen* rank) { return rank->state.host == judge.host; };
  // A rank's report of its waiting is a little older than the silence that it waits for.
  const auto waits_long = [&](const Seen* rank) { return rank->state.idle_s >= judge.lost_s / 2; };
  return std::ranges::any_of(roles.lost, is_near) || std::ranges::any_of(roles.waiting, waits_long);
}

class Diagnosis {
 public:
  void add(const std::string& clause) { text_ += (text_.empty() ? "" : "; ") + clause; }

  template <class Clause>
  void add_each(const std::vector<const Seen*>& ranks, Clause clause) {
    for (std::size_t i = 0; i < std::min(ranks.size(), kMostNamedRanks); ++i)
      add(clause(*ranks[i]));
    if (ranks.size() > kMostNamedRanks) {
      add(fmt::format("and so have {} more", ranks.size() - kMostNamedRanks));
    }
  }

  void add_waiting(const std::vector<const Seen*>& ranks) {
    std::map<std::string, std::vector<int>> by_place;
    for (const Seen* rank : ranks) by_place[place(rank->state)].push_back(rank->state.rank);
    std::size_t named = 0;
    for (const auto& [where, who] : by_place) {
      if (named++ == kMostNamedRanks) return add("others wait elsewhere");
      add(who.size() == 1 ? fmt::format("rank {} waits in {}", rank_list(who), where)
                          : fmt::format("ranks {} wait in {}", rank_list(who), where));
    }
  }

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::string lost_clause(const Seen& rank) {
  return fmt::format(
      "{} has not been heard of for {:.0f} s, so it is stopped or its host is gone; it was last "
      "seen in {}",
      name(rank.state), rank.silent_s, place(rank.state));
}

std::string stuck_clause(const Seen& rank) {
  return fmt::format("{} has stood still in {} for {:.0f} s", name(rank.state), place(rank.state),
                     rank.state.idle_s);
}

}  // namespace

std::string find_hang(std::span<const Seen> ranks, const Judge& judge) {
  const Roles roles = roles_of(ranks, judge);
  const bool is_lost = is_loss_certain(roles, judge);
  const bool hangs =
      roles.is_someone_idle && (!roles.stuck.empty() || roles.do_all_wait || !roles.lost.empty());
  if (!is_lost && !hangs) return "";
  Diagnosis diagnosis;
  diagnosis.add_each(roles.lost, lost_clause);
  diagnosis.add_each(roles.stuck, stuck_clause);
  if (hangs && roles.lost.empty() && roles.stuck.empty() && roles.unheard.empty()) {
    diagnosis.add("every rank waits for another, so the network fails or their calls differ");
  }
  diagnosis.add_waiting(roles.waiting);
  if (hangs && !roles.unheard.empty()) {
    diagnosis.add(fmt::format("nothing was ever heard of rank{} {} (is UDP blocked? rank 0: {})",
                              roles.unheard.size() == 1 ? "" : "s", rank_list(roles.unheard),
                              judge.root));
  }
  return hangs ? fmt::format("no progress for {:.4g} s: {}", judge.hang_s, diagnosis.text())
               : diagnosis.text();
}

std::string doing_text(const base::Activity::Snapshot& glimpse) {
  std::string text = glimpse.phase == nullptr ? "the start" : glimpse.phase;
  if (text == base::kTrainingPhase) text += fmt::format(", step {}", glimpse.steps + 1);
  if (glimpse.work != nullptr && text != glimpse.work) text += fmt::format(": {}", glimpse.work);
  return text;
}

std::string rank_list(std::span<const int> ranks) {
  std::string text;
  for (std::size_t first = 0; first < ranks.size();) {
    std::size_t last = first;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (first > 0) text += ", ";
    text += fmt::format("{}", ranks[first]);
    if (last > first) text += fmt::format("-{}", ranks[last]);
    first = last + 1;
  }
  return text;
}

}  // namespace runner
