// PieceCut: each pixel is in one piece, and strips of rows have all rows that they are computed
// from.
#include "workloads/nn/products/piece_cut.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace {

using nn::ConvolutionProduct;
using nn::Side;

/// A convolution of 16 channels with `kernel` taps a side and dilation `apart`.
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

/// Calls use(sample, point) for each destination pixel of the slice's pieces.
template <class Use>
void for_each_point(const nn::PieceCut& cut, const nn::Samples& slice, const Use& use) {
  for (const nn::Piece& piece : cut.pieces_of(slice)) {
    const nn::ValuePiece value =
        cut.value_of(piece, nn::ConvolutionProduct::kForward, nn::Side::kDestination);
    for (std::int64_t i = 0; i < value.samples; ++i) {
      const std::int64_t points = value.points > 0 ? value.points : kPoints;
      for (std::int64_t j = 0; j < points; ++j) use(value.sample + i, value.point + j);
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
      const nn::PieceCut cut(problem, slices, kSampleBytes, {bytes, 0, 0});
      const bool by_points = cut.pieces_of(slices.at(0)).front().units > 0;
      EXPECT_EQ(by_points, kernel == 1 && bytes < kSampleBytes);
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
        for (const nn::Piece& piece : cut.pieces_of(slice)) {
          const std::int64_t size = by_points ? piece.units : piece.samples;
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
  const nn::PieceCut cut(dense, {3, 1}, kSampleBytes, {2 * kSampleBytes, 0, 0});
  const dnnl::memory::desc values({3, 16, 6, 7}, dnnl::memory::data_type::bf16,
                                  dnnl::memory::format_tag::nChw16c);
  EXPECT_EQ(
      nn::dims_of(cut.floats_desc(values, 2, nn::ConvolutionProduct::kForward, nn::Side::kSource)),
      (dnnl::memory::dims{32, 16, 2, 2}));
  EXPECT_EQ(nn::dims_of(dense.forward(2).query_md(dnnl::query::exec_arg_md, DNNL_ARG_SRC)),
            (dnnl::memory::dims{32, 16, 2, 2}));
  // Without dilation there are no phases.
  EXPECT_EQ(problem_of(6, 7, 3, 1, device).of_phases().phases().apart, 1);
}

TEST(PieceCut, TakesThePointsThatAStrideSeesForAnImage) {
  nn::Device device;
  nn::Operation operation;
  operation.kind = nn::OperationKind::kConvolution;
  operation.kernel = {1, 1};
  operation.stride = {2, 2};
  operation.dilation = {1, 1};
  operation.padding = nn::uniform_padding(2, 0, 0);
  operation.dst = {32, {3, 4}};
  const nn::ConvolutionProblem problem(operation, nn::plain_desc({4, 16, 6, 7}), {32, 16, 1, 1}, {},
                                       device);
  EXPECT_FALSE(problem.is_pointwise());
  const nn::ConvolutionProblem dense = problem.of_phases();
  EXPECT_TRUE(dense.is_pointwise());
  EXPECT_EQ(dense.phases_of(Side::kSource).count(), 1);
  EXPECT_EQ(dense.phases_of(Side::kDestination).apart, 1);
  const dnnl::memory::desc values({4, 16, 6, 7}, dnnl::memory::data_type::bf16,
                                  dnnl::memory::format_tag::nChw16c);
  const auto floats_of = [&](std::int64_t bytes, std::int64_t size) {
    const nn::PieceCut cut(dense, {4, 1}, kSampleBytes, {bytes, 0, 0});
    return nn::dims_of(cut.floats_desc(values, size, ConvolutionProduct::kForward, Side::kSource));
  };
  EXPECT_EQ(floats_of(2 * kSampleBytes, 2), (dnnl::memory::dims{2, 16, 3, 4}));
  EXPECT_EQ(floats_of(kSampleBytes / 2, 5), (dnnl::memory::dims{1, 16, 1, 5}));
  EXPECT_EQ(nn::dims_of(dense.forward(2).query_md(dnnl::query::exec_arg_md, DNNL_ARG_SRC)),
            (dnnl::memory::dims{2, 16, 3, 4}));
  // With padding, the strided pixels are not the first phase.
  operation.padding = nn::uniform_padding(2, 1, 1);
  operation.dst = {32, {4, 5}};
  EXPECT_EQ(
      nn::ConvolutionProblem(operation, nn::plain_desc({4, 16, 6, 7}), {32, 16, 1, 1}, {}, device)
          .of_phases()
          .phases()
          .apart,
      1);
}

constexpr std::int64_t kWidth = 5;

/// Rows of an image convolved with `kernel` taps, or its transposition.
struct Axis {
  std::int64_t from = 0, kernel = 0, stride = 0, padding = 0;
  std::int64_t to() const { return (from + 2 * padding - kernel) / stride + 1; }
};

nn::ConvolutionProblem problem_of(const Axis& axis, bool transposed, nn::Device& device) {
  nn::Operation operation;
  operation.kind = transposed ? nn::OperationKind::kDeconvolution : nn::OperationKind::kConvolution;
  operation.kernel = {axis.kernel, 1};
  operation.stride = {axis.stride, 1};
  operation.dilation = {1, 1};
  operation.padding = {{axis.padding, 0}, {axis.padding, 0}};
  const std::int64_t source = transposed ? axis.to() : axis.from;
  operation.dst = {16, {transposed ? axis.from : axis.to(), kWidth}};
  nn::ConvolutionProblem::Options options;
  options.transposed = transposed;
  return {operation,
          nn::plain_desc({1, 16, source, kWidth}),
          {16, 16, axis.kernel, 1},
          options,
          device};
}

/// Triples (row of the larger image, row of the smaller one, tap) that are multiplied.
using Meetings = std::multiset<std::tuple<std::int64_t, std::int64_t, std::int64_t>>;

/// The triples within the pieces of a product.
Meetings meetings_in(const nn::PieceCut& cut, const Axis& axis, bool transposed,
                     ConvolutionProduct product) {
  const Side larger = transposed ? Side::kDestination : Side::kSource;
  const Side smaller = transposed ? Side::kSource : Side::kDestination;
  Meetings found;
  for (const nn::Piece& piece : cut.pieces_of({0, 1})) {
    const nn::ValuePiece from = cut.value_of(piece, product, larger);
    const nn::ValuePiece to = cut.value_of(piece, product, smaller);
    const std::int64_t first = from.point / kWidth, end = first + from.points / kWidth;
    for (std::int64_t row = to.point / kWidth; row < (to.point + to.points) / kWidth; ++row) {
      if (row < 0 || row >= axis.to()) continue;
      for (std::int64_t tap = 0; tap < axis.kernel; ++tap) {
        const std::int64_t met = row * axis.stride - axis.padding + tap;
        if (met < 0 || met >= axis.from || met < first || met >= end) continue;
        found.emplace(met, row, tap);
      }
    }
    // oneDNN's description has exactly these rows.
    const dnnl::primitive_desc described = cut.describe(product, piece.units);
    const nn::ConvolutionProblem& problem = cut.problem();
    const auto rows = [&](int argument) {
      return nn::dims_of(described.query_md(dnnl::query::exec_arg_md, argument))[2] * kWidth;
    };
    const bool is_forward = product == ConvolutionProduct::kForward;
    const bool gives_source = product == ConvolutionProduct::kSourceGradient;
    const int source = gives_source ? problem.returns() : problem.reads_source();
    const int destination = is_forward ? problem.makes() : problem.reads_gradient();
    EXPECT_EQ(rows(source), cut.value_of(piece, product, Side::kSource).points);
    EXPECT_EQ(rows(destination), cut.value_of(piece, product, Side::kDestination).points);
  }
  return found;
}

TEST(PieceCut, MeetsAllRowsOnceInStrips) {
  nn::Device device;
  for (const Axis& axis :
       {Axis{13, 3, 1, 1}, Axis{13, 3, 2, 1}, Axis{14, 3, 2, 1}, Axis{13, 5, 1, 0},
        Axis{17, 7, 2, 3}, Axis{14, 2, 2, 0}, Axis{14, 1, 2, 0}, Axis{19, 5, 3, 2}}) {
    Meetings all;
    for (std::int64_t row = 0; row < axis.to(); ++row) {
      for (std::int64_t tap = 0; tap < axis.kernel; ++tap) {
        const std::int64_t met = row * axis.stride - axis.padding + tap;
        if (met >= 0 && met < axis.from) all.emplace(met, row, tap);
      }
    }
    for (const bool transposed : {false, true}) {
      const nn::ConvolutionProblem problem = problem_of(axis, transposed, device);
      for (const std::int64_t rows : {1, 2, 4}) {
        for (const std::int64_t bytes : {1L, kSampleBytes / 3}) {
          SCOPED_TRACE(testing::Message() << axis.from << " " << axis.kernel << " " << axis.stride
                                          << " " << transposed << " " << rows << " " << bytes);
          const nn::PieceCut cut(problem, {1, 1}, kSampleBytes, {1, bytes, rows});
          ASSERT_GT(cut.pieces_of({0, 1}).size(), 1U);
          for (const auto product :
               {ConvolutionProduct::kForward, ConvolutionProduct::kSourceGradient,
                ConvolutionProduct::kWeightsGradient}) {
            EXPECT_EQ(meetings_in(cut, axis, transposed, product), all)
                << static_cast<int>(product);
          }
        }
      }
    }
  }
}

}  // namespace
