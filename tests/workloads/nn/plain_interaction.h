// The dot interaction by plain loops in double precision, forward and backward.
#pragma once

#include "workloads/nn/plain_network.h"

namespace plain {

/// Adds to `dst`, which must be zero.
void interaction(const nn::Network& network, const nn::Operation& operation, const Array& src,
                 const Array& features, std::int64_t batch, Array& dst);
/// Adds to the gradients of both sources.
void interaction_backward(const nn::Network& network, const nn::Operation& operation,
                          const Array& src, const Array& features, std::int64_t batch,
                          const Array& diff_dst, Array& diff_src, Array& diff_features);

}  // namespace plain
