// How convolutions are made, as whole layers or product by product: chosen once, before any buffer
// is planned.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/nn/planner.h"
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
  kDense,      ///< matrix products of all samples, a kernel tap at a time
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

/// A layer that is made as a whole, and not product by product.
struct LayerRow {
  OperationKind kind;
  Method method;
  base::InstructionSet needs;
  bool (*suits)(const Operation& operation, const Planner& planner);
  const char* measured;
};
std::span<const LayerRow> layer_rows();
/// That of the first row that suits; kLibrary: each product has a method of its own.
Method layer_method(const Operation& operation, const Planner& planner);

/// A row of the table: where a method serves, and where it is faster than what comes after it.
struct MethodRow {
  ConvolutionProduct product;
  Method method;
  base::InstructionSet needs;  ///< the weakest that has the kernels
  /// Whether the method can make the product of this problem in these layouts.
  bool (*supports)(const ConvolutionProblem& problem, const ConvolutionLayouts& layouts,
                   const Planner& planner);
  /// Whether it is the faster one, as measured; null: always.
  bool (*pays)(const ConvolutionProblem& problem, const ConvolutionLayouts& layouts,
               const Planner& planner);
  const char* measured;  ///< where, and what
};
/// In the order in which they are asked; the library serves where none of them does.
std::span<const MethodRow> method_rows();

struct MethodChoice {
  Method forward = Method::kLibrary;
  Method source_gradient = Method::kLibrary;
  Method weights_gradient = Method::kLibrary;
};

/// Methods that can make the product in these layouts, whether or not they pay; the library, too,
/// unless there is one way alone.
std::vector<Method> permitted_methods(ConvolutionProduct product, const ConvolutionProblem& problem,
                                      const ConvolutionLayouts& layouts, const Planner& planner);

/// Of values and weights in these layouts: as the planner's methods() ask for it, or else by the
/// table.
Method choose_method(ConvolutionProduct product, const ConvolutionProblem& problem,
                     const ConvolutionLayouts& layouts, const Planner& planner);
/// Of all products, where the weights' layout is free: it is set to what they want.
MethodChoice choose_methods(const ConvolutionProblem& problem, ConvolutionLayouts& layouts,
                            const Planner& planner);

}  // namespace nn
