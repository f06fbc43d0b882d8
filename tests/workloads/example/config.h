// The keys of an example configuration beyond those of every workload, and the example's network.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runner/base/object_reader.h"
#include "staging/staging_config.h"
#include "workloads/nn/network.h"
#include "workloads/optimizer/optimizer.h"
#include "workloads/optimizer/optimizer_config.h"
#include "workloads/parallel/data_parallel.h"
#include "workloads/parallel/training_keys.h"

namespace example {

inline constexpr std::int64_t kUsualHidden = 16;

struct Config : parallel::UpdateKeys {
  std::string train, validation;  ///< files of points
  parallel::ReadKeys read;
  staging::StagingConfig staging;
  std::int64_t epochs = 0;
  std::int64_t hidden = kUsualHidden;  ///< outputs of the first layer
  double learning_rate = 0.1;
};

/// Parses all sections but the optimizer's own keys.
Config parse_config(const base::ObjectReader& root);
std::unique_ptr<nn::Optimizer> make_optimizer(const base::ObjectReader& root);
/// Parses all sections, for `config` and `--dry-run`.
void check_config(const base::ObjectReader& root);

nn::Network build_network(std::int64_t hidden);
parallel::DataParallelConfig training_of(const Config& config);

}  // namespace example
