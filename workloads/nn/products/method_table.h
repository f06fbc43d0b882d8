// How convolutions are made, as whole layers or product by product: chosen once, before any buffer
// is planned.
#pragma once

#include <span>
#include <vector>

#include "workloads/nn/planner.h"
#include "workloads/nn/products/convolution_problem.h"
#include "workloads/nn/products/method.h"

namespace nn {

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
