// The method table's rows and conditions.
#include "workloads/nn/products/method_table.h"

#include <algorithm>
#include <utility>

#include "runner/base/ceil_div.h"
#include "workloads/kernels/tiling.h"
#include "workloads/nn/products/bf16x3_gradient.h"
#include "workloads/nn/products/bf16x3_product.h"
#include "workloads/nn/products/direct_product.h"
#include "workloads/nn/products/gapped_gradient.h"
#include "workloads/nn/products/padded_product.h"
#include "workloads/nn/products/stem_layer.h"
#include "workloads/nn/products/weights_gradient.h"
#include "workloads/nn/products/widened_convolution.h"

namespace nn {
namespace {

using base::InstructionSet;
using enum ConvolutionProduct;

std::int64_t channels_of(const ConvolutionProblem& problem, Side side) {
  return problem.image_of(side).channels;
}

bool are_channels_few(const ConvolutionProblem& problem, const ConvolutionLayouts& /*layouts*/,
                      const Planner& /*planner*/) {
  constexpr std::int64_t kFew = 256;
  return std::max(channels_of(problem, Side::kSource), channels_of(problem, Side::kDestination)) <=
         kFew;
}

/// DirectProduct does not write the gaps of a strided gradient.
bool supports_direct_source(const ConvolutionProblem& problem, const ConvolutionLayouts& layouts,
                            const Planner& planner) {
  return !has_gaps(problem.operation()) && DirectProduct::supports(problem, layouts, planner);
}

bool are_channels_many(const ConvolutionProblem& problem) {
  constexpr std::int64_t kLeast = 80;  // half the harmonic mean of both channel counts
  const std::int64_t in = channels_of(problem, Side::kSource);
  const std::int64_t out = channels_of(problem, Side::kDestination);
  return in * out >= kLeast * (in + out);
}

/// Whether rows fill at least three quarters of their tiles: for rows of 7 pixels oneDNN is faster.
bool do_rows_fill_tiles(const ConvolutionProblem& problem) {
  if (problem.is_pointwise()) return true;
  const Operation& operation = problem.operation();
  const std::int64_t columns =
      std::min(problem.image_of(Side::kSource).spatial[1], operation.dst.spatial[1]);
  const std::int64_t tile = has_taps(operation) ? kLanes : 2 * kLanes;
  return 4 * columns >= 3 * base::ceil_div(columns, tile) * tile;
}

bool pays_bf16x3(const ConvolutionProblem& problem, const ConvolutionLayouts& /*layouts*/,
                 const Planner& /*planner*/) {
  return do_rows_fill_tiles(problem) && are_channels_many(problem);
}

/// Where the stride leaves gaps, oneDNN goes over the gradient twice.
bool pays_bf16x3_source(const ConvolutionProblem& problem, const ConvolutionLayouts& /*layouts*/,
                        const Planner& /*planner*/) {
  if (!do_rows_fill_tiles(problem)) return false;
  if (has_gaps(problem.operation())) {
    return base::ceil_div(problem.operation().dst.channels, 2 * kLanes) <=
           Bf16x3Product::kMostSteps;
  }
  return are_channels_many(problem) && !problem.uses_winograd_gradients();
}

bool pays_bf16x3_weights(const ConvolutionProblem& problem, const ConvolutionLayouts& /*layouts*/,
                         const Planner& /*planner*/) {
  return are_channels_many(problem);
}

bool is_strided_or_small(const WindowShape& windows) {
  constexpr std::int64_t kFewPixels = 128;
  return windows.rows.stride > 1 || windows.columns.stride > 1 ||
         windows.rows.to * windows.columns.to <= kFewPixels;
}

bool pays_pairs(const ConvolutionProblem& problem, const ConvolutionLayouts& /*layouts*/,
                const Planner& /*planner*/) {
  return problem.is_pointwise() || is_strided_or_small(windows_of(problem));
}

/// Also pays wherever oneDNN's gradient may be wrong.
bool pays_tiles(const ConvolutionProblem& problem, const ConvolutionLayouts& /*layouts*/,
                const Planner& /*planner*/) {
  const WindowShape windows = windows_of(problem);
  const SampleShape& from =
      problem.image_of(problem.is_transposed() ? Side::kDestination : Side::kSource);
  return windows.taps() == 1 || may_be_wrong_in_tiles(from, problem.operation().kernel, {}) ||
         is_strided_or_small(windows);
}

bool pays_tile_strips(const ConvolutionProblem& problem, const ConvolutionLayouts& layouts,
                      const Planner& planner) {
  return pays_tiles(problem, layouts, planner) && TileGradient::are_sums_few(windows_of(problem));
}

template <Method kMethod>
bool supports_weights(const ConvolutionProblem& problem, const ConvolutionLayouts& layouts,
                      const Planner& planner) {
  return WeightsGradient::supports(kMethod, problem, layouts, planner);
}

/// Measured on two cores: "Xeon" has AMX tiles, "EPYC" (Zen 5) only avx512_bf16. DeepCAM: batch 2
/// of 768x1152 pixels; ResNet-50: batch 32 of 224x224. A row is kept while it saves 2 % of a step.
const MethodRow kMethodRows[] = {
    {kForward, Method::kWidened, InstructionSet::kBaseline, WidenedForward::supports, nullptr,
     "the only way of such values"},
    {kSourceGradient, Method::kWidened, InstructionSet::kBaseline, WidenedForward::supports,
     nullptr, "the only way of such values"},
    {kWeightsGradient, Method::kWidened, InstructionSet::kBaseline, WidenedForward::supports,
     nullptr, "the only way of such values"},
    {kForward, Method::kDirectTiles, InstructionSet::kAmx, DirectProduct::supports,
     are_channels_few,
     "Xeon: from 64 and 128 channels to 128 the library takes 2.1 and 1.7 times as long, as its "
     "stores read every line first"},
    {kSourceGradient, Method::kDirectTiles, InstructionSet::kAmx, supports_direct_source,
     are_channels_few, "as forward"},
    {kSourceGradient, Method::kGapped, InstructionSet::kAmx, GappedGradient::supports, nullptr,
     "Xeon: ResNet-50 in bf16 40.1 samples/s, library 39.1: 2.5 % of a step"},
    {kForward, Method::kBf16x3, InstructionSet::kAmx, Bf16x3Product::supports, pays_bf16x3,
     "Xeon: DeepCAM in f32 0.227 samples/s, library 0.182; of 1x1 the library takes as long for "
     "128 to 256 channels, and less for fewer"},
    {kSourceGradient, Method::kBf16x3, InstructionSet::kAmx, Bf16x3Product::supports,
     pays_bf16x3_source, "as forward"},
    {kForward, Method::kPadded, InstructionSet::kBaseline, PaddedProduct::supports, nullptr,
     "Xeon: DeepCAM's rates 12 and 18 in f32 812 ms, library, by im2col, 1207: 3.5 % of a step; "
     "EPYC, oneDNN 3.7: 734 ms, library 976: 2.5 %"},
    {kSourceGradient, Method::kPadded, InstructionSet::kBaseline, PaddedProduct::supports, nullptr,
     "as forward"},
    {kWeightsGradient, Method::kBf16x3, InstructionSet::kAmx, Bf16x3Gradient::supports,
     pays_bf16x3_weights, "as forward"},
    {kWeightsGradient, Method::kPairs, InstructionSet::kAvx512Bf16,
     supports_weights<Method::kPairs>, pays_pairs,
     "EPYC: DeepCAM in bf16 0.94 of the library's convolutions, library 0.75, which takes as long "
     "for windows without a stride, but those of small images; library 3.7: 4.2 % of DeepCAM's and "
     "6.0 % of ResNet-50's step slower"},
    {kWeightsGradient, Method::kTileStrips, InstructionSet::kAmx,
     supports_weights<Method::kTileStrips>, pays_tile_strips,
     "Xeon: many pixels of few channels, which threads cannot share evenly"},
    {kWeightsGradient, Method::kTiles, InstructionSet::kAmx, supports_weights<Method::kTiles>,
     pays_tiles,
     "Xeon: of 1x1, 728 channels, the library takes three times as long; backward passes of "
     "ResNet-50's 3x3 windows, batch 32, with a stride 18, 15, 18 ms, library 18, 20, 33; of 7x7 "
     "pixels 12, library 17"},
};

/// A stem's output has channels last, which costs time in a max pooling after it; only many
/// channels make up for that.
bool pays_stem(const Operation& operation, const Planner& planner) {
  constexpr std::int64_t kManyChannels = 64;
  return suits_stem(operation, planner) && (operation.dst.channels >= kManyChannels ||
                                            !planner.network().feeds_max_pool(planner.made()));
}

bool is_last(const Operation& operation, const Planner& planner) {
  return &operation == &planner.network().operations().back();
}

bool is_any(const Operation& /*operation*/, const Planner& /*planner*/) { return true; }

const LayerRow kLayerRows[] = {
    {OperationKind::kConvolution, Method::kStem, InstructionSet::kAmx, pays_stem,
     "Xeon: the library multiplies windows of few elements without tiles"},
    {OperationKind::kDeconvolution, Method::kNarrow, InstructionSet::kBaseline, is_last,
     "the only way that gives floats as plain planes, which a loss reads"},
    {OperationKind::kDepthwise, Method::kDepthwise, InstructionSet::kBaseline, is_any,
     "Xeon: 728 channels of DeepCAM 0.7 ms forward, where a copy of the value takes 0.5"},
};

bool needs_tiled_weights(Method method) {
  return method == Method::kBf16x3 || method == Method::kPadded;
}

/// The weights' layout in oneDNN's forward product or, if that reads bf16, the layout in which
/// oneDNN writes their gradient.
dnnl::memory::desc library_weights_desc(const ConvolutionProblem& problem, const Planner& planner) {
  using dnnl::query;
  if (problem.compute() != dnnl::memory::data_type::bf16) {
    return problem.forward(planner.forward_slices().sizes().front())
        .query_md(query::exec_arg_md, DNNL_ARG_WEIGHTS);
  }
  if (!planner.training()) return plain_desc(problem.weights_dims());
  return problem.weights_gradient(planner.backward_slices().sizes().front())
      .query_md(query::exec_arg_md, DNNL_ARG_DIFF_WEIGHTS);
}

bool can_make(const MethodRow& row, const ConvolutionProblem& problem,
              const ConvolutionLayouts& layouts, const Planner& planner) {
  return planner.kernels().set >= row.needs && row.supports(problem, layouts, planner);
}

/// The requested method, if any. A request for all products of a kind ("forward *", by which
/// benchmarks time methods) precedes one for the product's key.
std::optional<Method> requested_method(ConvolutionProduct product,
                                       const ConvolutionProblem& problem, const Planner& planner) {
  if (planner.methods().empty()) return std::nullopt;
  auto found = planner.methods().find(std::string(to_string(product)) + " *");
  if (found == planner.methods().end())
    found = planner.methods().find(method_key(product, problem));
  return found == planner.methods().end() ? std::nullopt : method_named(found->second);
}

}  // namespace

std::span<const LayerRow> layer_rows() { return kLayerRows; }

Method layer_method(const Operation& operation, const Planner& planner) {
  for (const LayerRow& row : kLayerRows) {
    if (row.kind == operation.kind && planner.kernels().set >= row.needs &&
        row.applies(operation, planner)) {
      return row.method;
    }
  }
  return Method::kLibrary;
}

std::span<const MethodRow> method_rows() { return kMethodRows; }

std::vector<Method> permitted_methods(ConvolutionProduct product, const ConvolutionProblem& problem,
                                      const ConvolutionLayouts& layouts, const Planner& planner) {
  if (problem.is_grouped()) return {Method::kLibrary};
  std::vector<Method> all;
  for (const MethodRow& row : kMethodRows) {
    if (row.product != product || !can_make(row, problem, layouts, planner)) continue;
    if (row.method == Method::kWidened) return {row.method};
    all.push_back(row.method);
  }
  all.push_back(Method::kLibrary);
  return all;
}

Method choose_method(ConvolutionProduct product, const ConvolutionProblem& problem,
                     const ConvolutionLayouts& layouts, const Planner& planner) {
  if (const std::optional<Method> wish = requested_method(product, problem, planner)) {
    const std::vector<Method> all = permitted_methods(product, problem, layouts, planner);
    if (std::ranges::count(all, *wish) > 0) return *wish;
  }
  for (const MethodRow& row : kMethodRows) {
    if (row.product != product || !can_make(row, problem, layouts, planner)) continue;
    if (row.pays == nullptr || row.pays(problem, layouts, planner)) return row.method;
  }
  return Method::kLibrary;
}

MethodChoice choose_methods(const ConvolutionProblem& problem, ConvolutionLayouts& layouts,
                            const Planner& planner) {
  if (problem.is_grouped()) {
    layouts.weights = plain_desc(problem.weights_dims());
    return {};
  }
  layouts.weights = tiled_weights_desc(problem.weights_dims());
  MethodChoice choice;
  choice.forward = choose_method(kForward, problem, layouts, planner);
  choice.source_gradient = choose_method(kSourceGradient, problem, layouts, planner);
  if (!needs_tiled_weights(choice.forward) && !needs_tiled_weights(choice.source_gradient)) {
    layouts.weights = library_weights_desc(problem, planner);
  }
  if (planner.training())
    choice.weights_gradient = choose_method(kWeightsGradient, problem, layouts, planner);
  return choice;
}

}  // namespace nn
