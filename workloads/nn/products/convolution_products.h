// Creates a convolution's products with the methods chosen for them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "workloads/nn/products/convolution_problem.h"
#include "workloads/nn/products/method.h"
#include "workloads/nn/products/product.h"

namespace nn {

/// Describes the convolution in error messages.
std::string described_convolution(const Operation& operation, const Planner& planner);

/// dst = the convolution of src, plus the bias if present. `moment`: that of all slices.
std::unique_ptr<Product> make_forward_product(Planner& planner, Method method,
                                              const ConvolutionProblem& problem,
                                              const ConvolutionLayouts& layouts,
                                              const Slices& slices, int moment,
                                              const ValuePlace& src, const ValuePlace& dst);

/// The gradients of the weights and, if wanted, of the source.
class BackwardProducts {
 public:
  struct Places {
    ValuePlace src, diff_dst;
    BufferId diff_src = -1;  ///< -1: no source gradient is wanted
  };
  BackwardProducts() = default;
  /// Plans for the backward pass of the planner's current operation.
  BackwardProducts(Planner& planner, const MethodChoice& choice, const ConvolutionProblem& problem,
                   const ConvolutionLayouts& layouts, const Places& places);
  void bind(const Arena& arena, Device& device, const Kernels& kernels);
  void run(bool accumulate, const Samples& samples);
  /// The source gradient's first.
  std::vector<const Product*> products() const;

 private:
  std::unique_ptr<Product> source_, weights_;  ///< source_ is null if weights_ computes both, or
                                               ///< only weights' gradients are wanted
};

/// Names of the oneDNN implementations that `products` run, and of `methods` other than kLibrary,
/// each once.
std::string names_of(const std::vector<const Product*>& products,
                     const std::vector<Method>& methods);

}  // namespace nn
