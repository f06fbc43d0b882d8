// The choice of a checkpoint, and what must agree with it.
// Hides which keys of every workload's configuration have no effect on the mathematics.
#include "runner/resume.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <utility>

#include "runner/agreed_error.h"
#include "runner/base/strict_json.h"
#include "runner/checkpoint_folder.h"
#include "runner/together.h"

namespace runner {
namespace {

/// They say where files go, who submits, when a run ends or is saved: no bit of the state depends
/// on them. (On `evaluation` it does: an evaluation sums running statistics over ranks.)
constexpr const char* kWithoutEffect[] = {"/results",        "/checkpoint", "/submission",
                                          "/clear_caches",   "/target",     "/hang_timeout_s",
                                          "/lost_timeout_s", "/threads"};

/// What rank 0 found, on every rank.
std::vector<std::string> agreed_candidates(const std::string& path, const Communicator& world) {
  std::vector<std::string> found;
  on_rank_0(world, [&] { found = resume_candidates(path); });
  std::int64_t count = static_cast<std::int64_t>(found.size());
  world.broadcast(std::as_writable_bytes(std::span(&count, 1)), 0);
  found.resize(static_cast<std::size_t>(count));
  for (std::string& one : found) one = world.broadcast(one, 0);
  return found;
}

ResumePoint open(const std::string& path, const CheckpointFormat& format,
                 const Communicator& world) {
  CheckpointContent content = format.open(world, path);
  ResumePoint point{path, {}, std::move(content.arrays)};
  together(world, [&] { point.record = parse_record(content.about, path); });
  return point;
}

/// What a later version of the program may have added or left out counts as a difference too.
void require_equal(const ResumePoint& point, const std::string& what,
                   const std::optional<ConfigDifference>& difference) {
  if (!difference) return;
  throw AgreedError(base::ExitCode::kData,
                    fmt::format("{}: saved with {}: {}: expected {}, found {}", point.path, what,
                                difference->key, difference->then, difference->found));
}

}  // namespace

ResumePoint open_resume_point(const std::string& path, const CheckpointFormat& format,
                              const Communicator& world, Console& console) {
  const std::vector<std::string> candidates = agreed_candidates(path, world);
  for (std::size_t i = 0;; ++i) {
    try {
      return open(candidates[i], format, world);
    } catch (const AgreedError& e) {
      if (i + 1 == candidates.size()) throw;
      console.warn(fmt::format("{}; going on with the checkpoint before", e.what()));
    }
  }
}

void require_same_config(const ResumePoint& point, const nlohmann::json& config,
                         const std::vector<std::string>& workload_keys_without_effect) {
  std::vector<std::string> except(std::begin(kWithoutEffect), std::end(kWithoutEffect));
  except.insert(except.end(), workload_keys_without_effect.begin(),
                workload_keys_without_effect.end());
  require_equal(point, "another configuration",
                config_difference(point.record.config, config, except));
}

void require_same_data(const ResumePoint& point, const WorkloadInfo& info) {
  require_equal(point, "other data", config_difference(point.record.data, data_facts(info), {}));
  const RunPosition& at = point.record.position;
  const std::int64_t steps = (at.epoch_num - 1) * info.steps_per_epoch + at.steps_in_epoch;
  if (steps == at.steps_done && at.steps_in_epoch < info.steps_per_epoch) return;
  throw AgreedError(base::ExitCode::kData,
                    fmt::format("{}: expected step {} of epoch {} to be step {} of the run, found "
                                "{}",
                                point.path, at.steps_in_epoch, at.epoch_num, steps, at.steps_done));
}

std::vector<std::string> environment_differences(const nlohmann::json& then,
                                                 const nlohmann::json& now) {
  std::vector<std::string> differences;
  for (const auto& [key, value] : now.items()) {
    const auto old = then.find(key);
    if (old != then.end() && *old == value) continue;
    differences.push_back(fmt::format("{}: {} then, {} now", key,
                                      old == then.end() ? "unknown" : base::brief_json(*old),
                                      base::brief_json(value)));
  }
  return differences;
}

}  // namespace runner
