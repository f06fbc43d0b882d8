// Copies samples to node-local storage: from the plan to a complete set.
#include "staging/stage.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "runner/agreed_error.h"
#include "runner/base/error.h"
#include "runner/base/system_facts.h"
#include "runner/base/units.h"
#include "runner/stop_signals.h"
#include "staging/bring.h"
#include "staging/decide.h"
#include "staging/folder_use.h"
#include "staging/own_folder.h"
#include "staging/pack_store.h"
#include "staging/space.h"
#include "staging/staged_folder.h"
#include "staging/staging_facts.h"
#include "staging/stored_dataset.h"

namespace staging {

/// A set as it is on this rank's node.
struct Staged {
  std::shared_ptr<const dataset::Dataset> data;
  std::shared_ptr<const StoredDataset> stored;  ///< the same
  StagingFacts facts;
  std::shared_ptr<FolderUse> use;  ///< on the node's leader: keeps others from removing the copy
  Moved mine;
};

namespace {

void agree_on_space(const std::vector<StagingPlan>& plans, const std::string& directory,
                    const runner::Communicator& world, const runner::Topology& topology) {
  std::string mine;
  if (topology.is_node_leader() && !fit_together(plans)) {
    std::int64_t needed = 0;
    for (const StagingPlan& plan : plans) needed += plan.bytes_to_write();
    const StagingPlan& any = plans.front();
    mine = fmt::format("{}: node {} ({}): staging needs {} bytes{}, {} are free", directory,
                       topology.node_index, base::host_name(), needed,
                       any.is_in_memory ? " of memory (tmpfs)" : "", any.free_bytes);
  }
  std::string all;
  for (const std::string& message : world.gather(mine, 0)) {
    if (!message.empty()) all += (all.empty() ? "" : "; ") + message;
  }
  all = world.broadcast(all, 0);
  if (!all.empty()) throw runner::AgreedError(base::ExitCode::kSystem, all);
}

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
          plan.list->bytes(),
          who_stages(),
          afterwards == Afterwards::kKeep};
}

/// A set that exists, as the leader of its node sees it.
struct Existing {
  std::shared_ptr<FolderUse> use;  ///< null: there is none to use
  std::string damage;              ///< of the first pack that has to be copied anew; else ""
};

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

/// Collective over the node. Returns, on the leader, what already exists. Removes what dead jobs
/// left, to free its space.
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

/// On the leader: goes on with the set that exists, or begins one. Returns what people should know
/// of what was in its place; else "".
std::string begin_or_go_on(const StagingPlan& plan, const SetRecord& record,
                           const Existing& existing, Staged& staged) {
  std::string set_aside;
  staged.use = existing.use
                   ? existing.use
                   : std::make_shared<FolderUse>(begin_set(plan.directory, record, &set_aside));
  if (record.is_kept) keep_set(plan.directory);
  PackStore(plan.directory, record).remove_dead_parts();
  return set_aside;
}

/// Collective over all ranks. Leaves `staged` without data when a rank was told to end.
void bring(const std::shared_ptr<const dataset::Dataset>& source, const StagingPlan& plan,
           const Existing& existing, const StagingConfig& config, const Place& place,
           Staged& staged) {
  const auto& [world, topology, clock] = place;
  const SetRecord record = record_for(plan, *source, config.afterwards);
  const PackStore store(plan.directory, record);
  std::string set_aside;
  if (topology.is_node_leader()) set_aside = begin_or_go_on(plan, record, existing, staged);
  topology.node.barrier();  // from now on there is the folder
  const auto mine = bring_missing(*source, plan, store, config, world, topology);
  if (topology.node.allreduce_max(std::int64_t{mine ? 0 : 1}) != 0) return;
  staged.mine = *mine;
  if (staged.use && (!plan.is_staged() || !store.is_finished())) store.finish();
  auto data = std::make_shared<StoredDataset>(source, store, plan.list);
  for (const std::int64_t number : plan.packs) data->arrived(number);
  if (!existing.damage.empty()) data->note(existing.damage + "; copied anew");
  if (!set_aside.empty()) data->note(set_aside);
  staged.stored = data;
  staged.data = std::move(data);
  topology.node.barrier();
}

double seconds_of(std::int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / base::kNsPerSecond;
}

/// Collective over all ranks. Throws AgreedError(kStopped) if a node was told to end before the set
/// was complete.
void require_whole(const Staged& staged, const runner::Communicator& world) {
  const bool is_whole = staged.data != nullptr;
  if (world.allreduce_max(std::int64_t{is_whole ? 0 : 1}) == 0) return;
  throw runner::AgreedError(base::ExitCode::kStopped, "staging: stopped by a signal");
}

/// Removes what is unfinished or not to be kept. It is not collective: other ranks may not get
/// here.
void end_uses(std::vector<Staged>& staged) noexcept {
  for (Staged& set : staged) {
    try {
      if (set.use) leave_folder(std::move(*set.use));
    } catch (const std::exception&) {
      // The failure that led here takes precedence. The next run removes what is left.
    }
  }
  staged.clear();
}

std::int64_t samples_of_node(const Ranges& ranges, const runner::Communicator& node) {
  std::int64_t samples = 0;
  for (const auto& [first, last] : needed_on_node(ranges, node)) samples += last - first;
  return samples;
}

RankEffort effort_of(const Moved& moved, double planning_s, double copying_s) {
  return {moved.source_reads,  moved.source_bytes, moved.network_bytes,
          moved.written_bytes, planning_s,         copying_s};
}

nlohmann::json plan_of_streaming(const std::vector<Wanted>& sets,
                                 const runner::Communicator& node) {
  nlohmann::json plan = {{"mode", to_string(StagingMode::kStream)}};
  for (const Wanted& set : sets) {
    plan[set.name] = {{"samples", samples_of_node(set.ranges, node)}, {"bytes", nullptr}};
  }
  return plan;
}

}  // namespace

Staging::Staging(std::vector<Wanted> sets, StagingConfig config, const Place& place,
                 const Outlook& outlook)
    : sets_(std::move(sets)),
      config_(std::move(config)),
      place_(place),
      outlook_(outlook),
      mode_(config_.mode) {
  if (config_.mode != StagingMode::kFull) return;
  for (Wanted& set : sets_) set.ranges = {{0, set.source->size()}};
}

Staging::~Staging() {
  if (place_.topology.node.size() == 1) end_uses(staged_);
}

nlohmann::json Staging::plan() const {
  if (config_.mode == StagingMode::kStream) return plan_of_streaming(sets_, place_.topology.node);
  const Decision decision = decide(sets_, config_, outlook_, place_);
  nlohmann::json plan;
  if (decision.choice.mode == StagingMode::kStream) {
    plan = plan_of_streaming(sets_, place_.topology.node);
  } else {
    plan["mode"] = to_string(decision.choice.mode);
    plan["fits"] = fit_together(decision.plans);
    for (std::size_t i = 0; i < sets_.size(); ++i) {
      plan[sets_[i].name] = to_json(decision.plans[i]);
    }
  }
  plan["choice"] = to_json(decision, config_);
  plan["nodes"] = node_table(decision);
  return plan;
}

void Staging::copy_sets(std::vector<StagingPlan> plans) {
  const auto& [world, topology, clock] = place_;
  StagingConfig config = config_;
  config.mode = mode_;  // the one that was chosen
  std::int64_t begin_ns = clock.steady_ns();
  if (topology.is_node_leader()) make_staging_directory(config_.directory);
  std::vector<std::int64_t> planning_ns;
  for (std::size_t i = 0; i < sets_.size(); ++i) {
    const Wanted& set = sets_[i];
    if (plans.size() == i) {
      plans.push_back(plan_staging(*set.source, set.ranges, world, topology, config_.directory));
    }
    const std::int64_t now_ns = clock.steady_ns();
    planning_ns.push_back(now_ns - std::exchange(begin_ns, now_ns));
  }
  const std::vector<Existing> existing = use_what_is_there(plans, config_, topology);
  agree_on_space(plans, config_.directory, world, topology);
  planning_ns.front() += clock.steady_ns() - begin_ns;
  for (std::size_t i = 0; i < sets_.size(); ++i) {
    Staged& near = staged_.emplace_back();
    begin_ns = clock.steady_ns();
    bring(sets_[i].source, plans[i], existing[i], config, place_, near);
    // Before the other nodes are waited for.
    const double copying_s = seconds_of(clock.steady_ns() - begin_ns);
    require_whole(near, world);
    near.facts =
        facts_of(mode_, plans[i], effort_of(near.mine, seconds_of(planning_ns[i]), copying_s),
                 world, topology);
  }
}

std::vector<StagingPlan> Staging::choose_mode() {
  if (config_.mode != StagingMode::kAuto) return {};
  Decision decision = decide(sets_, config_, outlook_, place_);
  mode_ = decision.choice.mode;
  choice_ = to_json(decision, config_);
  // Copies for later runs are staged apart, and looked at by people; logs need no row a node.
  if (config_.afterwards == Afterwards::kKeep) choice_["nodes"] = node_table(decision);
  return std::move(decision.plans);
}

void Staging::copy() {
  std::vector<StagingPlan> plans = choose_mode();
  if (mode_ == StagingMode::kStream) {
    // A later run of this configuration may never copy, and so never find what a dead one left.
    const bool leads = place_.topology.is_node_leader();
    if (leads && !choice_.is_null()) remove_leftovers(config_.directory);
    return;
  }
  try {
    copy_sets(std::move(plans));
  } catch (const runner::AgreedError&) {
    end_uses(staged_);
    throw;
  } catch (...) {
    // Other ranks of the node may still write there, and would report that their files are gone.
    if (place_.topology.node.size() == 1) end_uses(staged_);
    throw;
  }
  for (const Staged& set : staged_) copied_bytes_ += set.mine.copied_bytes;
}

const std::shared_ptr<const dataset::Dataset>& Staging::data(std::size_t set) const {
  return staged_.empty() ? sets_.at(set).source : staged_.at(set).data;
}

nlohmann::json Staging::facts() const {
  nlohmann::json facts = nlohmann::json::object();
  for (std::size_t i = 0; i < sets_.size(); ++i) {
    facts[sets_[i].name] = to_json(staged_.empty() ? StagingFacts() : staged_[i].facts);
  }
  if (!choice_.is_null()) facts["choice"] = choice_;
  return facts;
}

std::optional<LevelCounts> Staging::take_levels() {
  if (staged_.empty()) return std::nullopt;
  LevelCounts levels;
  for (const Staged& set : staged_) levels += set.stored->take_levels();
  return levels;
}

std::vector<std::string> Staging::take_remarks() {
  std::vector<std::string> remarks;
  if (staged_.empty() || std::exchange(has_told_slow_nodes_, true)) return remarks;
  if (place_.world.rank() != 0) return remarks;
  for (std::size_t i = 0; i < staged_.size(); ++i) {
    for (const std::string& remark : remarks_on_slow_nodes(staged_[i].facts.spread)) {
      remarks.push_back(fmt::format("staging of {}: {}", sets_[i].name, remark));
    }
  }
  return remarks;
}

std::int64_t Staging::take_copied_bytes() { return std::exchange(copied_bytes_, 0); }

void Staging::leave() {
  const runner::Communicator& node = place_.topology.node;
  for (Staged& set : staged_) {
    set.data.reset();
    set.stored.reset();
    node.barrier();  // nobody reads any more
    if (set.use) leave_folder(std::move(*set.use));
    node.barrier();
  }
  staged_.clear();
}

}  // namespace staging
