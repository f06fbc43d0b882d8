// Times of all methods that the convolutions of a network can be made by.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>

#include "workloads/parallel/bench_options.h"

namespace parallel {

/// One whole bench; its result has "layers", and "layer_methods" as TrainingBench adds them.
using RunBench = std::function<nlohmann::json(const TrainingOptions& options)>;

/// Collective. `bench` once; or, where options.methods_to names a file, once as it is, once for
/// each product and method that some layer permits, and once more as it is. The result has a table
/// of their times then, and rank 0 writes the file.
nlohmann::json run_benches(const TrainingOptions& options, const runner::Surroundings& around,
                           const RunBench& bench);

}  // namespace parallel
