// What every generator of a dataset does: checks its options, plans, and writes once.
// Hides the folder's life.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "runner/base/error.h"
#include "staging/generated_folder.h"

namespace synthetic {

/// Options that every generator has.
struct GenerateOptions {
  std::string output;
  std::uint64_t seed = 1;
  std::int64_t threads = 0;  ///< 0: the CPUs that this process may use
};

struct GenerateResult {
  bool already_there = false;
  std::int64_t files = 0, bytes = 0;  ///< samples, and their size
};

/// Leaves a whole dataset of the folder's identity as it is. Else has `write` fill the folder that
/// it is given, which may hold what an interrupted run left, and publishes it. `write` returns
/// files and bytes. Throws as GeneratedFolder and `write` do.
GenerateResult generate_once(const staging::GeneratedFolder& folder,
                             const std::function<GenerateResult(const std::string& part)>& write);

/// What generating would do: the identity, files, estimated bytes, free bytes, whether it is there
/// already.
nlohmann::json plan_of(const staging::GeneratedFolder& folder, std::int64_t files,
                       std::int64_t estimated_bytes);

/// Throws ConfigError naming the option unless low <= value <= high.
template <class T>
void check_within(const char* option, T value, T low, T high) {
  if (value >= low && value <= high) return;
  throw base::ConfigError(
      fmt::format("generate: --{}: must be {} to {}, got {}", option, low, high, value));
}
/// Throws ConfigError for what no generator takes.
void check_usual_options(const GenerateOptions& options);

}  // namespace synthetic
