// Command-line options of the training benches.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "runner/workload.h"
#include "workloads/nn/precision.h"
#include "workloads/parallel/data_parallel.h"

namespace parallel {

/// The options of every workload's bench, and those that several workloads declare.
struct TrainingOptions : runner::BenchOptions {
  std::string recompute = "normalizations";
  std::string methods_output;  ///< file to write faster methods to; empty: time no methods
  std::string use_methods;     ///< method file to apply (method_file.h); empty: none
  std::map<std::string, std::string> method_overrides;  ///< by key; override those of use_methods
};
/// Declares --recompute.
void declare_recompute(CLI::App& app, TrainingOptions& options);
/// Declares --methods and --use-methods, of networks with convolutions.
void declare_methods(CLI::App& app, TrainingOptions& options);
/// Declares an integer option in [least, most] whose default is the current `value`.
void declare_number(CLI::App& app, const char* name, std::int64_t& value, std::int64_t least,
                    std::int64_t most, const char* help);

/// The settings that `options` name. Throw ConfigError, which names `bench` ("bench dlrm") and the
/// option.
nn::Arithmetic arithmetic_of(const std::string& bench, const TrainingOptions& options);
nn::Recompute recompute_of(const std::string& bench, const TrainingOptions& options);
/// The global batch, the instruction set in use, and the arithmetic; the rest has its defaults.
DataParallelConfig training_of(const std::string& bench, const TrainingOptions& options, int ranks);

}  // namespace parallel
