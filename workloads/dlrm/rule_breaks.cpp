// Compares a configuration with the reference.
#include "workloads/dlrm/rule_breaks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "staging/dataset/criteo.h"
#include "workloads/dlrm/tables.h"

namespace dlrm {
namespace {

void compare_training(const Config& config, const nn::Hyperparameters& layers,
                      std::vector<std::string>& breaks) {
  if (config.embeddings.rule != nn::SparseRule::kSgd) {
    breaks.push_back(
        fmt::format("/embeddings/optimizer: the closed division trains tables by sgd, got {}",
                    nn::to_string(config.embeddings.rule)));
  }
  if (config.embeddings.learning_rate_factor != 1.0) {
    breaks.push_back(
        fmt::format("/embeddings/learning_rate_factor: the closed division trains tables and "
                    "layers at one rate, got {}",
                    config.embeddings.learning_rate_factor));
  }
  if (layers.name != "sgd") {
    breaks.push_back(fmt::format(
        "/optimizer/name: the closed division trains layers by sgd, got {}", layers.name));
  }
  if (layers.momentum != 0.0) {
    breaks.push_back(
        fmt::format("/optimizer/momentum: the closed division has none, got {}", layers.momentum));
  }
  if (layers.weight_decay != 0.0) {
    breaks.push_back(fmt::format("/optimizer/weight_decay: the closed division has none, got {}",
                                 layers.weight_decay));
  }
}

void compare_model(const ModelConfig& model, std::vector<std::string>& breaks) {
  const ModelConfig reference;  // the defaults, except the tables, are the reference's
  const auto compare = [&](const char* what, const auto& expected, const auto& found) {
    if (found == expected) return;
    breaks.push_back(
        fmt::format("/model/{}: the closed division has {}, got {}", what, expected, found));
  };
  compare("dense_features", reference.dense_features, model.dense_features);
  compare("embedding_width", reference.embedding_width, model.embedding_width);
  compare("bottom", reference.bottom, model.bottom);
  compare("top", reference.top, model.top);
  if (model.tables != parse_tables("criteo")) {
    breaks.emplace_back(
        "/model/tables: the closed division trains all rows of criteo's tables, got others");
  }
}

/// Unreduced ids (0) are equivalent: all of criteo's tables have fewer rows than the modulus.
void compare_ids(std::int64_t range, std::vector<std::string>& breaks) {
  if (range == 0 || range == dataset::kCriteoIndRange) return;
  breaks.push_back(
      fmt::format("/dataset/max_ind_range: the closed division takes ids modulo {}, or as they "
                  "are (0), got {}",
                  dataset::kCriteoIndRange, range));
}

}  // namespace

std::vector<std::string> closed_rule_breaks(const Config& config,
                                            const nn::Hyperparameters& layers) {
  std::vector<std::string> breaks;
  compare_training(config, layers, breaks);
  compare_model(config.model, breaks);
  compare_ids(config.data.ids.max_ind_range, breaks);
  return breaks;
}

}  // namespace dlrm
