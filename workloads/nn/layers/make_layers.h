// Factories of the layers that multiply no matrices.
#pragma once

#include <memory>

#include "workloads/nn/layer.h"

namespace nn {

/// A fully connected layer with one output, the network's last; oneDNN is slow at these.
std::unique_ptr<Layer> make_projection(const Operation& operation, Planner& planner);
std::unique_ptr<Layer> make_interaction(const Operation& operation, Planner& planner);
std::unique_ptr<Layer> make_biased(const Operation& operation, Planner& planner);
std::unique_ptr<Layer> make_sum(const Operation& operation, Planner& planner);
std::unique_ptr<Layer> make_response_norm(const Operation& operation, Planner& planner);
std::unique_ptr<Layer> make_flatten(const Operation& operation, Planner& planner);
std::unique_ptr<Layer> make_batch_norm(const Operation& operation, Planner& planner);
std::unique_ptr<Layer> make_max_pool(const Operation& operation, Planner& planner);
std::unique_ptr<Layer> make_concatenation(const Operation& operation, Planner& planner);
std::unique_ptr<Layer> make_spread(const Operation& operation, Planner& planner);
std::unique_ptr<Layer> make_gather_volume(const Operation& operation, Planner& planner);
std::unique_ptr<Layer> make_activation(const Operation& operation, Planner& planner);
std::unique_ptr<Layer> make_global_average_pool(const Operation& operation, Planner& planner);

}  // namespace nn
