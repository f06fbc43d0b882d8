// The options of `trainmark generate deepcam`.
// Hides the parser.
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "workloads/deepcam/generate.h"
#include "workloads/synthetic/generate_call.h"

namespace deepcam {
namespace {

struct Call {
  GenerateOptions options;
  synthetic::GenerateCall call;
};

base::ExitCode generate(const Call& call) {
  return synthetic::run_call(
      call.call, {call.options.output, "samples", [&] { return generate_plan(call.options); },
                  [&] { return generate_climate(call.options); }});
}

}  // namespace

std::function<base::ExitCode()> declare_generate(CLI::App& app) {
  auto call = std::make_shared<Call>();
  GenerateOptions& options = call->options;
  app.add_option("output,--output", options.output, "folder to make")->required();
  const auto add = [&app](const char* name, auto& value, const char* help) {
    return app.add_option(name, value, help)->capture_default_str();
  };
  add("--train-samples", options.train_samples, "samples for training");
  add("--validation-samples", options.validation_samples, "samples for validation");
  add("--height", options.height, "points from pole to pole: a multiple of 16");
  add("--width", options.width, "points around the globe: a multiple of 16");
  add("--seed", options.seed, "seed of all samples")->check(CLI::NonNegativeNumber);
  add("--threads", options.threads, "threads; 0: the CPUs that this process may use");
  synthetic::declare_call(app, call->call, "show samples, bytes, memory and free space only");
  return [call] { return generate(*call); };
}

}  // namespace deepcam
