// Begins, completes and ends the sets on a node.
#include "staging/staged_set.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <utility>

#include "runner/agreed_error.h"
#include "runner/base/error.h"
#include "runner/base/system_facts.h"
#include "runner/stop_signals.h"
#include "staging/space.h"
#include "staging/staged_folder.h"

namespace staging {
namespace {

/// Names the job for people who find a set on a node.
std::string who_stages() {
  const std::string who = fmt::format("{}, process {}", base::host_name(), ::getpid());
  for (const char* name : {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID"}) {
    if (const char* job = std::getenv(name)) return fmt::format("job {}, {}", job, who);
  }
  return who;
}

SetRecord record_for(const StagingPlan& plan, const dataset::Dataset& source,
                     Afterwards afterwards) {
  return {plan.identity,
          source.source(),
          plan.list->count(),
          plan.list->samples(),
          plan.list->copy_bytes(),
          who_stages(),
          afterwards == Afterwards::kKeep};
}

/// What to do about copies that have no room; "" if nothing is known.
std::string advice_on_space(const std::vector<StagingPlan>& plans) {
  std::int64_t more = 0;
  for (const StagingPlan& plan : plans) {
    // Samples that are not expanded are another copy, of which nothing is there.
    if (plan.missing != plan.packs) return "";
    for (const std::int64_t number : plan.missing) more += (*plan.list)[number].more_bytes;
  }
  return more == 0 ? "" : fmt::format("; staging.expand=false needs {} bytes less", more);
}

/// The packs of `plan` that are damaged although they look whole. Ends early when the process is
/// told to end, as copying, which is done next, will stop at once.
std::vector<std::int64_t> damaged_packs(const StagingPlan& plan, base::Activity& activity,
                                        std::string& first_damage) {
  const PackStore store = PackStore::of(plan.directory);
  std::vector<std::int64_t> damaged;
  for (const std::int64_t number : plan.packs) {
    if (std::binary_search(plan.missing.begin(), plan.missing.end(), number)) continue;
    if (runner::is_told_to_end()) break;
    const std::string damage = store.find_damage(number);
    activity.progress();
    if (damage.empty()) continue;
    if (first_damage.empty()) first_damage = damage;
    damaged.push_back(number);
  }
  return damaged;
}

/// Looks again at what is missing, since its last user may have removed a set since it was planned.
Existing look_at(StagingPlan& plan, Reuse reuse, base::Activity& activity) {
  auto use = use_set(plan.directory, plan.identity);
  std::string damage;
  plan.missing = missing_packs(plan.directory, plan.identity, plan.packs, &damage);
  if (!use) return {};
  Existing found{std::make_shared<FolderUse>(std::move(*use)), damage};
  if (reuse == Reuse::kVerified) {
    const auto damaged = damaged_packs(plan, activity, found.damage);
    plan.missing.insert(plan.missing.end(), damaged.begin(), damaged.end());
    std::sort(plan.missing.begin(), plan.missing.end());
  }
  return found;
}

/// Two sets may be one dataset: the first copies what both need.
void drop_what_earlier_sets_copy(std::vector<StagingPlan>& plans) {
  for (auto plan = plans.begin(); plan != plans.end(); ++plan) {
    for (auto earlier = plans.begin(); earlier != plan; ++earlier) {
      if (earlier->directory != plan->directory) continue;
      std::erase_if(plan->missing, [&](std::int64_t number) {
        return std::binary_search(earlier->missing.begin(), earlier->missing.end(), number);
      });
    }
  }
}

/// On the leader: goes on with the set that exists, or begins one. Returns what people should know
/// of what was in its place; else "".
std::string begin_on_leader(const StagingPlan& plan, const SetRecord& record,
                            const Existing& existing, StagedSet& staged) {
  std::string set_aside;
  staged.use = existing.use
                   ? existing.use
                   : std::make_shared<FolderUse>(begin_set(plan.directory, record, &set_aside));
  if (record.is_kept) keep_set(plan.directory);
  PackStore(plan.directory, record).remove_dead_parts();
  return set_aside;
}

/// Returns the packs that are not there; all of them if that cannot be learnt.
std::vector<std::int64_t> conclude_on_leader(const StagingPlan& plan, const PackStore& store,
                                             StoredDataset& data) {
  try {
    auto left = missing_packs(plan.directory, plan.identity, plan.packs, nullptr);
    if (left.empty() && (!plan.is_staged() || !store.is_finished())) store.finish();
    return left;
  } catch (const base::Error& e) {
    data.note(
        fmt::format("{}: the copy is left without its record, and a later run looks at it "
                    "again: {}",
                    base::host_name(), e.what()));
    return plan.packs;
  }
}

}  // namespace

void agree_on_space(const std::vector<StagingPlan>& plans, const std::string& directory,
                    const runner::Communicator& world, const runner::Topology& topology) {
  std::string mine;
  if (topology.is_node_leader() && !fit_together(plans)) {
    std::int64_t needed = 0;
    for (const StagingPlan& plan : plans) needed += plan.bytes_to_write();
    const StagingPlan& any = plans.front();
    mine = fmt::format("{}: node {} ({}): staging needs {} bytes{}, {} are free{}", directory,
                       topology.node_index, base::host_name(), needed,
                       any.is_in_memory ? " of memory (tmpfs)" : "", any.free_bytes,
                       advice_on_space(plans));
  }
  std::string all;
  for (const std::string& message : world.gather(mine, 0)) {
    if (!message.empty()) all += (all.empty() ? "" : "; ") + message;
  }
  all = world.broadcast(all, 0);
  if (!all.empty()) throw runner::AgreedError(base::ExitCode::kSystem, all);
}

std::vector<Existing> use_what_is_there(std::vector<StagingPlan>& plans,
                                        const StagingConfig& config,
                                        const runner::Topology& topology) {
  std::vector<Existing> existing(plans.size());
  if (topology.is_node_leader()) {
    for (std::size_t i = 0; i < plans.size(); ++i) {
      existing[i] = look_at(plans[i], config.reuse, topology.node.activity());
    }
    remove_leftovers(config.directory);
    const Space space = space_near(config.directory);
    for (StagingPlan& plan : plans) plan.free_bytes = space.free_bytes;
    drop_what_earlier_sets_copy(plans);
  }
  for (StagingPlan& plan : plans) {
    plan.missing = broadcast_numbers(topology.node, plan.missing);
  }
  return existing;
}

PackStore begin_or_go_on(const std::shared_ptr<const dataset::Dataset>& source,
                         const StagingPlan& plan, const Existing& existing,
                         const StagingConfig& config, const runner::Topology& topology,
                         StagedSet& staged) {
  const SetRecord record = record_for(plan, *source, config.afterwards);
  PackStore store(plan.directory, record);
  staged.data = std::make_shared<StoredDataset>(source, store, plan.list);
  if (!existing.damage.empty()) staged.data->note(existing.damage + "; copied anew");
  if (topology.is_node_leader()) {
    const std::string set_aside = begin_on_leader(plan, record, existing, staged);
    if (!set_aside.empty()) staged.data->note(set_aside);
  }
  topology.node.barrier();  // from now on there is the folder
  return store;
}

std::int64_t conclude(StagingPlan& plan, const PackStore& store, const runner::Topology& topology,
                      StoredDataset& data) {
  std::vector<std::int64_t> left;
  if (topology.is_node_leader()) left = conclude_on_leader(plan, store, data);
  left = broadcast_numbers(topology.node, left);
  std::int64_t bytes = 0;
  for (const std::int64_t number : left) bytes += (*plan.list)[number].bytes;
  plan.leave_out(left);
  return bytes;
}

void end_uses(std::vector<StagedSet>& staged) noexcept {
  for (StagedSet& set : staged) {
    try {
      if (set.use) leave_folder(std::move(*set.use));
    } catch (const std::exception&) {
      // The failure that led here takes precedence. The next run removes what is left.
    }
  }
  staged.clear();
}

}  // namespace staging
