// The method table: chooses how convolutions are computed, as whole layers or product by product,
// before any buffer is planned.
#pragma once

#include <span>
#include <vector>

#include "workloads/nn/planner.h"
#include "workloads/nn/products/convolution_problem.h"
#include "workloads/nn/products/method.h"

namespace nn {

/// A method that computes a whole layer rather than single products.
struct LayerRow {
  OperationKind kind;
  Method method;
  base::InstructionSet needs;
  bool (*applies)(const Operation& operation, const Planner& planner);
  const char* measured;
};
std::span<const LayerRow> layer_rows();
/// The method of the first row that applies; kLibrary if none does: then each product has a method
/// of its own.
Method layer_method(const Operation& operation, const Planner& planner);

/// A row of the table: what a method supports, and where it is faster than the rows after it.
struct MethodRow {
  ConvolutionProduct product;
  Method method;
  base::InstructionSet needs;  ///< the weakest instruction set with the kernels
  /// Whether the method can compute the product of this problem in these layouts.
  bool (*supports)(const ConvolutionProblem& problem, const ConvolutionLayouts& layouts,
                   const Planner& planner);
  /// Whether measurements found it faster there; null: always.
  bool (*pays)(const ConvolutionProblem& problem, const ConvolutionLayouts& layouts,
               const Planner& planner);
  const char* measured;  ///< on which machine, and the result
};
/// In order of preference. Where no row applies, oneDNN is used.
std::span<const MethodRow> method_rows();

/// Methods that can compute the product in these layouts, whether or not they pay; oneDNN is one of
/// them, unless kWidened is the only way.
std::vector<Method> permitted_methods(ConvolutionProduct product, const ConvolutionProblem& problem,
                                      const ConvolutionLayouts& layouts, const Planner& planner);

/// The method for values and weights in these layouts: the one that the planner's methods()
/// request, if it is permitted, or else the table's.
Method choose_method(ConvolutionProduct product, const ConvolutionProblem& problem,
                     const ConvolutionLayouts& layouts, const Planner& planner);
/// The methods of all products while the weights' layout is still free: sets `layouts.weights` to
/// the layout that the chosen methods want.
MethodChoice choose_methods(const ConvolutionProblem& problem, ConvolutionLayouts& layouts,
                            const Planner& planner);

}  // namespace nn
