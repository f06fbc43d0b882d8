// How layers that multiply no matrices are made.
#pragma once

#include <memory>

#include "workloads/nn/layer.h"

namespace nn {

/// Of one output, which the library's products are slow at; the network's last.
std::unique_ptr<Layer> make_projection(const Operation& operation, Planner& planner);
std::unique_ptr<Layer> make_interaction(const Operation& operation, Planner& planner);
std::unique_ptr<Layer> make_batch_norm(const Operation& operation, Planner& planner);
std::unique_ptr<Layer> make_max_pool(const Operation& operation, Planner& planner);
std::unique_ptr<Layer> make_concatenation(const Operation& operation, Planner& planner);
std::unique_ptr<Layer> make_spread(const Operation& operation, Planner& planner);
std::unique_ptr<Layer> make_gather_volume(const Operation& operation, Planner& planner);
std::unique_ptr<Layer> make_activation(const Operation& operation, Planner& planner);
std::unique_ptr<Layer> make_global_average_pool(const Operation& operation, Planner& planner);

}  // namespace nn
