// The options that every `trainmark generate` has, and what it tells.
// Hides the parser.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "runner/base/error.h"
#include "workloads/synthetic/generation.h"

namespace CLI {
class App;
}

namespace synthetic {

struct GenerateCall {
  bool dry_run = false;
  std::string json;  ///< file for the result; "-": stdout
};

/// Declares --dry-run, with its help, and --json.
void declare_call(CLI::App& app, GenerateCall& call, const char* dry_run_help);

/// What a generator does for a call.
struct Generator {
  std::string output;
  const char* samples;  ///< what files are: "images"
  std::function<nlohmann::json()> plan;
  std::function<GenerateResult()> generate;
};
/// Generates and tells, or tells what it would do.
base::ExitCode run_call(const GenerateCall& call, const Generator& generator);

}  // namespace synthetic
