// A learnable synthetic dataset in ImageNet's on-disk format.
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

namespace images {

struct GenerateOptions : synthetic::GenerateOptions {
  std::string workload = "resnet50";  ///< whose images they are, for dataset.json
  std::int64_t classes = 8;
  std::int64_t train_per_class = 250;
  std::int64_t validation_per_class = 50;
  std::int64_t image_size = 32;
  bool tar = false;  ///< train.tar and validation.tar instead of folders
};

/// The counted files are JPEG images.
using synthetic::GenerateResult;

/// Writes output/{train,validation}/n%08d/n%08d_%d.JPEG (or .tar) and output/dataset.json. The
/// bytes depend only on the options that describe the data, not on the number of threads.
/// Everything is written to `output`.part, which is renamed when complete. An unfinished
/// `output`.part of the same options is continued; a complete dataset of the same options is left
/// unchanged. Throws ConfigError for bad options and when something else occupies the path,
/// SystemError when writing fails.
GenerateResult generate_images(const GenerateOptions& options);

/// A dry run of generate_images(): files, estimated bytes, free bytes, and whether the dataset
/// exists.
nlohmann::json generate_plan(const GenerateOptions& options);

/// Declares the options of `generate WORKLOAD`, which is the app's name. Returns the action.
std::function<base::ExitCode()> declare_generate(CLI::App& app);

}  // namespace images
