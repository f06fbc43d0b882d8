// Volumes' convolutions with their maxima, activations, and weights in Keras's order, by plain
// loops in double precision. Hides nothing.
#pragma once

#include "workloads/nn/plain_network.h"

namespace plain {

/// What a convolution_pool makes of src [N, in, points]: [N, out, points / 8], or where it gives a
/// vector [N, points / 8, out]. Weights [27, in, out].
Array volume_values(const nn::Network& net, const nn::Operation& op,
                    const std::vector<Array>& parameters, const Array& src, std::int64_t batch);
/// Adds to diff_src and to the parameters' gradients in `pass`.
void volume_backward(const nn::Network& net, const nn::Operation& op,
                     const std::vector<Array>& parameters, const Array& src, const Array& diff_dst,
                     std::int64_t batch, Array& diff_src, Pass& pass);

double activated(const nn::Operation& op, double x);
double activation_slope(const nn::Operation& op, double x);

/// A fully connected operation's weights as [out, in], and such back in the operation's own order.
Array outputs_first(const nn::Operation& op, const Array& weights);
Array inputs_first(const nn::Operation& op, const Array& weights);

}  // namespace plain
