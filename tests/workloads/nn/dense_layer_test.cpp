// What the matrix-product layers rely on in the library.
#include <gmock/gmock.h>

#include <algorithm>
#include <dnnl.hpp>
#include <tuple>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/thrown_message.h"
#include "workloads/nn/layer.h"
#include "workloads/nn/network.h"

namespace {

std::vector<float> noise(std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  std::uint32_t state = 1;
  for (float& value : values) {
    state = state * 1664525U + 1013904223U;
    value = static_cast<float>(state >> 8U) / 8388608.0F - 1.0F;
  }
  return values;
}

/// Inputs, outputs, points of a layer; its weights stand as [out, in].
class MatrixProducts : public testing::TestWithParam<std::tuple<int, int, int>> {
 protected:
  /// dst [rows, points, out], of which the first point is computed.
  std::vector<float> product(std::int64_t rows) const {
    const auto [in, out, points] = GetParam();
    std::vector<float> dst(static_cast<std::size_t>(rows * points * out), 0.25F);
    EXPECT_EQ(dnnl::sgemm('N', 'T', rows, out, in, 1.0F, src_.data(), in * points, weights_.data(),
                          in, 1.0F, dst.data(), out * points),
              dnnl::status::success);
    return dst;
  }
  static constexpr std::int64_t kMostRows = 256;
  const std::vector<float> src_ =
      noise(kMostRows * std::get<0>(GetParam()) * std::get<2>(GetParam()));
  const std::vector<float> weights_ = noise(std::get<0>(GetParam()) * std::get<1>(GetParam()));
};

TEST_P(MatrixProducts, GiveARowTheSameBitsBesideAnyNumberOfOthers) {
  const std::vector<float> reference = product(kMostRows);
  for (const std::int64_t rows : {nn::kLeastRows, std::int64_t{17}, std::int64_t{24},
                                  std::int64_t{32}, std::int64_t{64}, std::int64_t{128}}) {
    const std::vector<float> dst = product(rows);
    EXPECT_TRUE(std::equal(dst.begin(), dst.end(), reference.begin())) << rows << " rows";
  }
}

INSTANTIATE_TEST_SUITE_P(Layers, MatrixProducts,
                         testing::Values(std::tuple(256, 256, 4), std::tuple(256, 1024, 4),
                                         std::tuple(1024, 256, 1), std::tuple(1024, 512, 1),
                                         std::tuple(512, 2048, 1), std::tuple(2048, 512, 1),
                                         std::tuple(1024, 2048, 1), std::tuple(2048, 10, 1),
                                         std::tuple(2048, 1000, 1)));

TEST(FullyConnected, RefusesAReluBehindPoints) {
  nn::Network network;
  const nn::ValueId mean = network.global_average_pool(network.input({8, {4, 4}}));
  const auto with_relu = [&](bool relu) {
    nn::FullyConnectedSpec spec;
    spec.name = "fc";
    spec.outputs = 3;
    spec.relu = relu;
    return network.fully_connected(mean, spec);
  };
  EXPECT_THAT(base::thrown_message<base::ShapeError>([&] { with_relu(true); }),
              testing::HasSubstr("fc: expected a source that is an input, fully connected or an "
                                 "interaction before its ReLU, got global_average_pool"));
  EXPECT_NO_THROW(with_relu(false));
}

}  // namespace
