// Learnable synthetic click logs in the Criteo Terabyte benchmark's binary form, and as text.
// Hides drawing, threads, and how an interrupted run goes on.
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
  /// Of val.bin; 0: there is none. Not given: 50,000, or with `tsv` as many as test_samples.
  std::optional<std::int64_t> validation_samples;
  bool tsv = false;  ///< write the samples as text, too
  std::int64_t dense = 13;
  std::vector<std::int64_t> tables;  ///< rows of each; empty: parse_tables("small")
  double positive_rate = 0.25;       ///< that the labels are drawn for
};

struct GenerateResult {
  bool already_there = false;
  std::int64_t samples = 0, bytes = 0;  ///< of all files
  double bayes_auc = 0.0;               ///< best AUC that can be expected on test.bin
  double entropy_floor = 0.0;           ///< least loss that can be expected there, in nats
};

/// Writes output/train.bin, test.bin and val.bin, records of int32 (label, counts clamped at 0,
/// ids), and output/manifest.json: options, clicks of each file, bias, and what can be reached on
/// the test file. With `tsv` also the same samples as text, output/day_0 to day_23 (ClickText);
/// test and validation samples must then be halves of a day. A sample depends on (seed, file,
/// index) alone, never on threads or on how many there are. All is written to `output`.part and
/// renamed when whole; a part that an interrupted run with the same options left is continued. A
/// whole dataset of the same options is left as it is. Throws ConfigError for bad options and when
/// something else is in the way, SystemError when writing fails.
GenerateResult generate_clicks(const GenerateOptions& options);

/// What generate_clicks would do: samples, bytes, free bytes, whether it is there already.
nlohmann::json generate_plan(const GenerateOptions& options);

/// Declares the options of `generate dlrm` and gives the action.
std::function<base::ExitCode()> declare_generate(CLI::App& app);

}  // namespace dlrm
