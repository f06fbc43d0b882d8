// How convolutions and fully connected layers are made.
#pragma once

#include <memory>

#include "workloads/nn/layer.h"

namespace nn {

/// Also depthwise and transposed ones: by the table of methods.
std::unique_ptr<Layer> make_convolution(const Operation& operation, Planner& planner);
/// Fully connected layers behind layers of pixels.
std::unique_ptr<Layer> make_dense(const Operation& operation, Planner& planner);
/// Fully connected layers of perceptrons: as fast as the library's layouts make them.
std::unique_ptr<Layer> make_inner_product(const Operation& operation, Planner& planner);
std::unique_ptr<Layer> make_convolution_pool(const Operation& operation, Planner& planner);
std::unique_ptr<Layer> make_depthwise(const Operation& operation, Planner& planner);
/// The network's last, to few channels as a rule: gives floats, for a loss to read.
std::unique_ptr<Layer> make_narrow(const Operation& operation, Planner& planner);

}  // namespace nn
