// The choice of a split.
#include "workloads/cosmoflow/split_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/units.h"
#include "workloads/cosmoflow/trainer.h"
#include "workloads/parallel/group_volumes.h"
#include "workloads/parallel/replica.h"

namespace cosmoflow {
namespace {

std::int64_t total_of(const runner::MemoryNeeds& needs) {
  std::int64_t total = 0;
  for (const auto* const parts : {&needs.rank, &needs.node}) {
    for (const auto& [part, bytes] : *parts) total += bytes;
  }
  return total;
}

std::string to_text(const Split& split) {
  return fmt::format("{} x {}", split.depth, split.height);
}

Config with_split(Config config, const Split& split) {
  config.split = split;
  return config;
}

/// Measures the rank with most samples, so that every rank gets the same result.
SplitChoice measured(const Config& config, const Split& split, const nn::Optimizer& optimizer,
                     runner::PlannedRank place) {
  const Config candidate = with_split(config, split);
  const auto slices = parallel::split_batch(data_parallel_config(candidate), place.ranks).slices;
  const auto most = std::max_element(
      slices.begin(), slices.end(),
      [](const nn::PassSlice& a, const nn::PassSlice& b) { return a.count < b.count; });
  place.rank = static_cast<int>(most - slices.begin());
  return {split, total_of(memory_of(candidate, optimizer, place)), margin_bytes(candidate, split),
          ""};
}

/// The split into `parts` parts with the least traffic; nullopt if the volume cannot be split so.
std::optional<Split> best_of(const Config& config, std::int64_t parts) {
  std::optional<Split> best;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t height = 1; height <= parts; ++height) {
    const Split split = {parts / height, height};
    if (parts % height != 0 || !can_split(config.model, split)) continue;
    const std::int64_t bytes = margin_bytes(config, split);
    if (bytes >= least) continue;
    least = bytes;
    best = split;
  }
  return best;
}

bool fits(const Config& config, std::int64_t bytes) {
  return config.memory_limit_gib == 0.0 ||
         static_cast<double>(bytes) <= config.memory_limit_gib * base::kGibibyte;
}

}  // namespace

runner::MemoryNeeds memory_of(const Config& config, const nn::Optimizer& optimizer,
                              const runner::PlannedRank& place) {
  const parallel::DataParallelConfig training = data_parallel_config(config);
  const nn::Network network = build_network(config.model, config.split);
  runner::MemoryNeeds needs = parallel::memory_needs(network, training, place, optimizer);
  // As counts of two bytes.
  const std::int64_t samples = parallel::samples_ahead(config.data, training, place);
  const nn::SampleShape& input = network.shape(0);
  needs.rank["input batches"] = samples * input.spatial_size() * input.channels *
                                static_cast<std::int64_t>(sizeof(std::int16_t));
  needs.rank["decoded samples"] = config.data.cache_bytes;
  if (config.cache.keeps()) {
    needs.rank["cached samples"] = config.cache.memory_bytes / place.node_ranks;
  }
  return needs;
}

std::int64_t margin_bytes(const Config& config, const Split& split) {
  if (split.parts() == 1) return 0;
  const nn::Network network = build_network(config.model, split);
  // A part in the middle has the most neighbours.
  const nn::VolumePart part = {split.depth, split.height, split.depth / 2, split.height / 2};
  std::int64_t bytes = 0;
  for (const nn::Operation& operation : network.operations()) {
    if (operation.kind != nn::OperationKind::kConvolutionPool || !operation.is_part) continue;
    const nn::SampleShape& source = network.shape(operation.src);
    nn::StoredVolume volume = {nullptr, source.spatial[0], source.spatial[1], source.spatial[2],
                               source.channels * nn::bytes_of(config.arithmetic.precision)};
    bytes += parallel::margin_bytes(part, volume);
    if (!network.has_gradient(operation.src)) continue;
    volume.point_bytes = source.channels * static_cast<std::int64_t>(sizeof(float));
    bytes += parallel::margin_bytes(part, volume);
  }
  return bytes;
}

SplitChoice choose_split(const Config& config, const nn::Optimizer& optimizer,
                         const runner::PlannedRank& place) {
  const std::int64_t pass = config.pass_samples();
  if (!config.chooses_split) {
    SplitChoice choice = measured(config, config.split, optimizer, place);
    choice.reason = "as configured";
    if (fits(config, choice.rank_bytes)) return choice;
    throw base::ConfigError(fmt::format(
        "/training/memory_limit_gib: a rank needs {:.2f} GiB with samples in {} parts, expected at "
        "most {}; more parts take less",
        static_cast<double>(choice.rank_bytes) / base::kGibibyte, to_text(config.split),
        config.memory_limit_gib));
  }
  std::string reason = "whole samples fit every rank";
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t parts = 1; parts <= place.ranks; ++parts) {
    if (place.ranks % parts != 0) continue;
    if (place.ranks / parts > pass) {
      reason = fmt::format("{} ranks share the {} samples of a pass", place.ranks, pass);
      continue;
    }
    if (parts > 1 && !config.data.apply_log) {
      reason += "; parts need /dataset/apply_log, as a part does not know the sample's mean";
      break;
    }
    const std::optional<Split> split = best_of(config, parts);
    if (!split) continue;
    SplitChoice choice = measured(config, *split, optimizer, place);
    if (fits(config, choice.rank_bytes)) {
      choice.reason = reason;
      return choice;
    }
    least = std::min(least, choice.rank_bytes);
    reason = fmt::format("samples in {} parts take {:.2f} GiB of a rank, more than {}",
                         to_text(*split), static_cast<double>(choice.rank_bytes) / base::kGibibyte,
                         config.memory_limit_gib);
  }
  throw base::ConfigError(fmt::format(
      "/training/sample_split: no number of parts suits {} ranks and {} samples of a pass: {}{}",
      place.ranks, pass, reason,
      least == std::numeric_limits<std::int64_t>::max()
          ? ""
          : fmt::format("; the least is {:.2f} GiB",
                        static_cast<double>(least) / base::kGibibyte)));
}

nlohmann::json to_json(const SplitChoice& choice) {
  return {{"depth_parts", choice.split.depth},
          {"height_parts", choice.split.height},
          {"ranks_per_sample", choice.split.parts()},
          {"rank_bytes", choice.rank_bytes},
          {"margin_bytes_per_sample", choice.margin_bytes},
          {"reason", choice.reason}};
}

}  // namespace cosmoflow
