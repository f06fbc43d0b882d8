// Loading of batches of universes into the network, as float or bf16.
#include "workloads/cosmoflow/trainer.h"

#include <algorithm>
#include <span>
#include <utility>

#include "runner/base/system_facts.h"

namespace cosmoflow {
namespace {

template <class T>
void widen_all(const UniverseBatch& batch, bool apply_log, nn::Executor& executor) {
  const std::span<T> input = executor.input<T>(0);
  const std::size_t size = input.size() / batch.size();
  for (std::size_t slot = 0; slot < batch.size(); ++slot) {
    const std::span<T> place = input.subspan(slot * size, size);
    if (batch[slot].index < 0) {
      std::fill(place.begin(), place.end(), T{});
    } else {
      widen(batch[slot], apply_log, place);
    }
  }
}

}  // namespace

parallel::DataParallelConfig data_parallel_config(const Config& config) {
  parallel::DataParallelConfig parallel;
  parallel.global_batch = config.global_batch_size;
  parallel.accumulation = config.gradient_accumulation_steps;
  parallel.instruction_set = base::usable_instruction_set();
  parallel.arithmetic = config.arithmetic;
  parallel.ranks_per_sample = config.split.parts();
  parallel.gradients = config.gradients;
  return parallel;
}

std::vector<float> load_batch(const UniverseBatch& batch, bool apply_log, std::uint64_t seed,
                              std::int64_t epoch, nn::Executor& executor) {
  if (executor.precision() == nn::Precision::kBf16) {
    widen_all<nn::Bf16>(batch, apply_log, executor);
  } else {
    widen_all<float>(batch, apply_log, executor);
  }
  nn::SampleStreams streams = {seed, static_cast<std::uint64_t>(epoch), {}};
  std::vector<float> targets;
  for (const UniverseSample& sample : batch) {
    streams.samples.push_back(static_cast<std::uint64_t>(sample.index));
    if (sample.index < 0) continue;
    const auto& values = sample.universe.targets;
    targets.insert(targets.end(), values.begin(), values.end());
  }
  executor.name_samples(std::move(streams));
  return targets;
}

}  // namespace cosmoflow
