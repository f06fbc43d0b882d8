// Shared steps of all dataset generators: checking options, planning, and writing once.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "runner/base/error.h"
#include "staging/generated_folder.h"

namespace synthetic {

/// Options of every generator.
struct GenerateOptions {
  std::string output;
  std::uint64_t seed = 1;
  std::int64_t threads = 0;  ///< 0: the CPUs that this process may use
};

struct GenerateResult {
  bool already_there = false;
  std::int64_t files = 0, bytes = 0;  ///< number of samples, and their total size
};

/// Leaves a complete dataset of the folder's identity unchanged. Otherwise `write` fills the folder
/// that it is given, which may hold files of an interrupted run, and returns files and bytes; then
/// the folder is published. Throws as GeneratedFolder and `write` do.
GenerateResult generate_once(const staging::GeneratedFolder& folder,
                             const std::function<GenerateResult(const std::string& part)>& write);

/// The plan of a dry run: the identity, files, estimated bytes, free bytes, and whether the dataset
/// exists.
nlohmann::json plan_of(const staging::GeneratedFolder& folder, std::int64_t files,
                       std::int64_t estimated_bytes);

/// Throws ConfigError naming the option unless low <= value <= high.
template <class T>
void check_within(const char* option, T value, T low, T high) {
  if (value >= low && value <= high) return;
  throw base::ConfigError(
      fmt::format("generate: --{}: must be {} to {}, got {}", option, low, high, value));
}
/// Throws ConfigError for invalid values of the common options.
void check_usual_options(const GenerateOptions& options);

}  // namespace synthetic
