// The recommendation model: two perceptrons, embedding tables, and the dot interaction between.
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
  std::vector<std::int64_t> tables;                           ///< rows of each table
  std::int64_t lookups = 1;  ///< rows of each table that are summed per sample

  /// Parameters of all tables and layers.
  std::int64_t parameter_count() const;
};

/// Reads the section "model". Throws ConfigError.
ModelConfig parse_model(const base::ObjectReader& section);

/// The network without tables. Inputs: dense features [N, dense], then embeddings
/// [N, tables * width]. Output: logits [N, 1]. Parameters have the reference's names:
/// bot_l.0.weight, bot_l.2.weight ..., top_l.0.weight ...
/// Source: Naumov et al., arXiv:1906.00091; facebookresearch/dlrm, branch mlperf.
nn::Network build_network(const ModelConfig& model);

/// The tables under the reference's names, emb_l.0.weight ...
std::vector<parallel::TableSpec> table_specs(const ModelConfig& model);

/// The tensor names that MLPerf's rules want logged as weights_initialization.
std::vector<std::string> mlperf_tensor_names(const ModelConfig& model);

}  // namespace dlrm
