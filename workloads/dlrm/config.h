// The keys of a DLRM configuration beyond those of every workload.
// Hides their names, defaults and checks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runner/base/object_reader.h"
#include "workloads/dlrm/click_data.h"
#include "workloads/dlrm/model.h"
#include "workloads/nn/precision.h"
#include "workloads/optimizer/optimizer.h"
#include "workloads/parallel/hybrid/hybrid_parallel.h"

namespace dlrm {

/// What the rules ask for: an evaluation every floor(samples / (20 global batches)) updates.
inline constexpr std::int64_t kEvaluationsPerEpoch = 20;

struct Config {
  ModelConfig model;
  ClickDataOptions data;  ///< but for the seed
  parallel::EmbeddingConfig embeddings;
  std::int64_t global_batch_size = 0;
  nn::Arithmetic arithmetic;
  std::int64_t epochs = 0;
};

/// Reads model, dataset, staging, embeddings and training. The sections optimizer and schedule are
/// read by nn.
Config parse_config(const base::ObjectReader& root);

/// From the section "optimizer"; without one the benchmark's plain SGD.
std::unique_ptr<nn::Optimizer> make_dense_optimizer(const base::ObjectReader& root);

/// Reads all sections, optimizer and schedule too: what `config` and `--dry-run` check.
void check_config(const base::ObjectReader& root);

}  // namespace dlrm
