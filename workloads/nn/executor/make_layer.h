// The layer that an operation needs.
#pragma once

#include <memory>

#include "workloads/nn/layer.h"

namespace nn {

std::unique_ptr<Layer> make_layer(const Operation& operation, Planner& planner);

}  // namespace nn
