// Batch norm with residual sum and ReLU, by plain loops in double precision.
#pragma once

#include "workloads/nn/plain_network.h"

namespace plain {

/// Writes dst, and adds to the running statistics in `pass`; residual may be null.
void batch_norm(const nn::Operation& op, const std::vector<Array>& parameters,
                const Options& options, const Array& src, const Array* residual, Array& dst,
                Pass& pass);
/// Adds to diff_src, to diff_residual unless null, and to the parameters' gradients in `pass`.
void batch_norm_backward(const nn::Operation& op, const std::vector<Array>& parameters,
                         const Options& options, const Array& src, const Array& dst,
                         const Array& diff_dst, Array& diff_src, Array* diff_residual, Pass& pass);

}  // namespace plain
