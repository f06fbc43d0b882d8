// The options that every `trainmark generate` has, and what it tells.
// Hides the parser.
#include "workloads/synthetic/generate_call.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>

#include "runner/documents.h"

namespace synthetic {

void declare_call(CLI::App& app, GenerateCall& call, const char* dry_run_help) {
  app.add_flag("--dry-run", call.dry_run, dry_run_help);
  app.add_option("--json", call.json, "write the result as JSON to this file; '-' for stdout");
}

base::ExitCode run_call(const GenerateCall& call, const Generator& generator) {
  if (call.dry_run) {
    runner::write_document(generator.plan(), call.json.empty() ? "-" : call.json, std::cout);
    return base::ExitCode::kSuccess;
  }
  const GenerateResult result = generator.generate();
  std::cerr << fmt::format("{}{}: {} {}, {} bytes\n", result.already_there ? "Already there: " : "",
                           generator.output, result.files, generator.samples, result.bytes);
  if (!call.json.empty()) {
    const nlohmann::json document = {{"output", generator.output},
                                     {"already_there", result.already_there},
                                     {"files", result.files},
                                     {"bytes", result.bytes}};
    runner::write_document(document, call.json, std::cout);
  }
  return base::ExitCode::kSuccess;
}

}  // namespace synthetic
