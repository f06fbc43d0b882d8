// The example's dataset.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>

#include "runner/base/error.h"
#include "workloads/synthetic/generation.h"

namespace CLI {
class App;
}

namespace example {

struct GenerateOptions : synthetic::GenerateOptions {
  std::int64_t train_points = 2000, validation_points = 500;
};

/// Writes the files output/train and output/validation, and output/manifest.json. A point depends
/// only on (seed, set, index).
synthetic::GenerateResult generate_points(const GenerateOptions& options);

/// A dry run of generate_points().
nlohmann::json generate_plan(const GenerateOptions& options);

/// Declares the options of `generate example`. Returns the action.
std::function<base::ExitCode()> declare_generate(CLI::App& app);

}  // namespace example
