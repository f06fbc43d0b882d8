// Operations on images alone, by plain loops in double precision.
#pragma once

#include "workloads/nn/plain_network.h"

namespace plain {

/// Whether it is a depthwise or transposed convolution, a concatenation, a spread, a response norm
/// or a flattened image.
bool is_of_images(const nn::Operation& op);

/// The output of such an operation. `sources`: src and the others.
Array image_values(const nn::Network& net, const nn::Operation& op,
                   const std::vector<Array>& parameters, const std::vector<const Array*>& sources,
                   std::int64_t batch);
/// Adds to diff_sources, one for each source, and to the parameters' gradients in `pass`.
void image_backward(const nn::Network& net, const nn::Operation& op,
                    const std::vector<Array>& parameters, const std::vector<const Array*>& sources,
                    const Array& diff_dst, std::int64_t batch,
                    const std::vector<Array*>& diff_sources, Pass& pass);

}  // namespace plain
