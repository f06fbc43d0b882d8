// The example's dataset, and the options of `trainmark generate example`.
#include "workloads/example/generate.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "staging/generated_files.h"
#include "workloads/example/points.h"
#include "workloads/synthetic/generate_call.h"

namespace example {
namespace {

void check(const GenerateOptions& options) {
  constexpr std::int64_t kMostPoints = 100'000'000;
  const auto within = synthetic::check_within<std::int64_t>;
  within("train-points", options.train_points, 1, kMostPoints);
  within("validation-points", options.validation_points, 1, kMostPoints);
  synthetic::check_usual_options(options);
}

staging::GeneratedFolder folder_of(const GenerateOptions& options) {
  return {options.output,
          "manifest.json",
          {{"generator", "trainmark generate example"},
           {"train_points", options.train_points},
           {"validation_points", options.validation_points},
           {"seed", options.seed}}};
}

std::int64_t write(const std::string& path, std::uint64_t seed, Set set, std::int64_t count) {
  return staging::keep_or_write(path, [&] {
    std::vector<Point> points;
    for (std::int64_t i = 0; i < count; ++i) points.push_back(draw_point(seed, set, i));
    return encode(points);
  });
}

}  // namespace

synthetic::GenerateResult generate_points(const GenerateOptions& options) {
  check(options);
  return synthetic::generate_once(folder_of(options), [&](const std::string& part) {
    synthetic::GenerateResult result;
    result.files = 2;
    result.bytes =
        write(part + "/train", options.seed, Set::kTrain, options.train_points) +
        write(part + "/validation", options.seed, Set::kValidation, options.validation_points);
    return result;
  });
}

nlohmann::json generate_plan(const GenerateOptions& options) {
  check(options);
  const std::int64_t points = options.train_points + options.validation_points;
  return synthetic::plan_of(folder_of(options), 2,
                            points * static_cast<std::int64_t>(sizeof(Point)));
}

std::function<base::ExitCode()> declare_generate(CLI::App& app) {
  const auto options = std::make_shared<GenerateOptions>();
  app.add_option("--train-points", options->train_points, "points for training")
      ->capture_default_str();
  app.add_option("--validation-points", options->validation_points, "points for validation")
      ->capture_default_str();
  return synthetic::declare_generator(
      app, options,
      {[options] { return generate_plan(*options); },
       [options] { return synthetic::generated(generate_points(*options), "files"); }});
}

}  // namespace example
