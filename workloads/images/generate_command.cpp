// The options of `trainmark generate` for workloads that classify images.
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "workloads/images/generate.h"
#include "workloads/synthetic/generate_call.h"

namespace images {

std::function<base::ExitCode()> declare_generate(CLI::App& app) {
  const auto options = std::make_shared<GenerateOptions>();
  options->workload = app.get_name();
  const auto add = [&app](const char* name, auto& value, const char* help) {
    return app.add_option(name, value, help)->capture_default_str();
  };
  add("--classes", options->classes, "number of classes, 2 to 1000");
  add("--train-per-class", options->train_per_class, "training images of each class");
  add("--validation-per-class", options->validation_per_class, "validation images of each class");
  add("--image-size", options->image_size, "height and width in pixels");
  app.add_flag("--tar", options->tar, "write train.tar and validation.tar, not folders");
  return synthetic::declare_generator(
      app, options,
      {[options] { return generate_plan(*options); },
       [options] { return synthetic::generated(generate_images(*options), "images"); }});
}

}  // namespace images
