// How each product of a convolution is made: chosen once, before any buffer is planned.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "workloads/nn/planner.h"
#include "workloads/nn/products/convolution_problem.h"

namespace nn {

enum class Method {
  kLibrary,        ///< oneDNN, on values as they stand
  kWidened,        ///< oneDNN on floats, of bf16 values that are widened piece by piece
  kPadded,         ///< oneDNN on padded rows, in place of its lowering (im2col) of atrous windows
  kGapped,         ///< oneDNN on strided pixels alone, whose gradients are written between zeros
  kDirectTiles,    ///< 1x1 in bf16, in matrix tiles
  kDirectStrided,  ///< strided 1x1 on floats
  kBf16x3,         ///< floats as three bf16 numbers each, in matrix tiles
  kPairs,          ///< gradient of 1x1 weights, of pairs of bf16 pixels
  kPairWindows,    ///< the same of windows
  kTiles,          ///< gradient of weights in matrix tiles
  kTileStrips,     ///< the same, of strips of pixels that threads share
  kTileRows,       ///< the same of windows of wide images, row by row
  kFloatStrips,    ///< gradient of strided 1x1 weights on floats, of strips of rows
};
std::string_view to_string(Method method);

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

/// Of values and weights in these layouts.
Method choose_method(ConvolutionProduct product, const ConvolutionProblem& problem,
                     const ConvolutionLayouts& layouts, const Planner& planner);
/// Of all products, where the weights' layout is free: it is set to what they want.
MethodChoice choose_methods(const ConvolutionProblem& problem, ConvolutionLayouts& layouts,
                            const Planner& planner);

}  // namespace nn
