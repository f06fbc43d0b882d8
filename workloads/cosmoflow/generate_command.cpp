// The options of `trainmark generate cosmoflow`.
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "workloads/cosmoflow/generate.h"
#include "workloads/synthetic/generate_call.h"

namespace cosmoflow {

std::function<base::ExitCode()> declare_generate(CLI::App& app) {
  const auto options = std::make_shared<GenerateOptions>();
  const auto add = [&app](const char* name, auto& value, const char* help) {
    return app.add_option(name, value, help)->capture_default_str();
  };
  add("--train-samples", options->train_samples, "samples for training");
  add("--validation-samples", options->validation_samples, "samples for validation");
  add("--size", options->size, "voxels along each axis of a sample: a power of 2, 8 to 256");
  app.add_option("--box-cells", options->box_cells,
                 "voxels along each axis of a simulated box, which is cut into samples: a power of "
                 "2, at most 512 [as --size]");
  app.add_option("--voxel", options->voxel, "side of a voxel in Mpc/h [128 / size]");
  const auto take_format = [options](const std::string& name) {
    options->format = parse_format(name);
  };
  app.add_option_function<std::string>("--format", take_format,
                                       "hdf5, tfrecord, or tfrecord.gz (compressed)")
      ->default_str("hdf5");
  return synthetic::declare_generator(
      app, options,
      {[options] { return generate_plan(*options); },
       [options] { return synthetic::generated(generate_universes(*options), "samples"); }});
}

}  // namespace cosmoflow
