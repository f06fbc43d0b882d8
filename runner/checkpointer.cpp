// Saves checkpoints: policy, numbering and clean-up.
#include "runner/checkpointer.h"

#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <limits>
#include <utility>

#include "runner/base/error.h"
#include "runner/base/replaced_file.h"
#include "runner/base/units.h"
#include "runner/checkpoint_folder.h"
#include "runner/documents.h"
#include "runner/together.h"

namespace runner {
namespace {

constexpr double kNsPerMinute = 60e9;

}  // namespace

Checkpointer::Checkpointer(const CheckpointConfig& config, std::string folder,
                           nlohmann::json run_config, nlohmann::json environment,
                           const CheckpointDoors& doors)
    : config_(config),
      folder_(std::move(folder)),
      run_config_(std::move(run_config)),
      environment_(std::move(environment)),
      doors_(doors),
      last_ns_(doors.clock.steady_ns()) {}

void Checkpointer::take_folder(std::unique_ptr<FolderLock> lock) {
  lock_ = std::move(lock);
  on_rank_0(doors_.world, [this] { lock_folder(); });
}

void Checkpointer::note_whole(const std::string& path) {
  whole_.insert(std::filesystem::path(path).filename().string());
}

void Checkpointer::note_finished() const {
  if (lock_ == nullptr) return;  // another rank, or nothing was saved
  if (base::open_part(folder_ + "/" + kFinishedFile)) return;
  doors_.console.warn(
      base::system_error(folder_ + ": cannot note that its run is finished", errno).what());
}

void Checkpointer::lock_folder() {
  std::error_code absent;
  std::filesystem::remove(folder_ + "/" + kFinishedFile, absent);
  if (lock_ != nullptr) {
    lock_->set_live_file(doors_.owner.live_file);
  } else {
    FolderOwner other;
    lock_ = FolderLock::take(folder_, doors_.owner, other);
    if (lock_ == nullptr) {
      throw base::SystemError(fmt::format("{}: {} saves its run there", folder_, to_string(other)));
    }
  }
  (void)next_checkpoint_number(folder_);  // throws now, not after hours of training
}

void Checkpointer::prune() const {
  const std::string problem =
      prune_checkpoints(folder_, config_.keep_last,
                        [this](const std::string& name) { return whole_.contains(name); });
  if (!problem.empty()) doors_.console.warn(problem);
}

bool Checkpointer::wanted_here() {
  if (doors_.requested && doors_.requested()) return true;
  // One clock decides: other ranks' clocks would ask again moments later.
  if (config_.every_minutes <= 0.0 || doors_.world.rank() != 0) return false;
  return static_cast<double>(doors_.clock.steady_ns() - last_ns_) >=
         config_.every_minutes * kNsPerMinute;
}

std::int64_t Checkpointer::steps_until_due(std::int64_t steps_done) const {
  if (config_.every_steps == 0) return std::numeric_limits<std::int64_t>::max();
  return config_.every_steps - steps_done % config_.every_steps;
}

bool Checkpointer::is_due(std::int64_t steps_done) const {
  return config_.every_steps > 0 && steps_done > 0 && steps_done % config_.every_steps == 0;
}

std::string Checkpointer::next_path(std::int64_t steps_done) {
  if (lock_ == nullptr) lock_folder();
  lock_->require_ours();
  // Files that a killed run left unfinished would take the space that this checkpoint needs.
  prune();
  return checkpoint_path(folder_, next_checkpoint_number(folder_), steps_done);
}

void Checkpointer::save(const RunPosition& position, Workload& workload) {
  const std::int64_t began_ns = doors_.clock.steady_ns();
  std::string path;
  on_rank_0(doors_.world, [&] { path = next_path(position.steps_done); });
  path = doors_.world.broadcast(path, 0);
  const CheckpointRecord record{position, run_config_, data_facts(workload.info()), environment_};
  const std::vector<base::StateArray> arrays = workload.state();
  doors_.format.write(doors_.world, path, to_text(record), arrays);
  last_ns_ = doors_.clock.steady_ns();
  // A signal sent to all ranks may reach some after the vote; this checkpoint answers it.
  if (doors_.requested) (void)doors_.requested();
  if (doors_.world.rank() != 0) return;
  note_whole(path);
  prune();
  std::int64_t bytes = 0;
  for (const base::StateArray& array : arrays) bytes += array.total_bytes();
  doors_.console.info(fmt::format("checkpoint after step {}: {}, {} in {:.2f} s",
                                  position.steps_done, path, bytes_text(double(bytes)),
                                  static_cast<double>(last_ns_ - began_ns) / base::kNsPerSecond));
}

nlohmann::json data_facts(const WorkloadInfo& info) {
  nlohmann::json facts = {{"train_samples", info.train_samples},
                          {"eval_samples", info.eval_samples},
                          {"global_batch_size", info.global_batch_size},
                          {"steps_per_epoch", info.steps_per_epoch},
                          {"parameters", info.parameters}};
  if (info.norm_group_samples > 0) facts["norm_group_samples"] = info.norm_group_samples;
  return facts;
}

}  // namespace runner
