// Outputs of evaluated samples on their way to rank 0's sink.
// Hides how ranks with different numbers of samples meet.
#pragma once

#include <cstdint>
#include <span>

#include "runner/communicator.h"
#include "runner/workload.h"

namespace parallel {

/// Collective. Rank 0 gives `sink` (null elsewhere) each rank's `count` samples, which begin with
/// dataset index `first` there: the first rows of outputs [.., width] and labels.
void gather_outputs(const runner::Communicator& world, runner::OutputSink* sink, std::int64_t first,
                    std::int64_t count, std::int64_t width, std::span<const float> outputs,
                    std::span<const std::int32_t> labels);

/// The same of samples with several targets each; targets [.., target_width].
void gather_outputs(const runner::Communicator& world, runner::OutputSink* sink, std::int64_t first,
                    std::int64_t count, std::int64_t width, std::span<const float> outputs,
                    std::int64_t target_width, std::span<const float> targets);

}  // namespace parallel
