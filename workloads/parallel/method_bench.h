// Times every method by which the convolutions of a network can be computed.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>

#include "workloads/parallel/bench_options.h"

namespace parallel {

/// Runs one whole bench. With options.layers and options.methods_output its result has
/// "layer_methods", the rows of LayerBench::methods().
using RunBench = std::function<nlohmann::json(const TrainingOptions& options)>;

/// Collective. Runs `bench` once and returns its result. If options.methods_output names a file,
/// runs `bench` unchanged, then once for each pair of a product and a method that some layer
/// permits but does not use, then unchanged again; the result has a table of the times, and rank 0
/// writes the faster methods to the file.
nlohmann::json run_benches(const TrainingOptions& options, const runner::Surroundings& around,
                           const RunBench& bench);

}  // namespace parallel
