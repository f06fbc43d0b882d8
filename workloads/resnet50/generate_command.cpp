// The options of `trainmark generate resnet50`.
// Hides the parser.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "runner/documents.h"
#include "workloads/resnet50/generate.h"

namespace resnet50 {
namespace {

struct Call {
  GenerateOptions options;
  bool dry_run = false;
  std::string json;
};

base::ExitCode generate(const Call& call) {
  if (call.dry_run) {
    const nlohmann::json plan = generate_plan(call.options);
    runner::write_document(plan, call.json.empty() ? "-" : call.json, std::cout);
    return base::ExitCode::kSuccess;
  }
  const GenerateResult result = generate_images(call.options);
  std::cerr << fmt::format("{}{}: {} images, {} bytes\n",
                           result.already_there ? "Already there: " : "", call.options.output,
                           result.files, result.bytes);
  if (!call.json.empty()) {
    const nlohmann::json document = {{"output", call.options.output},
                                     {"already_there", result.already_there},
                                     {"files", result.files},
                                     {"bytes", result.bytes}};
    runner::write_document(document, call.json, std::cout);
  }
  return base::ExitCode::kSuccess;
}

}  // namespace

std::function<base::ExitCode()> declare_generate(CLI::App& app) {
  auto call = std::make_shared<Call>();
  GenerateOptions& options = call->options;
  app.add_option("--output", options.output, "folder to make")->required();
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
  app.add_flag("--dry-run", call->dry_run, "show files, estimated bytes and free space only");
  app.add_option("--json", call->json, "write the result as JSON to this file; '-' for stdout");
  return [call] { return generate(*call); };
}

}  // namespace resnet50
