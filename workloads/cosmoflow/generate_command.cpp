// The options of `trainmark generate cosmoflow`.
// Hides the parser.
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "workloads/cosmoflow/generate.h"
#include "workloads/synthetic/generate_call.h"

namespace cosmoflow {
namespace {

struct Call {
  GenerateOptions options;
  std::string format = "hdf5";
  synthetic::GenerateCall call;
};

base::ExitCode generate(const Call& call) {
  GenerateOptions options = call.options;
  options.format = parse_format(call.format);
  return synthetic::run_call(call.call,
                             {options.output, "samples", [&] { return generate_plan(options); },
                              [&] { return generate_universes(options); }});
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
  add("--size", options.size, "voxels along each axis of a sample: a power of 2, 8 to 256");
  app.add_option("--box-cells", options.box_cells,
                 "voxels along each axis of a simulated box, which is cut into samples: a power of "
                 "2, at most 512 [as --size]");
  app.add_option("--voxel", options.voxel, "side of a voxel in Mpc/h [128 / size]");
  add("--format", call->format, "hdf5, tfrecord, or tfrecord.gz (compressed)");
  add("--seed", options.seed, "seed of all samples")->check(CLI::NonNegativeNumber);
  add("--threads", options.threads, "threads; 0: the CPUs that this process may use");
  synthetic::declare_call(app, call->call,
                          "show samples, estimated bytes, memory and free space only");
  return [call] { return generate(*call); };
}

}  // namespace cosmoflow
