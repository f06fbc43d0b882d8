// The options of `trainmark generate deepcam`.
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "workloads/deepcam/generate.h"
#include "workloads/synthetic/generate_call.h"

namespace deepcam {

std::function<base::ExitCode()> declare_generate(CLI::App& app) {
  const auto options = std::make_shared<GenerateOptions>();
  const auto add = [&app](const char* name, auto& value, const char* help) {
    return app.add_option(name, value, help)->capture_default_str();
  };
  add("--train-samples", options->train_samples, "samples for training");
  add("--validation-samples", options->validation_samples, "samples for validation");
  add("--height", options->height, "points from pole to pole: a multiple of 16");
  add("--width", options->width, "points around the globe: a multiple of 16");
  return synthetic::declare_generator(
      app, options,
      {[options] { return generate_plan(*options); },
       [options] { return synthetic::generated(generate_climate(*options), "samples"); }});
}

}  // namespace deepcam
