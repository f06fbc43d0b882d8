// Which float convolutions the bf16x3 split (Bf16x3Gemm) supports.
#pragma once

#include "workloads/nn/planner.h"
#include "workloads/nn/products/convolution_problem.h"

namespace nn {

/// Whether the split supports the problem: values in blocks of 16 channels, weights as
/// tiled_weights_desc(), no bias, not atrous. Needs CpuProducts::uses_bf16x3(): AMX tiles, and
/// no request to multiply floats themselves.
bool supports_bf16x3(const ConvolutionProblem& problem, const ConvolutionLayouts& layouts,
                     const Planner& planner);

}  // namespace nn
