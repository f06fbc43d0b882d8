// Convolutions of volumes with their maxima, activations, and weights in Keras's order, by plain
// loops in double precision.
#pragma once

#include "workloads/nn/plain_network.h"

namespace plain {

/// The output of a convolution_pool for src [N, in, voxels]: [N, out, voxels / 8], or [N, voxels /
/// 8, out] if it gives a vector. Weights [27, in, out].
Array volume_values(const nn::Network& net, const nn::Operation& op,
                    const std::vector<Array>& parameters, const Array& src, std::int64_t batch);
/// Adds to diff_src and to the parameters' gradients in `pass`.
void volume_backward(const nn::Network& net, const nn::Operation& op,
                     const std::vector<Array>& parameters, const Array& src, const Array& diff_dst,
                     std::int64_t batch, Array& diff_src, Pass& pass);

double activated(const nn::Operation& op, double x);
double activation_slope(const nn::Operation& op, double x);

/// Converts a fully connected operation's weights to [out, in], and back to the operation's own
/// order.
Array outputs_first(const nn::Operation& op, const Array& weights);
Array inputs_first(const nn::Operation& op, const Array& weights);

}  // namespace plain
