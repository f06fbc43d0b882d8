// Comparison with the reference.
// Hides nothing more.
#include "workloads/dlrm/rule_breaks.h"

#include <fmt/format.h>

#include "workloads/dlrm/tables.h"

namespace dlrm {

std::vector<std::string> closed_rule_breaks(const Config& config,
                                            const nn::Hyperparameters& layers) {
  std::vector<std::string> breaks;
  if (config.embeddings.rule != nn::SparseRule::kSgd) {
    breaks.push_back(
        fmt::format("/embeddings/optimizer: the closed division trains tables by sgd, got {}",
                    nn::to_string(config.embeddings.rule)));
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
  if (config.model.tables != parse_tables("criteo")) {
    breaks.emplace_back(
        "/model/tables: the closed division trains all rows of criteo's tables, got others");
  }
  return breaks;
}

}  // namespace dlrm
