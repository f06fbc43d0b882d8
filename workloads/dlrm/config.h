// The configuration keys of DLRM beyond those of every workload.
// Hides their names and checks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runner/base/object_reader.h"
#include "workloads/dlrm/click_data.h"
#include "workloads/dlrm/model.h"
#include "workloads/nn/precision.h"
#include "workloads/optimizer/optimizer.h"
#include "workloads/parallel/gradient_travel.h"
#include "workloads/parallel/hybrid/hybrid_parallel.h"

namespace dlrm {

/// Required by the rules: an evaluation every floor(samples / (20 * global batch)) updates.
inline constexpr std::int64_t kEvaluationsPerEpoch = 20;

struct Config {
  ModelConfig model;
  ClickDataOptions data;  ///< except the seed
  parallel::EmbeddingConfig embeddings;
  std::int64_t global_batch_size = 0;
  nn::Arithmetic arithmetic;
  parallel::GradientTravel gradients;  ///< between nodes
  std::int64_t epochs = 0;
};

/// Reads the epochs and the sections model, dataset, staging, embeddings and training. Throws
/// ConfigError.
Config parse_config(const base::ObjectReader& root);

/// Makes the optimizer of the section "optimizer"; without the section, the benchmark's plain SGD.
std::unique_ptr<nn::Optimizer> make_dense_optimizer(const base::ObjectReader& root);

/// Reads all sections, including optimizer and schedule, for `config` and `--dry-run`. Throws
/// ConfigError.
void check_config(const base::ObjectReader& root);

}  // namespace dlrm
