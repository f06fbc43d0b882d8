// Convolutions of bfloat16 values by products of floats: how values are cut into pieces, and what
// comes out where there are several.
#include "workloads/nn/widened_convolution.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "workloads/nn/plain_bf16.h"
#include "workloads/nn/plain_network.h"
#include "workloads/nn/residual_network.h"

namespace {

using nn::Network;
using nn::ValueId;
using plain::Array;
using plain::to_bf16;
using residual::kSmall;

/// A convolution of 16 channels with `kernel` taps a side, of points that are `apart`.
nn::ConvolutionProblem problem_of(std::int64_t height, std::int64_t width, std::int64_t kernel,
                                  std::int64_t apart, nn::Device& device) {
  nn::Operation operation;
  operation.kind = nn::OperationKind::kConvolution;
  operation.kernel = {kernel, kernel};
  operation.stride = {1, 1};
  operation.dilation = {apart, apart};
  operation.padding = nn::uniform_padding(2, kernel / 2 * apart, kernel / 2 * apart);
  operation.dst = {16, {height, width}};
  return {operation, nn::plain_desc({4, 16, height, width}), {16, 16, kernel, kernel}, {}, device};
}

constexpr std::int64_t kPoints = 6 * 7, kSampleBytes = 2 * kPoints * 16 * 4;

/// Calls use(sample, point) for each point that a piece of the second slice has.
template <class Use>
void for_each_point(const nn::PieceCut& cut, const nn::Samples& slice, const Use& use) {
  for (const nn::ValuePiece& piece : cut.pieces_of(slice)) {
    for (std::int64_t i = 0; i < piece.samples; ++i) {
      const std::int64_t points = piece.points > 0 ? piece.points : kPoints;
      for (std::int64_t j = 0; j < points; ++j) use(piece.sample + i, piece.point + j);
    }
  }
}

TEST(PieceCut, HasEachPointOfASliceOnce) {
  nn::Device device;
  for (const std::int64_t kernel : {1, 3}) {
    const nn::ConvolutionProblem problem = problem_of(6, 7, kernel, 1, device);
    for (const std::int64_t bytes : {1L, kSampleBytes / 3, kSampleBytes, 3 * kSampleBytes}) {
      SCOPED_TRACE(bytes);
      const nn::Slices slices = {7, 2};
      const nn::PieceCut cut(problem, slices, kSampleBytes, bytes);
      EXPECT_EQ(cut.by_points(), kernel == 1 && bytes < kSampleBytes);
      for (std::int64_t i = 0; i < slices.count; ++i) {
        const nn::Samples slice = slices.at(i);
        std::set<std::pair<std::int64_t, std::int64_t>> found;
        for_each_point(cut, slice, [&](std::int64_t sample, std::int64_t point) {
          EXPECT_TRUE(found.emplace(sample, point).second) << sample << " " << point;
          EXPECT_GE(sample, slice.first);
          EXPECT_LT(sample, slice.first + slice.count);
          EXPECT_LT(point, kPoints);
        });
        EXPECT_EQ(static_cast<std::int64_t>(found.size()), slice.count * kPoints);
        for (const nn::ValuePiece& piece : cut.pieces_of(slice)) {
          const std::int64_t size = cut.by_points() ? piece.points : piece.samples;
          EXPECT_EQ(std::count(cut.sizes().begin(), cut.sizes().end(), size), 1) << size;
          EXPECT_LE(size, cut.most());
          EXPECT_EQ(cut.key_of(piece).count, size);
        }
      }
    }
  }
}

TEST(PieceCut, TakesTheImagesOfPhasesForSamples) {
  nn::Device device;
  const nn::ConvolutionProblem problem = problem_of(6, 7, 3, 4, device);
  EXPECT_EQ(problem.phases().apart, 1);
  const nn::ConvolutionProblem dense = problem.of_phases();
  EXPECT_EQ(dense.phases().count(), 16);
  EXPECT_EQ(dense.phases().rows(), 2);
  EXPECT_EQ(dense.phases().columns(), 2);
  const nn::PieceCut cut(dense, {3, 1}, kSampleBytes, 2 * kSampleBytes);
  const dnnl::memory::desc values({3, 16, 6, 7}, dnnl::memory::data_type::bf16,
                                  dnnl::memory::format_tag::nChw16c);
  EXPECT_EQ(cut.floats_desc(values, 2).dims(), (dnnl::memory::dims{32, 16, 2, 2}));
  EXPECT_EQ(dense.forward(2).query_md(dnnl::query::exec_arg_md, DNNL_ARG_SRC).dims(),
            (dnnl::memory::dims{32, 16, 2, 2}));
  // Points that are not as many as are read have no such images.
  EXPECT_EQ(problem_of(6, 7, 3, 1, device).of_phases().phases().apart, 1);
}

/// Pointwise between points, strided, atrous of uneven phases, transposed: each of several pieces.
Network large_network() {
  Network net;
  const nn::Padding one = nn::uniform_padding(2, 1, 1), twice = {{1, 1}, {0, 0}};
  ValueId x = net.input({16, {64, 160}});
  x = net.convolution(x, {"first", 64, 3, 1, one, kSmall});
  x = net.convolution(x, {"pointwise", 80, 1, 1, {}, kSmall});
  x = net.convolution(x, {"strided", 64, 3, 2, one, kSmall});
  x = net.convolution(x, {"atrous", 48, 3, 1, nn::uniform_padding(2, 6, 6), kSmall, 6});
  x = net.convolution(x, {"tiles", 64, 3, 1, one, kSmall});
  x = net.deconvolution(x, {"up", 64, 3, 2, twice, kSmall});
  net.deconvolution(x, {"last", 3, 3, 2, twice, kSmall});
  return net;
}

TEST(WidenedConvolutions, AreThoseOfFloatsInSeveralPieces) {
  if (base::usable_instruction_set() != base::InstructionSet::kAvx512Bf16) {
    GTEST_SKIP() << "needs avx512_bf16";
  }
  constexpr std::int64_t kBatch = 3;
  const Network net = large_network();
  std::vector<Array> parameters = residual::test_parameters(net);
  for (Array& values : parameters) {
    for (double& value : values) value = to_bf16(value);
  }
  Array input = residual::noise(kBatch * net.shape(0).size(), 1.0, 3);
  for (double& value : input) value = to_bf16(value);
  const auto last = static_cast<ValueId>(net.operations().size()) - 1;
  const Array upstream = residual::noise(kBatch * net.shape(last).size(), 1.0, 5);
  /// Outputs, then the gradient of each parameter.
  const auto results = [&](nn::Precision precision, std::int64_t slice) {
    nn::ExecutorOptions options = residual::options_for(kBatch, kBatch);
    options.arithmetic.precision = precision;
    options.arithmetic.products = nn::Products::kFloats;
    options.slice_samples = slice;
    nn::Device device;
    nn::Executor executor(net, options, device, nullptr);
    residual::load(executor, net, parameters);
    std::copy(input.begin(), input.end(), executor.input().begin());
    executor.forward(nn::Mode::kTraining);
    std::vector<std::vector<float>> all;
    all.emplace_back(executor.outputs().begin(), executor.outputs().end());
    std::copy(upstream.begin(), upstream.end(), executor.output_gradient().begin());
    executor.backward(false, nullptr);
    for (std::size_t i = 0; i < net.parameters().size(); ++i) {
      all.push_back(executor.parameters().read_gradient(static_cast<int>(i)));
    }
    return all;
  };
  const auto expected = results(nn::Precision::kF32, 0);
  for (const std::int64_t slice : {0, 1, 2}) {
    SCOPED_TRACE(slice);
    const auto found = results(nn::Precision::kBf16, slice);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      // Seven layers whose values are rounded to bfloat16, 2^-9 each.
      EXPECT_LT(plain::relative_l2(found[i], Array(expected[i].begin(), expected[i].end())), 1e-2)
          << i;
    }
  }
}

}  // namespace
