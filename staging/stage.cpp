// Copies samples to node-local storage: from the plan to a published set.
#include "staging/stage.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "runner/agreed_error.h"
#include "runner/base/error.h"
#include "runner/base/system_facts.h"
#include "staging/folder_use.h"
#include "staging/manifest.h"
#include "staging/own_folder.h"
#include "staging/packed.h"
#include "staging/space.h"
#include "staging/staged_folder.h"
#include "staging/staging_facts.h"

namespace staging {

/// A set as it is on this rank's node.
struct Staged {
  std::shared_ptr<const dataset::Dataset> data;
  StagingFacts facts;
  std::shared_ptr<FolderUse> use;  ///< on the node's leader: keeps others from removing the copy
  PackResult mine;                 ///< what this rank copied
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

Manifest manifest_of(const StagingPlan& plan, const std::string& source,
                     const std::vector<std::string>& parts) {
  Manifest manifest{plan.identity, source, plan.samples, plan.bytes, {}, who_stages(), false};
  std::int64_t samples = 0, bytes = 0;
  for (const std::string& text : parts) {
    manifest.parts.push_back(part_from_text(text));
    samples += manifest.parts.back().samples;
    bytes += manifest.parts.back().bytes;
  }
  if (samples != plan.samples || bytes != plan.bytes) {
    throw base::DataError(
        fmt::format("{}: changed while it was staged: expected {} samples with {} bytes, copied {} "
                    "with {}",
                    source, plan.samples, plan.bytes, samples, bytes));
  }
  return manifest;
}

/// Copies this rank's share; nullopt when the process was told to end before it was done.
std::optional<PackResult> copy_part(const dataset::Dataset& source, const StagingPlan& plan,
                                    const std::string& folder, const runner::Communicator& node) {
  const auto rank = static_cast<std::size_t>(node.rank());
  try {
    return write_part(source, plan.indices(plan.shares[rank], plan.shares[rank + 1]), folder,
                      node.rank(), node.activity());
  } catch (const base::Error& e) {
    if (e.code() != base::ExitCode::kStopped) throw;
    return std::nullopt;
  }
}

/// Collective over the node. Returns the part that this rank copied, or nullopt on every rank when
/// one of them was told to end. Sets `use` on the leader, from the beginning of the copy on.
std::optional<PackResult> copy_to_node(const dataset::Dataset& source, const StagingPlan& plan,
                                       const runner::Topology& topology,
                                       std::shared_ptr<FolderUse>& use) {
  const runner::Communicator& node = topology.node;
  if (topology.is_node_leader()) use = std::make_shared<FolderUse>(begin_folder(plan.directory));
  const std::string folder = node.broadcast(use ? use->folder() : "", 0);
  const auto mine = copy_part(source, plan, folder, node);
  if (node.allreduce_max(std::int64_t{mine ? 0 : 1}) != 0) return std::nullopt;
  const auto parts = node.gather(to_text(mine->part), 0);
  if (use) {
    write_manifest(folder, manifest_of(plan, source.source(), parts));
    *use = publish_folder(std::move(*use), plan.directory, plan.identity);
  }
  node.barrier();
  return mine;
}

/// A set that exists, as the leader of its node sees it.
struct Existing {
  std::shared_ptr<FolderUse> use;  ///< null: there is none to use
  std::string damage;              ///< why the one that is there cannot be used; else ""
};

Existing look_at(const StagingPlan& plan, Reuse reuse, base::Activity& activity) {
  auto use = use_staged_set(plan.directory, plan.identity);
  if (!use) return {};
  if (reuse == Reuse::kVerified) {
    try {
      std::string damage = find_damage(plan.directory, activity);
      if (!damage.empty()) return {nullptr, std::move(damage)};
    } catch (const base::Error& e) {
      if (e.code() != base::ExitCode::kStopped) throw;
      return {};  // copying, which is done now, will stop at once
    }
  }
  return {std::make_shared<FolderUse>(std::move(*use)), ""};
}

/// Collective over the node. Returns, on the leader, what already exists. Checks again which sets
/// do, since their last user may have removed one since it was planned. Removes what dead jobs
/// left, to free its space.
std::vector<Existing> use_what_is_there(std::vector<StagingPlan>& plans,
                                        const StagingConfig& config,
                                        const runner::Topology& topology) {
  std::vector<Existing> existing(plans.size());
  std::vector<std::int64_t> is_staged(plans.size(), 0);
  if (topology.is_node_leader()) {
    for (std::size_t i = 0; i < plans.size(); ++i) {
      existing[i] = look_at(plans[i], config.reuse, topology.node.activity());
      is_staged[i] = existing[i].use ? 1 : 0;
    }
    remove_leftovers(config.directory);
    const Space space = space_near(config.directory);
    for (StagingPlan& plan : plans) plan.free_bytes = space.free_bytes;
  }
  topology.node.broadcast(std::as_writable_bytes(std::span(is_staged)), 0);
  for (std::size_t i = 0; i < plans.size(); ++i) plans[i].is_staged = is_staged[i] != 0;
  return existing;
}

/// Collective over the node. Leaves `staged` without data when a rank was told to end.
void bring(const std::shared_ptr<const dataset::Dataset>& source, const StagingPlan& plan,
           const Existing& existing, const runner::Topology& topology, Afterwards afterwards,
           Staged& staged) {
  staged.use = existing.use;
  if (!plan.is_staged) {
    const auto mine = copy_to_node(*source, plan, topology, staged.use);
    if (!mine) return;
    staged.mine = *mine;
  }
  if (staged.use && afterwards == Afterwards::kKeep) keep_set(plan.directory);
  staged.data = open_packed(source, plan.directory, existing.damage);
  topology.node.barrier();
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

}  // namespace

Staging::Staging(std::vector<Wanted> sets, StagingConfig config, const Place& place)
    : sets_(std::move(sets)), config_(std::move(config)), place_(place) {
  if (config_.mode != StagingMode::kFull) return;
  for (Wanted& set : sets_) set.ranges = {{0, set.source->size()}};
}

Staging::~Staging() {
  if (place_.topology.node.size() == 1) end_uses(staged_);
}

nlohmann::json Staging::plan() const {
  const auto& [world, topology, clock] = place_;
  nlohmann::json plan = {{"mode", to_string(config_.mode)}};
  if (config_.mode == StagingMode::kStream) {
    for (const Wanted& set : sets_) {
      plan[set.name] = {{"samples", samples_of_node(set.ranges, topology.node)},
                        {"bytes", nullptr}};
    }
    return plan;
  }
  std::vector<StagingPlan> plans;
  for (const Wanted& set : sets_) {
    plans.push_back(plan_staging(*set.source, set.ranges, world, topology, config_.directory));
    plan[set.name] = to_json(plans.back());
  }
  plan["fits"] = fit_together(plans);
  return plan;
}

void Staging::copy_sets() {
  const auto& [world, topology, clock] = place_;
  std::int64_t begin_ns = clock.steady_ns();
  if (topology.is_node_leader()) make_staging_directory(config_.directory);
  std::vector<StagingPlan> plans;
  std::vector<std::int64_t> planning_ns;
  for (const Wanted& set : sets_) {
    plans.push_back(plan_staging(*set.source, set.ranges, world, topology, config_.directory));
    const std::int64_t now_ns = clock.steady_ns();
    planning_ns.push_back(now_ns - std::exchange(begin_ns, now_ns));
  }
  const std::vector<Existing> existing = use_what_is_there(plans, config_, topology);
  agree_on_space(plans, config_.directory, world, topology);
  for (std::size_t i = 0; i < sets_.size(); ++i) {
    Staged& near = staged_.emplace_back();
    bring(sets_[i].source, plans[i], existing[i], topology, config_.afterwards, near);
    require_whole(near, world);
    const std::int64_t now_ns = clock.steady_ns();
    const std::int64_t took_ns = planning_ns[i] + now_ns - std::exchange(begin_ns, now_ns);
    near.facts =
        facts_of(config_.mode, plans[i],
                 {near.mine.source_reads, static_cast<double>(took_ns) * 1e-9}, world, topology);
  }
}

void Staging::copy() {
  if (config_.mode == StagingMode::kStream) return;
  try {
    copy_sets();
  } catch (const runner::AgreedError&) {
    end_uses(staged_);
    throw;
  } catch (...) {
    // Other ranks of the node may still write there, and would report that their files are gone.
    if (place_.topology.node.size() == 1) end_uses(staged_);
    throw;
  }
  for (const Staged& set : staged_) copied_bytes_ += set.mine.part.bytes;
}

const std::shared_ptr<const dataset::Dataset>& Staging::data(std::size_t set) const {
  return staged_.empty() ? sets_.at(set).source : staged_.at(set).data;
}

nlohmann::json Staging::facts() const {
  nlohmann::json facts = nlohmann::json::object();
  for (std::size_t i = 0; i < sets_.size(); ++i) {
    facts[sets_[i].name] = to_json(staged_.empty() ? StagingFacts() : staged_[i].facts);
  }
  return facts;
}

std::int64_t Staging::take_copied_bytes() { return std::exchange(copied_bytes_, 0); }

void Staging::leave() {
  const runner::Communicator& node = place_.topology.node;
  for (Staged& set : staged_) {
    set.data.reset();
    node.barrier();  // nobody reads any more
    if (set.use) leave_folder(std::move(*set.use));
    node.barrier();
  }
  staged_.clear();
}

}  // namespace staging
