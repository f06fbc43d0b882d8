// Which convolutions of floats can be made of three bfloat16 numbers each (Bf16x3Gemm).
#pragma once

#include "workloads/nn/planner.h"
#include "workloads/nn/products/convolution_problem.h"

namespace nn {

/// Whether values and weights stand as such products read them: in blocks of 16 channels, and as
/// tiled_weights_desc() has them. They are made on CPUs with matrix tiles, unless floats themselves
/// are to be multiplied.
bool has_parts(const ConvolutionProblem& problem, const ConvolutionLayouts& layouts,
               const Planner& planner);

}  // namespace nn
