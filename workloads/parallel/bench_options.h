// The options of benches of training.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "runner/workload.h"
#include "workloads/nn/precision.h"
#include "workloads/parallel/data_parallel.h"

namespace parallel {

/// Those of every workload, and those that several declare.
struct TrainingOptions : runner::BenchOptions {
  std::string recompute = "normalizations";
  std::string methods_to;   ///< a file for methods that are faster; empty: none is timed
  std::string use_methods;  ///< such a file, which is heeded; empty: none
  std::map<std::string, std::string> asked_methods;  ///< before those of the file
};
/// Declares --recompute.
void declare_recompute(CLI::App& app, TrainingOptions& options);
/// Declares --methods and --use-methods, of networks with convolutions.
void declare_methods(CLI::App& app, TrainingOptions& options);
/// Declares a number from `least` to `most`, by default what it is.
void declare_number(CLI::App& app, const char* name, std::int64_t& value, std::int64_t least,
                    std::int64_t most, const char* help);

/// As the options of `bench` ("bench dlrm") ask for it; throws ConfigError that names it.
nn::Arithmetic arithmetic_of(const std::string& bench, const TrainingOptions& options);
nn::Recompute recompute_of(const std::string& bench, const TrainingOptions& options);
/// The batch, the CPU's instruction set, and the arithmetic.
DataParallelConfig training_of(const std::string& bench, const TrainingOptions& options, int ranks);

}  // namespace parallel
