// A learnable synthetic dataset in the CosmoFlow benchmark's on-disk formats.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "runner/base/error.h"
#include "staging/dataset/universe.h"
#include "workloads/synthetic/generation.h"

namespace CLI {
class App;
}

namespace cosmoflow {

struct GenerateOptions : synthetic::GenerateOptions {
  std::int64_t train_samples = 8000;
  std::int64_t validation_samples = 1000;
  std::int64_t size = 32;  ///< voxels along each axis of a sample
  /// Voxels along each axis of a simulated box, which is cut into samples. Default: `size`, one
  /// sample.
  std::optional<std::int64_t> box_cells;
  std::optional<double> voxel;  ///< Mpc/h; default: a sample measures 128 Mpc/h
  dataset::UniverseFormat format = dataset::UniverseFormat::kHdf5;
};

using synthetic::GenerateResult;

/// "hdf5", "tfrecord" or "tfrecord.gz". Throws ConfigError for anything else.
dataset::UniverseFormat parse_format(std::string_view name);

/// Writes output/train and output/validation, one file per sample, and output/manifest.json. Files
/// are named like the published ones, by universe and its cube, univ_ics_a%08d_%03d; their order is
/// that of the samples. A sample depends only on (seed, set, index), size, box and voxel, not on
/// the number of threads or samples. Everything is written to `output`.part, which is renamed when
/// complete. An unfinished `output`.part of the same options is continued; a complete dataset of
/// the same options is left unchanged. Throws ConfigError for bad options and when something else
/// occupies the path, SystemError when writing fails.
GenerateResult generate_universes(const GenerateOptions& options);

/// A dry run of generate_universes(): files, estimated bytes, free bytes, memory, and whether the
/// dataset exists.
nlohmann::json generate_plan(const GenerateOptions& options);

/// Declares the options of `generate cosmoflow`. Returns the action.
std::function<base::ExitCode()> declare_generate(CLI::App& app);

}  // namespace cosmoflow
