// Configuration keys that several workloads share, and the names of choices in configurations and
// bench options. Hides their help texts and checks.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/object_reader.h"
#include "workloads/nn/precision.h"
#include "workloads/nn/recompute.h"
#include "workloads/parallel/gradient_travel.h"

namespace parallel {

template <class Choice>
using Choices = std::vector<std::pair<std::string, Choice>>;

/// How samples are read: keys of the section "dataset".
struct ReadKeys {
  std::int64_t train_samples = 0, validation_samples = 0;  ///< 0: unknown until opened
  std::int64_t shards = 1;
  std::int64_t decode_threads = 0;  ///< per rank; 0: the number of compute threads
  std::int64_t prefetch_batches = 2;
  /// Whether both sample counts are given, so that no file need be accessed before run_start.
  bool counts_known() const { return train_samples > 0 && validation_samples > 0; }
  /// Decoding threads of a rank with `compute_threads` compute threads.
  int decoders(int compute_threads) const {
    return decode_threads > 0 ? static_cast<int>(decode_threads) : compute_threads;
  }
};

/// How samples are grouped into updates: keys of the section "training".
struct UpdateKeys {
  std::int64_t global_batch_size = 0;
  std::int64_t gradient_accumulation_steps = 1;
  std::int64_t pass_samples() const { return global_batch_size / gradient_accumulation_steps; }
};

/// Read the keys; the values in `keys` are the defaults. Throw ConfigError for invalid values, and
/// parse_update_keys() if the batch does not divide by the accumulation steps.
void parse_read_keys(const base::ObjectReader& dataset, ReadKeys& keys);
void parse_update_keys(const base::ObjectReader& training, UpdateKeys& keys);
/// Reads the key "cache_bytes" (default 0): memory of a rank for decoded samples.
std::int64_t parse_cache_bytes(const base::ObjectReader& dataset);

Choices<nn::Precision> precisions();
Choices<nn::Products> products();
Choices<nn::Recompute> recomputes();
/// Reads the keys "precision" (default f32) and "products".
nn::Arithmetic parse_arithmetic(const base::ObjectReader& training);
/// For networks with convolutions: also reads the key "methods".
nn::Arithmetic parse_convolution_arithmetic(const base::ObjectReader& training);
/// Reads the keys "gradient_payload", "gradient_density", "error_feedback", "divided_update",
/// "late_update" and "gradient_piece_kib".
GradientTravel parse_gradient_travel(const base::ObjectReader& training);
/// Reads the key "recompute".
nn::Recompute parse_recompute(const base::ObjectReader& training, nn::Recompute fallback);

/// Throws ConfigError if the training set is smaller than one update. train_samples is 0 if
/// unknown.
void check_batch_fits(const base::ObjectReader& root, std::int64_t global_batch_size,
                      std::int64_t train_samples);

/// The choice called `name`, the value of a bench's option. Throws ConfigError, which states
/// `where` ("bench dlrm: --alltoall") and the names of all choices.
template <class Choice>
Choice named(const std::string& where, const std::string& name, const Choices<Choice>& choices) {
  std::string names;
  for (const auto& [known, choice] : choices) {
    if (known == name) return choice;
    names += (names.empty() ? "" : ", ") + known;
  }
  throw base::ConfigError(where + ": expected one of " + names + ", got " + name);
}

}  // namespace parallel
