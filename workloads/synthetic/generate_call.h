// The command line of every `trainmark generate`: its options, and what it tells.
// Hides the parser.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "runner/base/error.h"
#include "workloads/synthetic/generation.h"

namespace CLI {
class App;
}

namespace synthetic {

/// What was generated, in words ("5 images, 99 bytes") and as facts.
struct Told {
  bool already_there = false;
  std::string text;
  nlohmann::json facts;
};
/// Of files that are `samples`: "images".
Told told(const GenerateResult& result, const char* samples);

/// What a workload's generator does, with the options that were parsed.
struct Generator {
  std::function<nlohmann::json()> plan;
  std::function<Told()> generate;
};
/// Declares the options that every generator has, of which some are `options`; the action generates
/// and tells, or with --dry-run tells what it would do.
std::function<base::ExitCode()> declare_generator(CLI::App& app,
                                                  const std::shared_ptr<GenerateOptions>& options,
                                                  const Generator& generator);

}  // namespace synthetic
