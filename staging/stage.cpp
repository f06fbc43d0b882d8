// Copies samples to node-local storage: from the plan to a complete set.
#include "staging/stage.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "runner/agreed_error.h"
#include "runner/base/error.h"
#include "runner/base/system_facts.h"
#include "runner/base/units.h"
#include "runner/stop_signals.h"
#include "staging/background_copy.h"
#include "staging/decide.h"
#include "staging/naming_host.h"
#include "staging/own_folder.h"
#include "staging/ring_copy.h"
#include "staging/staged_folder.h"

namespace staging {

namespace {

double seconds_of(std::int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / base::kNsPerSecond;
}

/// Collective over all ranks. Throws AgreedError(kStopped) if a node was told to end before the set
/// was complete.
void require_whole(bool is_whole, const runner::Communicator& world) {
  if (world.allreduce_max(std::int64_t{is_whole ? 0 : 1}) == 0) return;
  throw runner::AgreedError(base::ExitCode::kStopped, "staging: stopped by a signal");
}

/// Collective over the node. Moves what is missing. Returns whether all of it is there now.
bool bring(const Transfer& transfer, const StagingPlan& plan, const runner::Communicator& node,
           StagedSet& staged) {
  const bool is_whole = move_all(transfer, {node.activity(), runner::is_told_to_end}, staged.mine);
  if (node.allreduce_max(std::int64_t{is_whole ? 0 : 1}) != 0) return false;
  if (staged.use && (!plan.is_staged() || !transfer.store.is_finished())) transfer.store.finish();
  for (const std::int64_t number : plan.packs) staged.data->arrived(number);
  node.barrier();
  return true;
}

/// Throws DataError for packs that are too large.
void check_packs(const std::vector<Wanted>& sets, const std::vector<StagingPlan>& plans) {
  for (std::size_t i = 0; i < sets.size(); ++i) {
    for (const std::int64_t number : plans[i].missing) {
      check_pack_size(*plans[i].list, number, sets[i].source->source());
    }
  }
}

std::int64_t samples_of_node(const Ranges& ranges, const runner::Communicator& node) {
  std::int64_t samples = 0;
  for (const auto& [first, last] : needed_on_node(ranges, node)) samples += last - first;
  return samples;
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

nlohmann::json Staging::pipeline_of(const std::vector<StagingPlan>& plans, StagingMode mode) const {
  StagingConfig config = config_;
  config.mode = mode;
  try {
    const NodeLimits limits = load_of(plans, config, place_.world, place_.topology).limits;
    return {{"ranks", limits.carriers},
            {"readers", limits.each.readers},
            {"writers", limits.each.writers},
            {"memory_bytes", limits.memory_bytes}};
  } catch (const runner::AgreedError& e) {
    return {{"refused", e.what()}};  // as copy() will refuse it
  }
}

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
  beside_.reset();
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
    plan["pipeline"] = pipeline_of(decision.plans, decision.choice.mode);
    for (std::size_t i = 0; i < sets_.size(); ++i) {
      plan[sets_[i].name] = to_json(decision.plans[i]);
    }
  }
  plan["choice"] = to_json(decision, config_);
  plan["nodes"] = node_table(decision);
  return plan;
}

std::vector<std::int64_t> Staging::complete_plans() {
  const auto& [world, topology, clock] = place_;
  std::int64_t begin_ns = clock.steady_ns();
  if (topology.is_node_leader()) make_staging_directory(config_.directory);
  std::vector<std::int64_t> planning_ns;
  for (std::size_t i = 0; i < sets_.size(); ++i) {
    const Wanted& set = sets_[i];
    if (plans_.size() == i) {
      plans_.push_back(plan_staging(*set.source, set.ranges, world, topology, config_.directory,
                                    config_.compressed));
    }
    const std::int64_t now_ns = clock.steady_ns();
    planning_ns.push_back(now_ns - std::exchange(begin_ns, now_ns));
  }
  return planning_ns;
}

void Staging::copy_sets() {
  const auto& [world, topology, clock] = place_;
  StagingConfig config = config_;
  config.mode = mode_;  // the one that was chosen
  planning_ns_ = complete_plans();
  std::int64_t begin_ns = clock.steady_ns();
  const std::vector<Existing> existing = use_what_is_there(plans_, config, topology);
  agree_on_space(plans_, config_.directory, world, topology);
  planning_ns_.front() += clock.steady_ns() - begin_ns;
  check_packs(sets_, plans_);
  const NodeLoad load = load_of(plans_, config, world, topology);
  const bool beside = goes_beside_training();
  std::vector<Transfer> transfers;
  for (std::size_t i = 0; i < sets_.size(); ++i) {
    StagedSet& set = staged_.emplace_back();
    begin_ns = clock.steady_ns();
    const PackStore store =
        begin_or_go_on(sets_[i].source, plans_[i], existing[i], config, topology, set);
    transfers.push_back(
        transfer_of(sets_[i].source, plans_[i], store, config, load, world, topology));
    set.memory_bytes = plans_[i].is_staged() ? 0 : load.limits.memory_bytes;
    if (beside) continue;
    const bool is_whole = bring(transfers.back(), plans_[i], topology.node, set);
    // Before the other nodes are waited for.
    const std::int64_t copying_ns = clock.steady_ns() - begin_ns;
    require_whole(is_whole, world);
    set_facts(i, copying_ns);
  }
  if (beside) begin_beside(std::move(transfers));
}

bool Staging::goes_beside_training() const {
  if (!config_.overlap) return false;
  const bool misses = std::any_of(plans_.begin(), plans_.end(),
                                  [](const StagingPlan& plan) { return !plan.is_staged(); });
  return place_.world.allreduce_max(std::int64_t{misses ? 1 : 0}) != 0;
}

void Staging::begin_beside(std::vector<Transfer> transfers) {
  for (std::size_t i = 0; i < sets_.size(); ++i) {
    for (const std::int64_t number : plans_[i].packs) staged_[i].data->expect(number);
  }
  if (mode_ == StagingMode::kScatter) {
    beside_ =
        std::make_unique<RingCopy>(std::move(transfers), place_.clock, place_.world.activity());
  } else {
    beside_ = std::make_unique<BackgroundCopy>(std::move(transfers), place_.clock);
  }
}

void Staging::advance() {
  if (beside_) beside_->advance();
}

void Staging::set_facts(std::size_t set, std::int64_t copying_ns) {
  StagedSet& staged = staged_[set];
  const Moved& moved = staged.mine;
  const RankEffort effort = {moved.source_reads,
                             moved.source_bytes,
                             moved.network_bytes,
                             moved.written_bytes,
                             moved.direct_bytes,
                             staged.memory_bytes,
                             seconds_of(planning_ns_[set]),
                             seconds_of(copying_ns)};
  staged.facts = facts_of(mode_, plans_[set], effort, place_.world, place_.topology);
  copied_bytes_ += moved.copied_bytes;
}

bool Staging::finish(Finish when) {
  if (!beside_) return true;
  const runner::Communicator& world = place_.world;
  if (when == Finish::kIfDone && world.allreduce_min(std::int64_t{beside_->is_done()}) == 0) {
    return false;
  }
  beside_->end();
  place_.topology.node.barrier();  // no rank of the node writes any more
  for (std::size_t i = 0; i < staged_.size(); ++i) {
    const CopyBeside::Result& result = beside_->results()[i];
    staged_[i].mine = result.moved;
    if (!result.failure.empty()) {
      staged_[i].data->note(
          fmt::format("{}: staging is incomplete, and samples that were not copied are read from "
                      "their source: {}",
                      base::host_name(), result.failure));
    }
    const std::int64_t left =
        conclude(plans_[i], beside_->transfers()[i].store, place_.topology, *staged_[i].data);
    set_facts(i, result.took_ns);
    staged_[i].facts.set_overlap(left, world, place_.topology);
  }
  beside_.reset();
  return true;
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
  plans_ = naming_host([this] { return choose_mode(); });
  if (mode_ == StagingMode::kStream) {
    // A later run of this configuration may never copy, and so never find what a dead one left.
    const bool leads = place_.topology.is_node_leader();
    if (leads && !choice_.is_null()) remove_leftovers(config_.directory);
    return;
  }
  try {
    naming_host([this] { copy_sets(); });
  } catch (const runner::AgreedError&) {
    end_uses(staged_);
    throw;
  } catch (...) {
    // Other ranks of the node may still write there, and would report that their files are gone.
    if (place_.topology.node.size() == 1) end_uses(staged_);
    throw;
  }
}

std::shared_ptr<const dataset::Dataset> Staging::data(std::size_t set) const {
  if (staged_.empty()) return sets_.at(set).source;
  return staged_.at(set).data;
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
  for (const StagedSet& set : staged_) levels += set.data->take_levels();
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
  beside_.reset();
  for (StagedSet& set : staged_) {
    set.data.reset();
    node.barrier();  // nobody reads any more
    if (set.use) leave_folder(std::move(*set.use));
    node.barrier();
  }
  staged_.clear();
}

}  // namespace staging
