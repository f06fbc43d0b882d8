// Generates learnable synthetic click logs in the Criteo Terabyte benchmark's binary form and as
// text.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runner/base/error.h"
#include "workloads/synthetic/generation.h"

namespace CLI {
class App;
}

namespace dlrm {

struct GenerateOptions : synthetic::GenerateOptions {
  std::int64_t samples = 400'000;       ///< of train.bin
  std::int64_t test_samples = 100'000;  ///< of test.bin
  /// Of val.bin; 0: no val.bin. Default: 50,000, or test_samples with `tsv`.
  std::optional<std::int64_t> validation_samples;
  bool tsv = false;                  ///< also write the samples as text
  std::int64_t dense = 13;           ///< dense features of a sample
  std::vector<std::int64_t> tables;  ///< rows of each table; empty: parse_tables("small")
  double positive_rate = 0.25;       ///< expected fraction of clicks
};

struct GenerateResult {
  bool already_there = false;
  std::int64_t samples = 0, bytes = 0;  ///< of all files
  double bayes_auc = 0.0;               ///< best expected AUC on test.bin
  double entropy_floor = 0.0;           ///< least expected loss on test.bin, in nats
};

/// Writes output/train.bin, test.bin and val.bin, records of int32 (label, counts clamped at 0,
/// ids), and output/manifest.json: options, clicks of each file, bias, bayes_auc and entropy_floor.
/// With `tsv` also writes the same samples as text, output/day_0 to day_23 (ClickText); test and
/// validation samples must then be halves of a day. A sample depends only on (seed, file, index),
/// never on the number of threads or samples. Everything is written to `output`.part, which is
/// renamed when complete; a part left by an interrupted run with the same options is continued. A
/// complete dataset with the same options is not changed. Throws ConfigError for invalid options
/// and when `output` holds anything else, SystemError when writing fails.
GenerateResult generate_clicks(const GenerateOptions& options);

/// What generate_clicks() would do: options, bytes, free bytes, whether the dataset exists already.
nlohmann::json generate_plan(const GenerateOptions& options);

/// Declares the options of `generate dlrm` and returns its action.
std::function<base::ExitCode()> declare_generate(CLI::App& app);

}  // namespace dlrm
