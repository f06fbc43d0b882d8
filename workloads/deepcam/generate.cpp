// A learnable synthetic dataset in the DeepCAM benchmark's on-disk format.
#include "workloads/deepcam/generate.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "runner/base/narrow.h"
#include "runner/base/system_facts.h"
#include "staging/dataset/climate.h"
#include "staging/generated_files.h"
#include "staging/generated_folder.h"
#include "workloads/deepcam/climate_writer.h"

namespace deepcam {
namespace {

using nlohmann::json;
using synthetic::check_within;

/// To be raised whenever the same options give other bytes.
constexpr int kVersion = 1;

std::int64_t samples_of(const GenerateOptions& options) {
  return options.train_samples + options.validation_samples;
}

staging::GeneratedFolder folder_of(const GenerateOptions& options) {
  return {options.output, "manifest.json",
          json{{"generator", "trainmark generate deepcam"},
               {"version", kVersion},
               {"train_samples", options.train_samples},
               {"validation_samples", options.validation_samples},
               {"height", options.height},
               {"width", options.width},
               {"seed", options.seed}}};
}

void check_extent(const char* option, std::int64_t extent) {
  constexpr std::int64_t kMost = 4096;
  check_within(option, extent, ClimateFields::kStep, kMost);
  if (extent % ClimateFields::kStep == 0) return;
  throw base::ConfigError(fmt::format("generate: --{}: must be a multiple of {}, got {}", option,
                                      ClimateFields::kStep, extent));
}

void check(const GenerateOptions& options) {
  constexpr std::int64_t kMostSamples = 1'000'000;  // file names have 6 digits
  check_within<std::int64_t>("train-samples", options.train_samples, 1, kMostSamples);
  check_within<std::int64_t>("validation-samples", options.validation_samples, 0, kMostSamples);
  check_extent("height", options.height);
  check_extent("width", options.width);
  synthetic::check_usual_options(options);
}

GenerateResult write_all(const GenerateOptions& options, const std::string& part) {
  ClimateWriter writer(
      {options.height, options.width, options.seed, base::narrow<int>(options.threads)});
  const WrittenFolder train =
      writer.write(part + "/train", SampleSet::kTrain, options.train_samples);
  staging::write_generated(part + "/stats.h5", dataset::encode_climate_statistics(train.summary));
  GenerateResult result;
  result.files = samples_of(options);
  result.bytes = train.bytes;
  if (options.validation_samples > 0) {
    result.bytes +=
        writer.write(part + "/validation", SampleSet::kValidation, options.validation_samples)
            .bytes;
  }
  return result;
}

/// Size of one file: its values, its labels, and headers of constant size.
std::int64_t file_bytes(const GenerateOptions& options) {
  const auto bytes_of = [](std::int64_t height, std::int64_t width) {
    return height * width *
           (dataset::kClimateChannels * static_cast<std::int64_t>(sizeof(float)) +
            static_cast<std::int64_t>(sizeof(std::int64_t)));
  };
  dataset::ClimateSample least{1, 1, dataset::kClimateChannels, {}, {0}};
  least.values.resize(static_cast<std::size_t>(least.channels));
  return static_cast<std::int64_t>(dataset::encode_climate(least).size()) - bytes_of(1, 1) +
         bytes_of(options.height, options.width);
}

}  // namespace

GenerateResult generate_climate(const GenerateOptions& options) {
  check(options);
  return synthetic::generate_once(
      folder_of(options), [&](const std::string& part) { return write_all(options, part); });
}

json generate_plan(const GenerateOptions& options) {
  check(options);
  const std::int64_t samples = samples_of(options);
  const std::int64_t threads = options.threads > 0 ? options.threads : base::usable_cpus();
  json plan = synthetic::plan_of(folder_of(options), samples, file_bytes(options) * samples);
  plan["memory_bytes"] = threads * ClimateWriter::thread_bytes(options.height, options.width);
  return plan;
}

}  // namespace deepcam
