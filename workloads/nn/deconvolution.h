// What transposed convolutions of many and of few channels share.
// Hides nothing.
#pragma once

#include <memory>
#include <string>

#include "workloads/nn/layer.h"

namespace nn {

/// For messages.
std::string described_deconvolution(const Operation& operation, const Planner& planner);

/// The network's last, to few channels as a rule: gives floats, for a loss to read.
std::unique_ptr<Layer> make_narrow_deconvolution(const Operation& operation, Planner& planner);

}  // namespace nn
