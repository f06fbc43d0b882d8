// Derives needs from a configuration and its memory plan.
#include "runner/doctor/needs.h"

#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <numeric>

#include "runner/base/archive_path.h"

namespace doctor {
namespace {

using Json = nlohmann::json;
using Parts = runner::MemoryNeeds::Parts;

/// Open MPI's shared-memory transport has one segment per rank (btl_vader_segment_size).
constexpr std::int64_t kSegmentBytes = std::int64_t{4} << 20;

std::int64_t sum(const Parts& parts) {
  return std::accumulate(parts.begin(), parts.end(), std::int64_t{0},
                         [](std::int64_t all, const auto& part) { return all + part.second; });
}

std::int64_t part(const Parts& parts, const char* name) {
  const auto found = parts.find(name);
  return found == parts.end() ? 0 : found->second;
}

std::string temporary_folder() {
  const char* chosen = std::getenv("TMPDIR");
  return chosen != nullptr && *chosen != '\0' ? chosen : "/tmp";
}

/// The text at `pointer` of the resolved configuration; "" if absent.
std::string text_at(const Json& config, const char* pointer) {
  const Json::json_pointer at(pointer);
  return config.contains(at) && config.at(at).is_string() ? config.at(at).get<std::string>() : "";
}

std::vector<std::string> dataset_paths(const Json& config) {
  constexpr std::array kPaths = {"/dataset/train", "/dataset/validation", "/dataset/test",
                                 "/dataset/validation_labels", "/dataset/statistics"};
  std::vector<std::string> paths;
  for (const char* pointer : kPaths) {
    const std::string path = base::file_at(text_at(config, pointer));
    if (!path.empty()) paths.push_back(path);
  }
  return paths;
}

}  // namespace

Needs mpi_requirements(const runner::PlannedRank& place) {
  Needs needs;
  needs.ranks = place.ranks;
  needs.node_ranks = place.node_ranks;
  needs.threads = place.threads;
  if (place.node_ranks > 1) needs.shared_bytes = place.node_ranks * kSegmentBytes;
  needs.folders.scratch = temporary_folder();
  return needs;
}

Needs needs_of_keys(const runner::ConfigSource& source, const runner::PlannedRank& place) {
  Needs needs = mpi_requirements(place);
  const runner::RunConfig& config = *source.config;
  const Json resolved = config.reader.resolved();
  needs.wants_bf16 = text_at(resolved, "/training/precision") == "bf16";
  needs.clear_caches = config.clear_caches;
  needs.folders.dataset = dataset_paths(resolved);
  needs.folders.shared = {runner::results_folder(config)};
  const std::string checkpoints = runner::checkpoints_folder(config);
  if (checkpoints != needs.folders.shared.front()) needs.folders.shared.push_back(checkpoints);
  const std::string mode = text_at(resolved, "/staging/mode");
  needs.stages = !mode.empty() && mode != "stream";
  const std::string staging = text_at(resolved, "/staging/directory");
  if (needs.stages && !staging.empty()) needs.folders.scratch = staging;
  return needs;
}

Needs needs_of(const runner::ConfigSource& source, const runner::PlannedRank& place) {
  Needs needs = needs_of_keys(source, place);
  const runner::MemoryNeeds memory = source.entry->memory_needs(*source.config, place);
  const std::int64_t rank = sum(memory.rank), node = sum(memory.node);
  needs.has_configuration = true;
  needs.rank_bytes = rank + node;
  needs.node_bytes = place.node_ranks * rank + node;
  needs.gradient_bytes = part(memory.rank, "gradients");
  if (place.node_ranks > 1) needs.shared_bytes += node + place.node_ranks * needs.gradient_bytes;
  // A checkpoint contains weights and optimizer state.
  needs.file_bytes = node;
  return needs;
}

}  // namespace doctor
