// The options of `trainmark generate resnet50`.
// Hides the parser.
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "workloads/resnet50/generate.h"
#include "workloads/synthetic/generate_call.h"

namespace resnet50 {
namespace {

struct Call {
  GenerateOptions options;
  synthetic::GenerateCall call;
};

base::ExitCode generate(const Call& call) {
  return synthetic::run_call(
      call.call, {call.options.output, "images", [&] { return generate_plan(call.options); },
                  [&] { return generate_images(call.options); }});
}

}  // namespace

std::function<base::ExitCode()> declare_generate(CLI::App& app) {
  auto call = std::make_shared<Call>();
  GenerateOptions& options = call->options;
  app.add_option("output,--output", options.output, "folder to make")->required();
  const auto add = [&app](const char* name, auto& value, const char* help) {
    return app.add_option(name, value, help)->capture_default_str();
  };
  add("--classes", options.classes, "number of classes, 2 to 1000");
  add("--train-per-class", options.train_per_class, "training images of each class");
  add("--validation-per-class", options.validation_per_class, "validation images of each class");
  add("--image-size", options.image_size, "height and width in pixels");
  add("--seed", options.seed, "seed of all images")->check(CLI::NonNegativeNumber);
  add("--threads", options.threads, "threads; 0: the CPUs that this process may use");
  app.add_flag("--tar", options.tar, "write train.tar and validation.tar, not folders");
  synthetic::declare_call(app, call->call, "show files, estimated bytes and free space only");
  return [call] { return generate(*call); };
}

}  // namespace resnet50
