// The command line of every `trainmark generate`: its options and its output.
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

/// The result in words ("5 images, 99 bytes") and as facts.
struct Generated {
  bool already_there = false;
  std::string text;
  nlohmann::json facts;
};
/// Describes a result. `samples`: the word for its files, such as "images".
Generated generated(const GenerateResult& result, const char* samples);

/// A workload's generator, bound to the parsed options.
struct Generator {
  std::function<nlohmann::json()> plan;
  std::function<Generated()> generate;
};
/// Declares the options common to all generators, some of which are stored in `options`. The
/// returned action generates and reports or, with --dry-run, prints the plan.
std::function<base::ExitCode()> declare_generator(CLI::App& app,
                                                  const std::shared_ptr<GenerateOptions>& options,
                                                  const Generator& generator);

}  // namespace synthetic
