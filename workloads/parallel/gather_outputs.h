// Gathers the outputs of evaluated samples into rank 0's sink.
#pragma once

#include <cstdint>
#include <span>

#include "runner/communicator.h"
#include "runner/workload.h"

namespace parallel {

/// Collective. Rank 0 writes each rank's `count` samples to `sink` (null on other ranks). `first`
/// is the dataset index of this rank's first sample; outputs [>= count, width] and labels
/// [>= count] have a row for each sample. `count` may be 0 and may differ between ranks.
void gather_outputs(const runner::Communicator& world, runner::OutputSink* sink, std::int64_t first,
                    std::int64_t count, std::int64_t width, std::span<const float> outputs,
                    std::span<const std::int32_t> labels);

/// As above, for samples with several targets each: targets [>= count, target_width].
void gather_outputs(const runner::Communicator& world, runner::OutputSink* sink, std::int64_t first,
                    std::int64_t count, std::int64_t width, std::span<const float> outputs,
                    std::int64_t target_width, std::span<const float> targets);

}  // namespace parallel
