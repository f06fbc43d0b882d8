// A convolution's products within a pass, by the methods that were chosen for them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "workloads/nn/products/convolution_problem.h"
#include "workloads/nn/products/method.h"
#include "workloads/nn/products/product.h"

namespace nn {

/// For messages.
std::string described_convolution(const Operation& operation, const Planner& planner);

/// dst = the convolution of src, and the bias if there is one. `moment`: of all slices.
std::unique_ptr<Product> make_forward_product(Planner& planner, Method method,
                                              const ConvolutionProblem& problem,
                                              const ConvolutionLayouts& layouts,
                                              const Slices& slices, int moment,
                                              const ValuePlace& src, const ValuePlace& dst);

/// The gradients of weights, and of the source unless it wants none.
class BackwardProducts {
 public:
  struct Places {
    ValuePlace src, diff_dst;
    BufferId diff_src = -1;  ///< -1: it wants none
  };
  BackwardProducts() = default;
  /// In the backward pass of the operation at hand.
  BackwardProducts(Planner& planner, const MethodChoice& choice, const ConvolutionProblem& problem,
                   const ConvolutionLayouts& layouts, const Places& places);
  void bind(const Arena& arena, Device& device, const Kernels& kernels);
  void run(bool accumulate, const Samples& samples);
  /// The source's first.
  std::vector<const Product*> products() const;

 private:
  std::unique_ptr<Product> source_, weights_;  ///< source_ is null where weights_ makes both
};

/// The library's names of what these run, and the methods that are not its own: each once.
std::string names_of(const std::vector<const Product*>& products,
                     const std::vector<Method>& methods);

}  // namespace nn
