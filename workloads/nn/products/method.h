// The methods by which convolutions are made, and their names.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "workloads/nn/products/convolution_problem.h"

namespace nn {

enum class Method {
  kLibrary,      ///< oneDNN, on values as they stand
  kWidened,      ///< oneDNN on floats, of bf16 values that are widened piece by piece
  kPadded,       ///< oneDNN on padded rows, in place of its lowering (im2col) of atrous windows
  kGapped,       ///< oneDNN on strided pixels alone, whose gradients are written between zeros
  kDirectTiles,  ///< 1x1 in bf16, in matrix tiles
  kBf16x3,       ///< floats as three bf16 numbers each, in matrix tiles
  kPairs,        ///< gradient of weights, of pairs of bf16 pixels
  kTiles,        ///< gradient of weights in matrix tiles
  kTileStrips,   ///< the same, of strips of pixels that threads share
  // Of whole layers:
  kStem,       ///< first windows of few channels, in matrix tiles
  kNarrow,     ///< one product for all taps, whose results are then added up
  kDepthwise,  ///< row by row, each channel alone
};
std::string_view to_string(Method method);
/// Nothing for a name that no method has.
std::optional<Method> method_named(std::string_view name);
/// "forward", "source_gradient" or "weights_gradient".
std::string_view to_string(ConvolutionProduct product);

/// What a product's speed depends on, apart from the machine and the number of samples:
/// "forward 64->128 k3x3 s1x1 p1x1 of 56x56 f32"; a transposed one has "transposed" behind the
/// product, an atrous one its distances: "d2x2".
std::string method_key(ConvolutionProduct product, const ConvolutionProblem& problem);

struct MethodChoice {
  Method forward = Method::kLibrary;
  Method source_gradient = Method::kLibrary;
  Method weights_gradient = Method::kLibrary;
};

}  // namespace nn
