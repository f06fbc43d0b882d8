// Operations on images that others do not have, by plain loops in double precision.
// Hides nothing.
#pragma once

#include "workloads/nn/plain_network.h"

namespace plain {

/// Whether it is a depthwise or transposed convolution, a concatenation, or a spread vector.
bool is_of_images(const nn::Operation& op);

/// What such an operation makes. sources: src and the others.
Array image_values(const nn::Network& net, const nn::Operation& op,
                   const std::vector<Array>& parameters, const std::vector<const Array*>& sources,
                   std::int64_t batch);
/// Adds to diff_sources, as many as sources, and to the parameters' gradients in `pass`.
void image_backward(const nn::Network& net, const nn::Operation& op,
                    const std::vector<Array>& parameters, const std::vector<const Array*>& sources,
                    const Array& diff_dst, std::int64_t batch,
                    const std::vector<Array*>& diff_sources, Pass& pass);

}  // namespace plain
