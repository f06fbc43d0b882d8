// Keys of a configuration that several workloads have, and the names of what benches may choose.
// Hides their help texts and checks.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/object_reader.h"
#include "workloads/nn/precision.h"
#include "workloads/nn/recompute.h"

namespace parallel {

template <class Choice>
using Choices = std::vector<std::pair<std::string, Choice>>;

/// How samples are read: of the section "dataset".
struct ReadKeys {
  std::int64_t train_samples = 0, validation_samples = 0;  ///< 0: counted when opened
  std::int64_t shards = 1;
  std::int64_t decode_threads = 0;  ///< per rank; 0: as many as compute threads
  std::int64_t prefetch_batches = 2;
  /// Both sample counts are given, so that files can stay untouched until run_start.
  bool counts_known() const { return train_samples > 0 && validation_samples > 0; }
  /// Threads of a rank that decode beside `compute_threads`.
  int decoders(int compute_threads) const {
    return decode_threads > 0 ? static_cast<int>(decode_threads) : compute_threads;
  }
};

/// How samples become updates: of the section "training".
struct UpdateKeys {
  std::int64_t global_batch_size = 0;
  std::int64_t gradient_accumulation_steps = 1;
  std::int64_t pass_samples() const { return global_batch_size / gradient_accumulation_steps; }
};

/// What `keys` hold are the defaults, both. Throw ConfigError; of the second, also where the batch
/// does not divide into its passes.
void parse_read_keys(const base::ObjectReader& dataset, ReadKeys& keys);
void parse_update_keys(const base::ObjectReader& training, UpdateKeys& keys);

Choices<nn::Precision> precisions();
Choices<nn::Products> products();
Choices<nn::Recompute> recomputes();
/// By the keys "precision", which is f32 by default, and "products".
nn::Arithmetic parse_arithmetic(const base::ObjectReader& training);
/// The same, and by the key "methods", of networks with convolutions.
nn::Arithmetic parse_convolution_arithmetic(const base::ObjectReader& training);
/// By the key "recompute".
nn::Recompute parse_recompute(const base::ObjectReader& training, nn::Recompute fallback);

/// Throws ConfigError where the training set is smaller than one update; train_samples 0: unknown.
void check_batch_fits(const base::ObjectReader& root, std::int64_t global_batch_size,
                      std::int64_t train_samples);

/// What `name` means as the value of a bench's option; throws ConfigError that tells `where`
/// ("bench dlrm: --alltoall") and all choices.
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
