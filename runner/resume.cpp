// Chooses a checkpoint and checks that configuration and data agree with it.
#include "runner/resume.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <utility>

#include "runner/agreed_error.h"
#include "runner/base/strict_json.h"
#include "runner/checkpoint_folder.h"
#include "runner/together.h"

namespace runner {
namespace {

/// Keys on which no bit of the state depends: where files go, who submits, when a run ends or is
/// saved. (`evaluation` is not among them: an evaluation sums running statistics over ranks.)
constexpr const char* kWithoutEffect[] = {
    "/results", "/checkpoint",     "/staging",        "/submission", "/clear_caches",
    "/target",  "/hang_timeout_s", "/lost_timeout_s", "/threads",    "/cpus"};

std::vector<std::string> ineffective_keys(const std::vector<std::string>& of_workload) {
  std::vector<std::string> keys(std::begin(kWithoutEffect), std::end(kWithoutEffect));
  keys.insert(keys.end(), of_workload.begin(), of_workload.end());
  return keys;
}

std::string difference_text(const std::string& path, const std::string& what,
                            const ConfigDifference& difference) {
  return fmt::format("{}: saved with {}: {}: expected {}, found {}", path, what, difference.key,
                     difference.then, difference.found);
}

/// The search among folders; runs on rank 0.
class Search {
 public:
  Search(const ResumeWish& wish, const CheckpointFormat& format)
      : wish_(wish), format_(format), except_(ineffective_keys(wish.keys_without_effect)) {
    if (wish.config.value("seed", 0ULL) == 0) except_.emplace_back("/seed");
  }

  ResumeChoice go() {
    if (std::filesystem::is_regular_file(wish_.path)) return {{wish_.path}, nullptr};
    ResumeChoice choice;
    const bool is_of_a_run = !list_checkpoints(wish_.path).empty();
    const auto folders = is_of_a_run ? std::vector{wish_.path} : saved_runs(wish_.path);
    for (const std::string& folder : folders) {
      if (!suits(folder)) continue;
      const bool may_begin = wish_.nothing_saved == NothingSaved::kBegin;
      if (may_begin && std::filesystem::exists(folder + "/" + kFinishedFile)) {
        pass_over(folder + ": its run is finished");
        continue;
      }
      const auto other = owner_or_take(folder, choice.lock);
      if (!other) {
        choice.candidates = resume_candidates(folder);
        return choice;
      }
      pass_over(fmt::format("{}: {} saves its run there", folder, to_string(*other)));
    }
    if (wish_.nothing_saved == NothingSaved::kBegin) return choice;
    if (folders.empty()) resume_candidates(wish_.path);  // throws
    throw base::DataError(fmt::format(
        "--resume: {}: expected a checkpoint of this configuration that no other run owns, found "
        "none: {}",
        wish_.path, fmt::join(passed_over_, "; ")));
  }

  const std::vector<std::string>& passed_over() const { return passed_over_; }

 private:
  /// The live run that owns `folder`; if there is none, takes it unless this only looks.
  std::optional<FolderOwner> owner_or_take(const std::string& folder,
                                           std::unique_ptr<FolderLock>& lock) const {
    if (wish_.only_looks) return FolderLock::live_owner(folder);
    FolderOwner other;
    lock = FolderLock::take(folder, wish_.owner, other);
    return lock != nullptr ? std::nullopt : std::optional(other);
  }
  /// Whether the run saved in `folder` has this configuration, judged by its last readable
  /// checkpoint.
  bool suits(const std::string& folder) {
    std::string problem = folder + ": no checkpoint";
    for (const std::string& path : resume_candidates(folder)) {
      try {
        const CheckpointRecord record = parse_record(format_.read_about(path), path);
        const auto difference = config_difference(record.config, wish_.config, except_);
        if (!difference) return true;
        problem = difference_text(path, "another configuration", *difference);
        break;
      } catch (const base::Error& e) {
        problem = e.what();
      }
    }
    pass_over(problem);
    return false;
  }
  void pass_over(std::string why) { passed_over_.push_back(std::move(why)); }

  const ResumeWish& wish_;
  const CheckpointFormat& format_;
  std::vector<std::string> except_, passed_over_;
};

/// Broadcasts rank 0's `texts`.
std::vector<std::string> broadcast(std::vector<std::string> texts, const Communicator& world) {
  auto count = static_cast<std::int64_t>(texts.size());
  world.broadcast(std::as_writable_bytes(std::span(&count, 1)), 0);
  texts.resize(static_cast<std::size_t>(count));
  for (std::string& one : texts) one = world.broadcast(one, 0);
  return texts;
}

ResumePoint open(const std::string& path, const CheckpointFormat& format,
                 const Communicator& world) {
  CheckpointContent content = format.open(world, path);
  ResumePoint point{path, {}, std::move(content.arrays)};
  together(world, [&] { point.record = parse_record(content.about, path); });
  return point;
}

/// Keys that another version of the program added or removed count as differences too.
void require_equal(const ResumePoint& point, const std::string& what,
                   const std::optional<ConfigDifference>& difference) {
  if (!difference) return;
  throw AgreedError(base::ExitCode::kData, difference_text(point.path, what, *difference));
}

}  // namespace

ResumeChoice find_checkpoints(const ResumeWish& wish, const CheckpointFormat& format,
                              std::vector<std::string>& passed_over) {
  Search search(wish, format);
  ResumeChoice choice = search.go();
  passed_over = search.passed_over();
  return choice;
}

ResumeChoice choose_checkpoints(const ResumeWish& wish, const CheckpointFormat& format,
                                const Communicator& world, Console& console) {
  ResumeChoice choice;
  on_rank_0(world, [&] {
    std::vector<std::string> passed_over;
    choice = find_checkpoints(wish, format, passed_over);
    for (const std::string& why : passed_over) console.warn(fmt::format("passed over: {}", why));
  });
  choice.candidates = broadcast(std::move(choice.candidates), world);
  return choice;
}

ResumePoint open_resume_point(const std::vector<std::string>& candidates,
                              const CheckpointFormat& format, const Communicator& world,
                              Console& console) {
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
  require_equal(point, "another configuration",
                config_difference(point.record.config, config,
                                  ineffective_keys(workload_keys_without_effect)));
}

void require_same_data(const ResumePoint& point, const WorkloadInfo& info) {
  require_equal(point, "other data", config_difference(point.record.data, data_facts(info), {}));
  const RunPosition& at = point.record.position;
  const std::int64_t steps = (at.epoch_num - 1) * info.steps_per_epoch + at.steps_in_epoch;
  if (steps == at.steps_done && at.steps_in_epoch <= info.steps_per_epoch) return;
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
