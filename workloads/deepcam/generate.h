// A learnable synthetic dataset in the DeepCAM benchmark's on-disk format.
// Hides simulating, encoding, threads, and how an interrupted run goes on.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "runner/base/error.h"
#include "workloads/synthetic/generation.h"

namespace CLI {
class App;
}

namespace deepcam {

struct GenerateOptions : synthetic::GenerateOptions {
  std::int64_t train_samples = 160;
  std::int64_t validation_samples = 40;
  std::int64_t height = 96, width = 144;  ///< of a sample, in points
};

using synthetic::GenerateResult;

/// Writes output/train and output/validation, one file per sample, data-%06d.h5, stats.h5 of the
/// training samples and manifest.json. A sample depends on (seed, set, index), height and width
/// alone, never on threads or on how many there are. All is written to `output`.part and renamed
/// when whole; a part that an interrupted run with the same options left is continued. A whole
/// dataset of the same options is left as it is. Throws ConfigError for bad options and when
/// something else is in the way, SystemError when writing fails.
GenerateResult generate_climate(const GenerateOptions& options);

/// What generate_climate would do: files, bytes, free bytes, memory, whether it is there already.
nlohmann::json generate_plan(const GenerateOptions& options);

/// Declares the options of `generate deepcam` and gives the action.
std::function<base::ExitCode()> declare_generate(CLI::App& app);

}  // namespace deepcam
