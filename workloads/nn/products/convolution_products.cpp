// Creates a convolution's products.
#include "workloads/nn/products/convolution_products.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "runner/base/error.h"
#include "workloads/nn/products/bf16x3_gradient.h"
#include "workloads/nn/products/bf16x3_product.h"
#include "workloads/nn/products/direct_product.h"
#include "workloads/nn/products/gapped_gradient.h"
#include "workloads/nn/products/library_product.h"
#include "workloads/nn/products/padded_product.h"
#include "workloads/nn/products/weights_gradient.h"
#include "workloads/nn/products/widened_convolution.h"

namespace nn {
namespace {

using enum ConvolutionProduct;

[[noreturn]] void refuse(Method method) {
  throw base::Error(base::ExitCode::kInternal,
                    fmt::format("a product that {} cannot make", to_string(method)));
}

std::unique_ptr<Product> make_source_gradient(Planner& planner, Method method,
                                              const ConvolutionProblem& problem,
                                              const ConvolutionLayouts& layouts,
                                              const BackwardProducts::Places& places,
                                              const Product& weights) {
  const Slices& slices = planner.backward_slices();
  const int moment = planner.backward_moment();
  const ValuePlace diff_src = {places.diff_src, false};
  switch (method) {
    case Method::kDirectTiles:
      return std::make_unique<DirectProduct>(planner, problem, layouts, kSourceGradient, moment,
                                             places.diff_dst, diff_src);
    case Method::kGapped:
      return std::make_unique<GappedGradient>(planner, problem, layouts, places.diff_dst,
                                              places.diff_src);
    case Method::kBf16x3:
      return std::make_unique<Bf16x3Product>(planner, problem, kSourceGradient,
                                             slices.sizes().back(), moment, places.diff_dst,
                                             diff_src);
    case Method::kPadded:
      return std::make_unique<PaddedProduct>(planner, problem, kSourceGradient, slices, moment,
                                             layouts.dst, places.diff_dst, layouts.src, diff_src);
    case Method::kLibrary: {
      const auto* const library = dynamic_cast<const LibraryWeights*>(&weights);
      return std::make_unique<LibraryProduct>(
          planner, kSourceGradient, problem, layouts, slices, moment, diff_src, places.diff_dst,
          library != nullptr ? library->primitives().front() : nullptr);
    }
    default:
      refuse(method);
  }
}

std::unique_ptr<Product> make_weights_gradient(Planner& planner, Method method,
                                               const ConvolutionProblem& problem,
                                               const ConvolutionLayouts& layouts,
                                               const BackwardProducts::Places& places) {
  switch (method) {
    case Method::kWidened:
      return std::make_unique<WidenedBackward>(planner, problem, layouts, places.src,
                                               places.diff_dst, places.diff_src);
    case Method::kBf16x3:
      return std::make_unique<Bf16x3Gradient>(planner, problem, places.src, places.diff_dst);
    case Method::kLibrary:
      return std::make_unique<LibraryWeights>(planner, problem, layouts, places.src,
                                              places.diff_dst);
    default:
      return std::make_unique<WeightsGradient>(
          planner, method, problem, layouts, WeightsGradient::Places{places.src, places.diff_dst});
  }
}

}  // namespace

std::string described_convolution(const Operation& operation, const Planner& planner) {
  const bool is_transposed = operation.kind == OperationKind::kDeconvolution;
  return fmt::format("{}convolution {} ({} -> {} channels, kernel {}, batch {})",
                     is_transposed ? "transposed " : "", operation.name,
                     planner.network().shape(operation.src).channels, operation.dst.channels,
                     operation.kernel.front(), planner.batch());
}

std::unique_ptr<Product> make_forward_product(Planner& planner, Method method,
                                              const ConvolutionProblem& problem,
                                              const ConvolutionLayouts& layouts,
                                              const Slices& slices, int moment,
                                              const ValuePlace& src, const ValuePlace& dst) {
  switch (method) {
    case Method::kWidened:
      return std::make_unique<WidenedForward>(planner, problem, layouts, slices, moment, src, dst);
    case Method::kDirectTiles:
      return std::make_unique<DirectProduct>(planner, problem, layouts, kForward, moment, src, dst);
    case Method::kBf16x3:
      return std::make_unique<Bf16x3Product>(planner, problem, kForward, slices.sizes().back(),
                                             moment, src, dst);
    case Method::kPadded:
      return std::make_unique<PaddedProduct>(planner, problem, kForward, slices, moment,
                                             layouts.src, src, layouts.dst, dst);
    case Method::kLibrary:
      return std::make_unique<LibraryProduct>(planner, kForward, problem, layouts, slices, moment,
                                              src, dst);
    default:
      refuse(method);
  }
}

BackwardProducts::BackwardProducts(Planner& planner, const MethodChoice& choice,
                                   const ConvolutionProblem& problem,
                                   const ConvolutionLayouts& layouts, const Places& places)
    : weights_(make_weights_gradient(planner, choice.weights_gradient, problem, layouts, places)) {
  if (places.diff_src < 0 || choice.weights_gradient == Method::kWidened) return;
  source_ =
      make_source_gradient(planner, choice.source_gradient, problem, layouts, places, *weights_);
}

void BackwardProducts::bind(const Arena& arena, Device& device, const Kernels& kernels) {
  weights_->bind(arena, device, kernels);
  if (source_) source_->bind(arena, device, kernels);
}

void BackwardProducts::run(bool accumulate, const Samples& samples) {
  const bool adds = accumulate || samples.first > 0;
  if (source_) source_->run(samples, adds);
  weights_->run(samples, adds);
}

std::vector<const Product*> BackwardProducts::products() const {
  std::vector<const Product*> all;
  if (source_) all.push_back(source_.get());
  if (weights_) all.push_back(weights_.get());
  return all;
}

std::string names_of(const std::vector<const Product*>& products,
                     const std::vector<Method>& methods) {
  std::vector<std::string> names;
  const auto add = [&names](std::string name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(std::move(name));
    }
  };
  for (const Product* product : products) {
    for (const SlicedPrimitive* primitive : product->primitives()) add(primitive->implementation());
  }
  for (const Method method : methods) {
    if (method != Method::kLibrary) add(std::string(to_string(method)));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace nn
