// Names of methods and products, and keys.
#include "workloads/nn/products/method.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "runner/base/error.h"

namespace nn {
namespace {

constexpr std::pair<Method, std::string_view> kNames[] = {{Method::kLibrary, "library"},
                                                          {Method::kWidened, "widened"},
                                                          {Method::kPadded, "padded"},
                                                          {Method::kGapped, "gapped"},
                                                          {Method::kDirectTiles, "direct_tiles"},
                                                          {Method::kBf16x3, "bf16x3"},
                                                          {Method::kPairs, "pairs"},
                                                          {Method::kTiles, "tiles"},
                                                          {Method::kTileStrips, "tile_strips"},
                                                          {Method::kStem, "stem"},
                                                          {Method::kNarrow, "narrow"},
                                                          {Method::kDepthwise, "depthwise"}};

}  // namespace

std::string_view to_string(Method method) {
  for (const auto& [known, name] : kNames) {
    if (known == method) return name;
  }
  throw base::Error(base::ExitCode::kInternal, "no such method");
}

std::optional<Method> method_named(std::string_view name) {
  for (const auto& [method, known] : kNames) {
    if (known == name) return method;
  }
  return std::nullopt;
}

std::string_view to_string(ConvolutionProduct product) {
  switch (product) {
    case ConvolutionProduct::kForward:
      return "forward";
    case ConvolutionProduct::kSourceGradient:
      return "source_gradient";
    case ConvolutionProduct::kWeightsGradient:
      return "weights_gradient";
  }
  throw base::Error(base::ExitCode::kInternal, "no such product");
}

std::string method_key(ConvolutionProduct product, const ConvolutionProblem& problem) {
  const Operation& operation = problem.operation();
  std::string key = fmt::format(
      "{}{} {}->{} k{} s{} p{}", to_string(product), problem.is_transposed() ? " transposed" : "",
      problem.image_of(Side::kSource).channels, problem.image_of(Side::kDestination).channels,
      fmt::join(operation.kernel, "x"), fmt::join(operation.stride, "x"),
      fmt::join(operation.padding.begin, "x"));
  if (problem.is_grouped()) key += fmt::format(" g{}", operation.groups);
  if (is_atrous(operation)) key += fmt::format(" d{}", fmt::join(operation.dilation, "x"));
  return key + fmt::format(" of {} {}", fmt::join(problem.image_of(Side::kSource).spatial, "x"),
                           problem.compute() == dnnl::memory::data_type::bf16 ? "bf16" : "f32");
}

}  // namespace nn
