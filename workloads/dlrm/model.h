// The recommendation model: two perceptrons, embedding tables, and the dot interaction between.
// Hides layer names and how first weights are drawn.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runner/base/object_reader.h"
#include "workloads/nn/network.h"
#include "workloads/parallel/hybrid/table_placement.h"

namespace dlrm {

struct ModelConfig {
  std::int64_t dense_features = 13;
  std::int64_t embedding_width = 128;
  std::vector<std::int64_t> bottom = {512, 256, 128};  ///< outputs of each layer, all with a ReLU
  std::vector<std::int64_t> top = {1024, 1024, 512, 256, 1};  ///< a ReLU after all but the last
  std::vector<std::int64_t> tables;                           ///< rows of each
  std::int64_t lookups = 1;  ///< rows that a sample adds up, of every table

  /// Of all tables and layers.
  std::int64_t parameter_count() const;
};

/// Reads the section "model". Throws ConfigError.
ModelConfig parse_model(const base::ObjectReader& section);

/// Inputs: dense features [N, dense], then embeddings [N, tables * width]. Parameters have the
/// reference's names: bot_l.0.weight, bot_l.2.weight ..., top_l.0.weight ...; what it gives are
/// logits [N, 1].
/// Source: Naumov et al., arXiv:1906.00091; facebookresearch/dlrm, branch mlperf.
nn::Network build_network(const ModelConfig& model);

/// The tables under the reference's names, emb_l.0.weight ...
std::vector<parallel::TableSpec> table_specs(const ModelConfig& model);

/// What MLPerf's weights_initialization is asked for.
std::vector<std::string> mlperf_tensor_names(const ModelConfig& model);

}  // namespace dlrm
