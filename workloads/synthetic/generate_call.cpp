// The command line of every `trainmark generate`.
#include "workloads/synthetic/generate_call.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "runner/documents.h"

namespace synthetic {
namespace {

struct Call {
  bool dry_run = false;
  std::string json;  ///< file for the result; "-": stdout
};

base::ExitCode run(const Call& call, const std::string& output, const Generator& generator) {
  if (call.dry_run) {
    runner::write_document(generator.plan(), call.json.empty() ? "-" : call.json, std::cout);
    return base::ExitCode::kSuccess;
  }
  const Generated made = generator.generate();
  std::cerr << base::printable(fmt::format("{}{}: {}", made.already_there ? "Already there: " : "",
                                           output, made.text))
            << '\n';
  if (!call.json.empty()) {
    nlohmann::json document = made.facts;
    document["output"] = output;
    document["already_there"] = made.already_there;
    runner::write_document(document, call.json, std::cout);
  }
  return base::ExitCode::kSuccess;
}

}  // namespace

Generated generated(const GenerateResult& result, const char* samples) {
  return {result.already_there,
          fmt::format("{} {}, {} bytes", result.files, samples, result.bytes),
          {{"files", result.files}, {"bytes", result.bytes}}};
}

std::function<base::ExitCode()> declare_generator(CLI::App& app,
                                                  const std::shared_ptr<GenerateOptions>& options,
                                                  const Generator& generator) {
  const auto call = std::make_shared<Call>();
  app.add_option("output,--output", options->output, "folder to make")->required();
  app.add_option("--seed", options->seed, "seed of all samples")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--threads", options->threads, "threads; 0: the CPUs that this process may use")
      ->capture_default_str();
  app.add_flag("--dry-run", call->dry_run, "show what would be written, and free space, only");
  app.add_option("--json", call->json, "write the result as JSON to this file; '-' for stdout");
  return [call, options, generator] { return run(*call, options->output, generator); };
}

}  // namespace synthetic
