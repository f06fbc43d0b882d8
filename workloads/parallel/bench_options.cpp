// Command-line options of the training benches.
#include "workloads/parallel/bench_options.h"

#include <CLI/CLI.hpp>

#include "runner/base/system_facts.h"
#include "workloads/parallel/method_file.h"
#include "workloads/parallel/training_keys.h"

namespace parallel {

void declare_recompute(CLI::App& app, TrainingOptions& options) {
  app.add_option("--recompute", options.recompute,
                 "what the backward pass recomputes in place of keeping it")
      ->check(CLI::IsMember({"none", "normalizations", "blocks"}))
      ->capture_default_str();
}

void declare_methods(CLI::App& app, TrainingOptions& options) {
  app.add_option(
      "--methods", options.methods_output,
      "time every method that a convolution's shape permits, and write those faster than "
      "the current choice to this file, for --use-methods and the key "
      "training.methods");
  app.add_option("--use-methods", options.use_methods,
                 "compute convolutions by the methods in this file, written by --methods");
}

void declare_number(CLI::App& app, const char* name, std::int64_t& value, std::int64_t least,
                    std::int64_t most, const char* help) {
  app.add_option(name, value, help)->check(CLI::Range(least, most))->capture_default_str();
}

nn::Arithmetic arithmetic_of(const std::string& bench, const TrainingOptions& options) {
  nn::Arithmetic arithmetic;
  arithmetic.precision = named(bench + ": --precision", options.precision, precisions());
  arithmetic.products = named(bench + ": --products", options.products, products());
  if (!options.use_methods.empty()) arithmetic.methods = read_methods(options.use_methods);
  for (const auto& [key, method] : options.method_overrides) arithmetic.methods[key] = method;
  return arithmetic;
}

nn::Recompute recompute_of(const std::string& bench, const TrainingOptions& options) {
  return named(bench + ": --recompute", options.recompute, recomputes());
}

DataParallelConfig training_of(const std::string& bench, const TrainingOptions& options,
                               int ranks) {
  DataParallelConfig config;
  config.global_batch = options.batch * ranks;
  config.instruction_set = base::usable_instruction_set();
  config.arithmetic = arithmetic_of(bench, options);
  return config;
}

}  // namespace parallel
