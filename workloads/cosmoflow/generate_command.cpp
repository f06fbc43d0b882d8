// The options of `trainmark generate cosmoflow`.
// Hides the parser.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "runner/documents.h"
#include "workloads/cosmoflow/generate.h"

namespace cosmoflow {
namespace {

struct Call {
  GenerateOptions options;
  std::string format = "hdf5";
  bool dry_run = false;
  std::string json;
};

base::ExitCode generate(const Call& call) {
  GenerateOptions options = call.options;
  options.format = parse_format(call.format);
  if (call.dry_run) {
    runner::write_document(generate_plan(options), call.json.empty() ? "-" : call.json, std::cout);
    return base::ExitCode::kSuccess;
  }
  const GenerateResult result = generate_universes(options);
  std::cerr << fmt::format("{}{}: {} samples, {} bytes\n",
                           result.already_there ? "Already there: " : "", options.output,
                           result.files, result.bytes);
  if (!call.json.empty()) {
    const nlohmann::json document = {{"output", options.output},
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
  app.add_flag("--dry-run", call->dry_run,
               "show samples, estimated bytes, memory and free space only");
  app.add_option("--json", call->json, "write the result as JSON to this file; '-' for stdout");
  return [call] { return generate(*call); };
}

}  // namespace cosmoflow
