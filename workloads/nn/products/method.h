// The methods that compute convolutions, and their names.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "workloads/nn/products/convolution_problem.h"

namespace nn {

enum class Method {
  kLibrary,      ///< oneDNN, on values as they are stored
  kWidened,      ///< oneDNN in float; bf16 values are widened piece by piece
  kPadded,       ///< oneDNN on padded rows, avoiding its lowering (im2col) of atrous windows
  kGapped,       ///< oneDNN on the strided pixels only; zeros are written between their gradients
  kDirectTiles,  ///< 1x1 convolutions in bf16, in AMX tiles
  kBf16x3,       ///< floats, each split into three bf16 numbers, in AMX tiles
  kPairs,        ///< weights gradient, by instructions on pairs of bf16 pixels
  kTiles,        ///< weights gradient in AMX tiles
  kTileStrips,   ///< the same; threads share strips of pixels
  // Methods of whole layers:
  kStem,       ///< first convolution, of few channels, in AMX tiles
  kNarrow,     ///< transposed, to few channels: one product for all taps, which are then summed
  kDepthwise,  ///< depthwise, row by row
};
std::string_view to_string(Method method);
/// Returns nullopt for an unknown name.
std::optional<Method> method_named(std::string_view name);
/// "forward", "source_gradient" or "weights_gradient".
std::string_view to_string(ConvolutionProduct product);

/// Key of everything that a product's speed depends on, except the machine and the number of
/// samples: "forward 64->128 k3x3 s1x1 p1x1 of 56x56 f32". Transposed convolutions have
/// "transposed" after the product; atrous ones have the dilation, "d2x2", after the padding.
std::string method_key(ConvolutionProduct product, const ConvolutionProblem& problem);

struct MethodChoice {
  Method forward = Method::kLibrary;
  Method source_gradient = Method::kLibrary;
  Method weights_gradient = Method::kLibrary;
};

}  // namespace nn
