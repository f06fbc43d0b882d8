// A learnable synthetic dataset in the CosmoFlow benchmark's on-disk formats.
#include "workloads/cosmoflow/generate.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "runner/base/narrow.h"
#include "runner/base/system_facts.h"
#include "staging/generated_folder.h"
#include "workloads/cosmoflow/universe.h"
#include "workloads/cosmoflow/universe_writer.h"

namespace cosmoflow {
namespace {

using nlohmann::json;

constexpr const char* kManifest = "manifest.json";
/// To be raised whenever the same options give other bytes.
constexpr int kVersion = 1;

constexpr std::pair<const char*, dataset::UniverseFormat> kFormats[] = {
    {"hdf5", dataset::UniverseFormat::kHdf5},
    {"tfrecord", dataset::UniverseFormat::kTfrecord},
    {"tfrecord.gz", dataset::UniverseFormat::kTfrecordGzip}};

const char* name_of(dataset::UniverseFormat format) {
  return std::find_if(std::begin(kFormats), std::end(kFormats),
                      [format](const auto& each) { return each.second == format; })
      ->first;
}

/// One of the two folders.
struct Folder {
  const char* name;
  SampleSet set;
  std::int64_t samples;
};

std::vector<Folder> folders_of(const GenerateOptions& options) {
  return {{"train", SampleSet::kTrain, options.train_samples},
          {"validation", SampleSet::kValidation, options.validation_samples}};
}

std::int64_t samples_of(const GenerateOptions& options) {
  return options.train_samples + options.validation_samples;
}

json identity_of(const GenerateOptions& options) {
  return {{"generator", "trainmark generate cosmoflow"},
          {"version", kVersion},
          {"train_samples", options.train_samples},
          {"validation_samples", options.validation_samples},
          {"size", options.size},
          {"box_cells", options.box_cells.value()},
          {"voxel", options.voxel.value()},
          {"format", name_of(options.format)},
          {"seed", options.seed}};
}

/// File names have 8 digits for a universe and 3 for a cube of it.
constexpr std::int64_t kMostSamples = 100'000'000, kMostCubesAlong = 8;

void check_box(std::int64_t size, std::int64_t box_cells) {
  const std::int64_t most = std::min(size * kMostCubesAlong, Fourier::kMostCells);
  if (box_cells >= size && box_cells <= most &&
      std::has_single_bit(static_cast<std::uint64_t>(box_cells))) {
    return;
  }
  throw base::ConfigError(
      fmt::format("generate: --box-cells: must be {} times a power of 2, at most {}, got {}", size,
                  most, box_cells));
}

/// Fills in the defaults of options not given. Throws ConfigError for values that cannot be
/// generated.
GenerateOptions completed(GenerateOptions options) {
  constexpr std::int64_t kMostSize = 256;
  constexpr double kSampleSide = 128.0;  // Mpc/h
  using synthetic::check_within;
  check_within<std::int64_t>("train-samples", options.train_samples, 1, kMostSamples);
  check_within<std::int64_t>("validation-samples", options.validation_samples, 0, kMostSamples);
  check_within("size", options.size, Fourier::kLeastCells, kMostSize);
  if (!std::has_single_bit(static_cast<std::uint64_t>(options.size))) {
    throw base::ConfigError(
        fmt::format("generate: --size: must be a power of 2, got {}", options.size));
  }
  options.box_cells = options.box_cells.value_or(options.size);
  check_box(options.size, *options.box_cells);
  options.voxel = options.voxel.value_or(kSampleSide / static_cast<double>(options.size));
  check_within("voxel", *options.voxel, Simulator::kLeastVoxel, Simulator::kMostVoxel);
  synthetic::check_usual_options(options);
  return options;
}

WriterOptions writer_of(const GenerateOptions& options) {
  return {options.size,   *options.box_cells, *options.voxel,
          options.format, options.seed,       base::narrow<int>(options.threads)};
}

staging::GeneratedFolder folder_of(const GenerateOptions& options) {
  return {options.output, kManifest, identity_of(options)};
}

GenerateResult write_all(const GenerateOptions& options, const std::string& part) {
  UniverseWriter writer(writer_of(options));
  GenerateResult result;
  for (const Folder& each : folders_of(options)) {
    if (each.samples == 0) continue;
    result.bytes += writer.write(fmt::format("{}/{}", part, each.name), each.set, each.samples);
  }
  result.files = samples_of(options);
  return result;
}

/// Size of one file: exact for HDF5, else extrapolated from a smaller box.
std::int64_t estimated_bytes(const GenerateOptions& options) {
  constexpr std::int64_t kExampleSize = 32;
  const std::int64_t size = std::min(options.size, kExampleSize);
  const dataset::Universe example =
      Simulator(size, *options.voxel).draw(options.seed, SampleSet::kTrain, 0);
  const auto encoded =
      static_cast<std::int64_t>(dataset::encode_universe(example, options.format).size());
  const std::int64_t times = options.size / size, more = times * times * times;
  if (options.format == dataset::UniverseFormat::kTfrecordGzip) return encoded * more;
  const auto counts = static_cast<std::int64_t>(example.counts.size() * sizeof(std::int16_t));
  return encoded + counts * (more - 1);
}

/// Memory of all threads.
std::int64_t memory_bytes(const GenerateOptions& options) {
  const std::int64_t threads = options.threads > 0 ? options.threads : base::usable_cpus();
  return threads * UniverseWriter::thread_bytes(writer_of(options));
}

}  // namespace

dataset::UniverseFormat parse_format(std::string_view name) {
  for (const auto& [known, format] : kFormats) {
    if (name == known) return format;
  }
  throw base::ConfigError(
      fmt::format("generate: --format: must be hdf5, tfrecord or tfrecord.gz, got '{}'", name));
}

GenerateResult generate_universes(const GenerateOptions& given) {
  const GenerateOptions options = completed(given);
  return synthetic::generate_once(
      folder_of(options), [&](const std::string& part) { return write_all(options, part); });
}

json generate_plan(const GenerateOptions& given) {
  const GenerateOptions options = completed(given);
  const std::int64_t samples = samples_of(options);
  json plan = synthetic::plan_of(folder_of(options), samples, estimated_bytes(options) * samples);
  plan["memory_bytes"] = memory_bytes(options);
  return plan;
}

}  // namespace cosmoflow
