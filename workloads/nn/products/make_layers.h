// Factories of convolution and fully connected layers.
#pragma once

#include <memory>

#include "workloads/nn/layer.h"

namespace nn {

/// Convolutions, also depthwise and transposed ones, by the method table.
std::unique_ptr<Layer> make_convolution(const Operation& operation, Planner& planner);
/// Fully connected layers after pixel layers.
std::unique_ptr<Layer> make_dense(const Operation& operation, Planner& planner);
/// Fully connected layers of perceptrons, in the layouts that oneDNN prefers.
std::unique_ptr<Layer> make_inner_product(const Operation& operation, Planner& planner);
std::unique_ptr<Layer> make_convolution_pool(const Operation& operation, Planner& planner);
std::unique_ptr<Layer> make_depthwise(const Operation& operation, Planner& planner);
/// A transposed convolution that ends a network, usually to few channels. It gives floats, for a
/// loss to read.
std::unique_ptr<Layer> make_narrow(const Operation& operation, Planner& planner);

}  // namespace nn
