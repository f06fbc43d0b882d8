// Which convolutions of floats can be made in three parts each (FloatTiles).
// Hides what it was measured on.
#pragma once

#include <dnnl.hpp>

#include "workloads/nn/layer.h"
#include "workloads/nn/products/convolution_problem.h"

namespace nn {

/// Whether the problem's layouts are those that products in parts read, of floats: blocks of 16
/// channels. Such products are made on CPUs with matrix tiles, unless floats themselves are to be
/// multiplied; they read and write weights as tiled_weights_desc() has them.
bool has_parts(const ConvolutionProblem& problem, const dnnl::memory::desc& src,
               const dnnl::memory::desc& dst, const Planner& planner);
/// Whether there are so many channels that bringing points into parts is worthwhile.
bool are_channels_worthwhile(const ConvolutionProblem& problem);

}  // namespace nn
