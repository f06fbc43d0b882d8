// A learnable synthetic dataset in ImageNet's on-disk format.
// Hides drawing, encoding, threads, and how an interrupted run goes on.
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

namespace resnet50 {

struct GenerateOptions : synthetic::GenerateOptions {
  std::int64_t classes = 8;
  std::int64_t train_per_class = 250;
  std::int64_t validation_per_class = 50;
  std::int64_t image_size = 32;
  bool tar = false;  ///< train.tar and validation.tar in place of folders
};

/// Files are JPEG images.
using synthetic::GenerateResult;

/// Writes output/{train,validation}/n%08d/n%08d_%d.JPEG (or .tar) and output/dataset.json. The
/// bytes depend on the options alone, never on threads. All is written to `output`.part and renamed
/// when whole; a part that an interrupted run with the same options left is continued. A whole
/// dataset of the same options is left as it is. Throws ConfigError for bad options and when
/// something else is in the way, SystemError when writing fails.
GenerateResult generate_images(const GenerateOptions& options);

/// What generate_images would do: files, estimated bytes, free bytes, whether it is there already.
nlohmann::json generate_plan(const GenerateOptions& options);

/// Declares the options of `generate resnet50` and gives the action.
std::function<base::ExitCode()> declare_generate(CLI::App& app);

}  // namespace resnet50
