// What the bench prints and writes of a plan.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "workloads/parallel/split_layers/planner.h"

namespace split_layers_bench {

/// A line for each layer: how it is distributed, and what its best alternative would add.
std::string plan_text(const std::string& network, const parallel::SplitPlan& plan,
                      std::int64_t samples, int ranks);

/// Layers with all their alternatives, exchanges of activations, bytes; see plan_definitions().
nlohmann::json plan_json(const parallel::Chain& chain, const parallel::SplitPlan& plan,
                         std::int64_t samples, int ranks);
nlohmann::json plan_definitions();

}  // namespace split_layers_bench
