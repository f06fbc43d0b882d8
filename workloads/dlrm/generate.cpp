// Generates synthetic click logs: files and manifest.
#include "workloads/dlrm/generate.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "runner/base/narrow.h"
#include "staging/generated_folder.h"
#include "staging/space.h"
#include "workloads/dlrm/click_text.h"
#include "workloads/dlrm/click_writer.h"
#include "workloads/dlrm/tables.h"

namespace dlrm {
namespace {

using nlohmann::json;

constexpr const char* kManifest = "manifest.json";
/// Increment whenever the same options produce other bytes.
constexpr int kVersion = 1;

struct File {
  const char* name;  ///< without ".bin"
  ClickSplit split;
  std::int64_t samples;
};

SplitSizes sizes_of(const GenerateOptions& options) {
  return {options.samples, options.test_samples, options.validation_samples.value()};
}

/// The test file is last, since a continued run writes it again from the start: its best AUC and
/// loss are computed while its samples are drawn.
std::vector<File> files_of(const GenerateOptions& options) {
  const SplitSizes sizes = sizes_of(options);
  std::vector<File> files = {{"train", ClickSplit::kTrain, sizes.train}};
  if (sizes.validation > 0) files.push_back({"val", ClickSplit::kValidation, sizes.validation});
  files.push_back({"test", ClickSplit::kTest, sizes.test});
  return files;
}

PlantedShape shape_of(const GenerateOptions& options) {
  return {options.dense, options.tables, options.positive_rate, options.seed};
}

json identity_of(const GenerateOptions& options) {
  return {{"generator", "trainmark generate dlrm"},
          {"version", kVersion},
          {"samples", options.samples},
          {"test_samples", options.test_samples},
          {"validation_samples", options.validation_samples.value()},
          {"tsv", options.tsv},
          {"dense", options.dense},
          {"tables", options.tables},
          {"positive_rate", options.positive_rate},
          {"seed", options.seed}};
}

/// `options` with defaults filled in. Throws ConfigError for options that cannot be generated.
GenerateOptions completed(GenerateOptions options) {
  constexpr std::int64_t kValidationSamples = 50'000;
  const auto within = synthetic::check_within<std::int64_t>;
  within("samples", options.samples, 1, dataset::kMostClicks);
  within("test-samples", options.test_samples, 2, dataset::kMostClicks);  // an AUC needs a pair
  if (!options.validation_samples) {
    options.validation_samples = options.tsv ? options.test_samples : kValidationSamples;
  }
  within("validation-samples", *options.validation_samples, 0, dataset::kMostClicks);
  if (options.tsv && !are_halves(sizes_of(options))) {
    throw base::ConfigError(fmt::format(
        "generate: --validation-samples: with --tsv, whose last day is cut in halves, must be {} "
        "or {} for {} test samples, got {}",
        options.test_samples, options.test_samples - 1, options.test_samples,
        *options.validation_samples));
  }
  synthetic::check_usual_options(options);
  if (options.tables.empty()) options.tables = parse_tables("small");
  check_planted_shape(shape_of(options));
  if (options.tsv) check_text_shape(shape_of(options));
  return options;
}

std::int64_t samples_of(const GenerateOptions& options) {
  const SplitSizes sizes = sizes_of(options);
  return sizes.train + sizes.test + sizes.validation;
}

dataset::ClickFormat format_of(const GenerateOptions& options) {
  return {options.dense, static_cast<std::int64_t>(options.tables.size())};
}

/// Bytes of the binary files.
std::int64_t bytes_of(const GenerateOptions& options) {
  return samples_of(options) * format_of(options).record_bytes();
}

staging::GeneratedFolder folder_of(const GenerateOptions& options) {
  return {options.output, kManifest, identity_of(options)};
}

void write_all(const GenerateOptions& options, const staging::GeneratedFolder& folder) {
  const std::string part = folder.begin();
  const int threads = base::narrow<int>(options.threads);
  const PlantedModel model(shape_of(options), threads);
  const ClickWriter writer(model, threads);
  LogitHistogram judge;
  json clicks, rates;
  for (const File& file : files_of(options)) {
    const std::int64_t found =
        writer.write(fmt::format("{}/{}.bin", part, file.name), file.split, file.samples,
                     file.split == ClickSplit::kTest ? &judge : nullptr);
    clicks[file.name] = found;
    rates[file.name] = static_cast<double>(found) / static_cast<double>(file.samples);
  }
  const std::int64_t text_bytes =
      options.tsv ? ClickText(model, threads).write(part, sizes_of(options)) : 0;
  folder.publish({{"bytes", bytes_of(options) + text_bytes},
                  {"bias", model.bias()},
                  {"clicks", clicks},
                  {"click_rates", rates},
                  {"bayes_auc", judge.bayes_auc()},
                  {"entropy_floor", judge.entropy()}});
}

}  // namespace

GenerateResult generate_clicks(const GenerateOptions& given) {
  const GenerateOptions options = completed(given);
  const staging::GeneratedFolder folder = folder_of(options);
  GenerateResult result;
  result.already_there = folder.is_there();
  if (!result.already_there) write_all(options, folder);
  const json manifest = folder.manifest();
  result.samples = samples_of(options);
  result.bytes = manifest.value("bytes", std::int64_t{0});
  result.bayes_auc = manifest.value("bayes_auc", 0.0);
  result.entropy_floor = manifest.value("entropy_floor", 0.0);
  return result;
}

json generate_plan(const GenerateOptions& given) {
  const GenerateOptions options = completed(given);
  const staging::GeneratedFolder folder = folder_of(options);
  json plan = identity_of(options);
  plan["output"] = folder.output();
  plan["bytes"] = bytes_of(options);
  if (options.tsv) {
    plan["text_bytes_at_most"] = samples_of(options) * most_line_bytes(format_of(options));
  }
  plan["free_bytes"] = staging::space_near(folder.output()).free_bytes;
  plan["already_there"] = folder.is_there();
  return plan;
}

}  // namespace dlrm
