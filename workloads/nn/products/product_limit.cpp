// Times of oneDNN's convolutions and inner products alone.
#include "workloads/nn/products/product_limit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstring>
#include <limits>
#include <optional>
#include <unordered_map>

#include "runner/base/ceil_div.h"
#include "workloads/nn/products/convolution_problem.h"

namespace nn {
namespace {

using dnnl::memory;
using ProductKind = ProductTime::Product;
constexpr std::array kProducts = {ProductKind::kForward, ProductKind::kDataGradient,
                                  ProductKind::kWeightsGradient};

double seconds_since(std::chrono::steady_clock::time_point began) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

/// Maps a transposed convolution's product to the product of oneDNN's convolution that computes it.
ProductKind transposed(ProductKind product) {
  if (product == ProductKind::kForward) return ProductKind::kDataGradient;
  return product == ProductKind::kDataGradient ? ProductKind::kForward : product;
}

}  // namespace

const char* to_string(ProductTime::Product product) {
  switch (product) {
    case ProductKind::kForward:
      return "forward";
    case ProductKind::kDataGradient:
      return "data";
    default:
      return "weights";
  }
}

/// A primitive and its operands.
struct ProductLimit::Run {
  ProductKind product = ProductKind::kForward;
  dnnl::primitive primitive;
  memory::desc src, weights, dst, scratch;
  int src_argument = 0, weights_argument = 0, dst_argument = 0;
  std::string implementation;
  std::unordered_map<int, memory> arguments = {};
  double best_s = std::numeric_limits<double>::infinity();

  const memory::desc& result() const {
    if (product == ProductKind::kForward) return dst;
    return product == ProductKind::kDataGradient ? src : weights;
  }
  std::int64_t written_bytes() const { return page_bytes(result()) + page_bytes(scratch); }
  std::int64_t read_bytes() const {
    return page_bytes(src) + page_bytes(weights) + page_bytes(dst) - page_bytes(result());
  }
  /// Places the result and the scratchpad at `written`, the operands at `read`, each on pages of
  /// its own.
  void bind(const dnnl::engine& engine, char* written, char* read) {
    const auto place = [&](int argument, const memory::desc& desc) {
      char*& at = &desc == &result() || &desc == &scratch ? written : read;
      arguments[argument] = memory(desc, engine, at);
      at += page_bytes(desc);
    };
    place(src_argument, src);
    place(weights_argument, weights);
    place(dst_argument, dst);
    place(DNNL_ARG_SCRATCHPAD, scratch);
  }

 private:
  static std::int64_t page_bytes(const memory::desc& desc) {
    constexpr std::int64_t kPage = 4096;
    return base::round_up(static_cast<std::int64_t>(desc.get_size()), kPage);
  }
};

/// A shape that one or several layers of the network have.
struct ProductLimit::Problem {
  memory::dims src, weights, dst;
  memory::dims stride, skipped, begin, end;
  bool plain_input = false;
  bool is_inner_product = false;
  bool data_gradient = false;  ///< some layer needs it
  std::int64_t flops = 0, bytes = 0;
  std::array<std::optional<Run>, kProducts.size()> runs;

  bool same_shape(const Problem& other) const {
    return src == other.src && weights == other.weights && dst == other.dst &&
           stride == other.stride && skipped == other.skipped && begin == other.begin &&
           end == other.end && plain_input == other.plain_input;
  }
  std::optional<Run>& run(ProductKind product) { return runs[static_cast<std::size_t>(product)]; }

  void prepare(const dnnl::engine& engine, Precision precision);

 private:
  void prepare_convolution(const dnnl::engine& engine, Precision precision);
  void prepare_inner_product(const dnnl::engine& engine, Precision precision);
  template <class Primitive, class Description>
  void add_forward(const Description& what) {
    run(ProductKind::kForward) =
        Run{ProductKind::kForward, Primitive(what),        what.src_desc(), what.weights_desc(),
            what.dst_desc(),       what.scratchpad_desc(), DNNL_ARG_SRC,    DNNL_ARG_WEIGHTS,
            DNNL_ARG_DST,          what.impl_info_str()};
  }
  template <class Primitive, class Description>
  void add_data(const Description& what) {
    run(ProductKind::kDataGradient) =
        Run{ProductKind::kDataGradient, Primitive(what),      what.diff_src_desc(),
            what.weights_desc(),        what.diff_dst_desc(), what.scratchpad_desc(),
            DNNL_ARG_DIFF_SRC,          DNNL_ARG_WEIGHTS,     DNNL_ARG_DIFF_DST,
            what.impl_info_str()};
  }
  template <class Primitive, class Description>
  void add_weights(const Description& what) {
    run(ProductKind::kWeightsGradient) = Run{ProductKind::kWeightsGradient,
                                             Primitive(what),
                                             what.src_desc(),
                                             what.diff_weights_desc(),
                                             what.diff_dst_desc(),
                                             what.scratchpad_desc(),
                                             DNNL_ARG_SRC,
                                             DNNL_ARG_DIFF_WEIGHTS,
                                             DNNL_ARG_DIFF_DST,
                                             what.impl_info_str()};
  }
};

void ProductLimit::Problem::prepare(const dnnl::engine& engine, Precision precision) {
  if (is_inner_product) {
    prepare_inner_product(engine, precision);
  } else {
    prepare_convolution(engine, precision);
  }
}

void ProductLimit::Problem::prepare_convolution(const dnnl::engine& engine, Precision precision) {
  const memory::data_type type = data_type_of(precision);
  // The network's input is plain.
  const memory::desc in = plain_input ? plain_desc(src, type) : any_desc(src, type);
  const auto algorithm = dnnl::algorithm::convolution_direct;
  const auto forward = describe_forward<dnnl::convolution_forward>(
      engine, user_scratchpad(), dnnl::prop_kind::forward_training, algorithm, in,
      any_desc(weights, type), any_desc(dst, type), stride, skipped, begin, end);
  add_forward<dnnl::convolution_forward>(forward);
  if (data_gradient && !run(ProductKind::kDataGradient)) {
    add_data<dnnl::convolution_backward_data>(describe_backward<dnnl::convolution_backward_data>(
        engine, forward, algorithm, any_desc(src, type), any_desc(weights, type),
        any_desc(dst, type), stride, skipped, begin, end));
  }
  add_weights<dnnl::convolution_backward_weights>(correct_weights_gradient(
      describe_backward<dnnl::convolution_backward_weights>(engine, forward, algorithm, in,
                                                            any_desc(weights), any_desc(dst, type),
                                                            stride, skipped, begin, end),
      skipped));
}

void ProductLimit::Problem::prepare_inner_product(const dnnl::engine& engine, Precision precision) {
  const memory::data_type type = data_type_of(precision);
  const memory::desc in = plain_input ? plain_desc(src, type) : any_desc(src, type);
  const auto forward = describe_forward<dnnl::inner_product_forward>(
      engine, user_scratchpad(), dnnl::prop_kind::forward_training, in, any_desc(weights, type),
      any_desc(dst, type));
  add_forward<dnnl::inner_product_forward>(forward);
  if (data_gradient && !run(ProductKind::kDataGradient)) {
    add_data<dnnl::inner_product_backward_data>(
        describe_backward<dnnl::inner_product_backward_data>(
            engine, forward, any_desc(src, type), any_desc(weights, type), any_desc(dst, type)));
  }
  add_weights<dnnl::inner_product_backward_weights>(
      describe_backward<dnnl::inner_product_backward_weights>(
          engine, forward, in, any_desc(weights), any_desc(dst, type)));
}

ProductLimit::ProductLimit(const Network& network, std::int64_t batch, Precision precision,
                           Device& device)
    : device_(device) {
  for (const Operation& operation : network.operations()) {
    if (operation.kind != OperationKind::kConvolution &&
        operation.kind != OperationKind::kDeconvolution &&
        operation.kind != OperationKind::kConvolutionPool && !network.is_vector_layer(operation)) {
      continue;
    }
    const std::size_t problem = problem_of(network, operation, batch, precision);
    const bool has_gradient = network.has_gradient(operation.src);
    const bool is_transposed = operation.kind == OperationKind::kDeconvolution;
    if (has_gradient || is_transposed) problems_[problem]->data_gradient = true;
    uses_.push_back({operation.name, problem, has_gradient, is_transposed});
  }
  for (const auto& problem : problems_) {
    translated(fmt::format("product of [{}] alone", fmt::join(problem->weights, ", ")),
               [&] { problem->prepare(device_.engine, precision); });
  }
  reserve_memory();
}

ProductLimit::~ProductLimit() = default;

std::size_t ProductLimit::problem_of(const Network& network, const Operation& operation,
                                     std::int64_t batch, Precision precision) {
  auto problem = std::make_unique<Problem>();
  const ParameterSpec& weights = network.parameters()[static_cast<std::size_t>(operation.weights)];
  SampleShape src = network.shape(operation.src), dst = operation.dst;
  problem->weights = in_groups(weights.shape, operation.groups);
  if (operation.kind == OperationKind::kConvolutionPool) {
    // oneDNN does not fuse pooling: the whole convolution is computed.
    src.margin = 0;
    dst = {weights.shape.back(), src.spatial};
    problem->weights = {dst.channels, src.channels};
    problem->weights.insert(problem->weights.end(), operation.kernel.begin(),
                            operation.kernel.end());
  }
  // A transposed convolution is oneDNN's convolution from its destination to its source, run
  // backward.
  if (operation.kind == OperationKind::kDeconvolution) std::swap(src, dst);
  problem->src = batch_dims(batch, src);
  problem->dst = batch_dims(batch, dst);
  problem->stride = operation.stride;
  problem->skipped.assign(operation.stride.size(), 0);
  for (std::size_t axis = 0; axis < operation.dilation.size(); ++axis) {
    problem->skipped[axis] = operation.dilation[axis] - 1;
  }
  problem->begin = operation.padding.begin;
  problem->end = operation.padding.end;
  problem->is_inner_product = operation.kind == OperationKind::kFullyConnected;
  // oneDNN may choose the layout of volumes: this project's own kernels read the network's volumes.
  problem->plain_input =
      operation.kind != OperationKind::kConvolutionPool &&
      !network.shape(operation.src).channels_last &&
      network.operations()[static_cast<std::size_t>(operation.src)].kind == OperationKind::kInput;
  problem->flops = 2 * batch * network.forward_macs(operation);
  problem->bytes =
      bytes_of(precision) * (batch * src.size() + batch * dst.size() + weights.count());
  for (std::size_t i = 0; i < problems_.size(); ++i) {
    if (problems_[i]->same_shape(*problem)) return i;
  }
  problems_.push_back(std::move(problem));
  return problems_.size() - 1;
}

/// All products share one block. Operands hold values of ordinary size, as zeros or NaNs could be
/// faster to multiply; results are written elsewhere, so that operands stay unchanged.
void ProductLimit::reserve_memory() {
  std::int64_t written = 0, read = 0;
  for (const auto& problem : problems_) {
    for (const auto& run : problem->runs) {
      if (!run) continue;
      written = std::max(written, run->written_bytes());
      read = std::max(read, run->read_bytes());
    }
  }
  memory_ = AlignedFloats((written + read) / static_cast<std::int64_t>(sizeof(float)));
  constexpr auto kTwoHalves = std::bit_cast<float>(0x3F813F81U);  // two bfloat16 values of 1.0078
  std::fill(memory_.span().begin(), memory_.span().end(), kTwoHalves);
  char* const block = reinterpret_cast<char*>(memory_.data());
  for (const auto& problem : problems_) {
    for (auto& run : problem->runs) {
      if (run) run->bind(device_.engine, block, block + written);
    }
  }
}

void ProductLimit::measure() {
  ++repetitions_;
  for (const auto& problem : problems_) {
    for (auto& run : problem->runs) {
      if (!run) continue;
      const auto began = std::chrono::steady_clock::now();
      run->primitive.execute(device_.stream, run->arguments);
      device_.stream.wait();
      run->best_s = std::min(run->best_s, seconds_since(began));
    }
  }
}

double ProductLimit::seconds() const {
  double sum = 0.0;
  for (const ProductTime& time : times()) sum += time.best_s;
  return sum;
}

std::vector<ProductTime> ProductLimit::times() const {
  std::vector<ProductTime> all;
  for (const Use& use : uses_) {
    Problem& problem = *problems_[use.problem];
    for (const ProductKind product : kProducts) {
      if (product == ProductKind::kDataGradient && !use.data_gradient) continue;
      const Run& run = *problem.run(use.is_transposed ? transposed(product) : product);
      all.push_back(
          {use.layer, product, run.best_s, problem.flops, problem.bytes, run.implementation});
    }
  }
  return all;
}

}  // namespace nn
