// A learnable synthetic dataset in the CosmoFlow benchmark's on-disk formats.
// Hides which folders there are, and the manifest.
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
#include "staging/space.h"
#include "workloads/cosmoflow/universe.h"
#include "workloads/cosmoflow/universe_writer.h"

namespace cosmoflow {
namespace {

using nlohmann::json;

constexpr const char* kManifest = "manifest.json";
/// Raised whenever the same options give other bytes.
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
  Split split;
  std::int64_t samples;
};

std::vector<Folder> folders_of(const GenerateOptions& options) {
  return {{"train", Split::kTrain, options.train_samples},
          {"validation", Split::kValidation, options.validation_samples}};
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

/// Names of files number universes with 8 digits, and the cubes of one with 3.
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

/// With what stands for options not given. Throws ConfigError for what cannot be generated.
GenerateOptions completed(GenerateOptions options) {
  constexpr std::int64_t kMostSize = 256;
  constexpr double kSampleSide = 128.0;  // Mpc/h
  const auto within = [](const char* name, auto value, decltype(value) low, decltype(value) high) {
    if (value >= low && value <= high) return;
    throw base::ConfigError(
        fmt::format("generate: --{}: must be {} to {}, got {}", name, low, high, value));
  };
  within("train-samples", options.train_samples, 1, kMostSamples);
  within("validation-samples", options.validation_samples, 0, kMostSamples);
  within("size", options.size, Fourier::kLeastCells, kMostSize);
  if (!std::has_single_bit(static_cast<std::uint64_t>(options.size))) {
    throw base::ConfigError(
        fmt::format("generate: --size: must be a power of 2, got {}", options.size));
  }
  options.box_cells = options.box_cells.value_or(options.size);
  check_box(options.size, *options.box_cells);
  options.voxel = options.voxel.value_or(kSampleSide / static_cast<double>(options.size));
  within("voxel", *options.voxel, Simulator::kLeastVoxel, Simulator::kMostVoxel);
  within("threads", options.threads, 0, 4096);
  if (options.output.empty()) throw base::ConfigError("generate: --output: must not be empty");
  return options;
}

WriterOptions writer_of(const GenerateOptions& options) {
  return {options.size,   *options.box_cells, *options.voxel,
          options.format, options.seed,       base::narrow<int>(options.threads)};
}

staging::GeneratedFolder folder_of(const GenerateOptions& options) {
  return {options.output, kManifest, identity_of(options)};
}

GenerateResult write_all(const GenerateOptions& options, const staging::GeneratedFolder& folder) {
  const std::string part = folder.begin();
  UniverseWriter writer(writer_of(options));
  GenerateResult result;
  for (const Folder& each : folders_of(options)) {
    if (each.samples == 0) continue;
    result.bytes += writer.write(fmt::format("{}/{}", part, each.name), each.split, each.samples);
  }
  result.files = samples_of(options);
  folder.publish({{"files", result.files}, {"bytes", result.bytes}});
  return result;
}

/// Of one file: exact where nothing is compressed, else by the example of a smaller box.
std::int64_t estimated_bytes(const GenerateOptions& options) {
  constexpr std::int64_t kExampleSize = 32;
  const std::int64_t size = std::min(options.size, kExampleSize);
  const dataset::Universe example =
      Simulator(size, *options.voxel).draw(options.seed, Split::kTrain, 0);
  const auto encoded =
      static_cast<std::int64_t>(dataset::encode_universe(example, options.format).size());
  const std::int64_t times = options.size / size, more = times * times * times;
  if (options.format == dataset::UniverseFormat::kTfrecordGzip) return encoded * more;
  const auto counts = static_cast<std::int64_t>(example.counts.size() * sizeof(std::int16_t));
  return encoded + counts * (more - 1);
}

/// Of all threads.
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
  const staging::GeneratedFolder folder = folder_of(options);
  if (!folder.is_there()) return write_all(options, folder);
  const json manifest = folder.manifest();
  return {true, manifest.value("files", std::int64_t{0}), manifest.value("bytes", std::int64_t{0})};
}

json generate_plan(const GenerateOptions& given) {
  const GenerateOptions options = completed(given);
  const staging::GeneratedFolder folder = folder_of(options);
  json plan = identity_of(options);
  plan["output"] = folder.output();
  plan["files"] = samples_of(options);
  plan["estimated_bytes"] = estimated_bytes(options) * samples_of(options);
  plan["memory_bytes"] = memory_bytes(options);
  plan["free_bytes"] = staging::space_near(folder.output()).free_bytes;
  plan["already_there"] = folder.is_there();
  return plan;
}

}  // namespace cosmoflow
