// Parsing of an "optimizer" section.
#pragma once

#include <memory>

#include "runner/base/object_reader.h"
#include "workloads/optimizer/adaptive_optimizers.h"
#include "workloads/optimizer/momentum_optimizers.h"

namespace nn {

/// Each reads its keys of an "optimizer" section and throws ConfigError for values out of range.
/// `usual` has the defaults.
SgdConfig parse_sgd(const base::ObjectReader& section, const SgdConfig& usual = {});
LarsConfig parse_lars(const base::ObjectReader& section);
AdagradConfig parse_adagrad(const base::ObjectReader& section);
LambConfig parse_lamb(const base::ObjectReader& section);
/// `epsilon` is the default.
AdamConfig parse_adam(const base::ObjectReader& section, AdamDecay decay, double epsilon = 1e-8);
/// Returns the optimizer that the section's "name" selects: sgd, lars, adagrad, lamb, adam or
/// adamw.
std::unique_ptr<Optimizer> make_optimizer(const base::ObjectReader& section,
                                          const SgdConfig& usual_sgd = {});

}  // namespace nn
