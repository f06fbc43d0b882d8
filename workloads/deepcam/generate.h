// A learnable synthetic dataset in the DeepCAM benchmark's on-disk format.
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
  std::int64_t height = 96, width = 144;  ///< of a sample, in pixels
};

using synthetic::GenerateResult;

/// Writes output/train and output/validation, one file per sample, data-%06d.h5; stats.h5 of the
/// training samples; and manifest.json. A sample depends only on (seed, set, index), height and
/// width, not on the number of threads or samples. Everything is written to `output`.part, which is
/// renamed when complete. An unfinished `output`.part of the same options is continued; a complete
/// dataset of the same options is left unchanged. Throws ConfigError for bad options and when
/// something else occupies the path, SystemError when writing fails.
GenerateResult generate_climate(const GenerateOptions& options);

/// A dry run of generate_climate(): files, bytes, free bytes, memory, and whether the dataset
/// exists.
nlohmann::json generate_plan(const GenerateOptions& options);

/// Declares the options of `generate deepcam`. Returns the action.
std::function<base::ExitCode()> declare_generate(CLI::App& app);

}  // namespace deepcam
