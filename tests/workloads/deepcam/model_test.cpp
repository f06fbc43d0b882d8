// Tests of the network against the published counts, shapes and names.
#include "workloads/deepcam/model.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "runner/base/error.h"
#include "runner/base/thrown_message.h"

namespace deepcam {
namespace {

using nlohmann::json;
using nn::Network;
using nn::Operation;
using nn::OperationKind;

std::int64_t parameters_below(const Network& net, const std::string& prefix) {
  std::int64_t count = 0;
  for (const nn::ParameterSpec& parameter : net.parameters()) {
    if (parameter.name.starts_with(prefix)) count += parameter.count();
  }
  return count;
}

std::int64_t macs_of(const Network& net, OperationKind kind) {
  std::int64_t macs = 0;
  for (const Operation& operation : net.operations()) {
    if (operation.kind == kind) macs += net.forward_macs(operation);
  }
  return macs;
}

TEST(DeepCamModel, HasThePublishedParameters) {
  const Network net = build_network({});
  EXPECT_EQ(net.parameter_count(), 56'454'720);
  EXPECT_EQ(net.parameters().size(), 301U);
  EXPECT_EQ(net.statistics().size(), 76U);
  const std::map<std::string, std::int64_t> parts = {{"xception_features.", 37'778'400},
                                                     {"xception_features.conv1.", 4'608},
                                                     {"xception_features.bn1.", 64},
                                                     {"xception_features.block1.", 52'800},
                                                     {"xception_features.block2.", 203'904},
                                                     {"xception_features.block3.", 1'452'480},
                                                     {"xception_features.block4.", 1'613'976},
                                                     {"xception_features.block19.", 1'613'976},
                                                     {"xception_features.block20.", 3'097'376},
                                                     {"bottleneck.", 15'535'104},
                                                     {"bottleneck.aspp1.", 524'800},
                                                     {"bottleneck.aspp2.", 4'719'104},
                                                     {"bottleneck.global_avg_pool.", 524'800},
                                                     {"upsample.", 3'134'976},
                                                     {"upsample.last_deconv.", 6'912}};
  for (const auto& [prefix, count] : parts) {
    EXPECT_EQ(parameters_below(net, prefix), count) << prefix;
  }
  EXPECT_EQ(parameters_below(net, "conv2.") + parameters_below(net, "bn2."), 6'240);
  std::int64_t affine = 0;
  for (const Operation& operation : net.operations()) {
    if (operation.kind == OperationKind::kBatchNorm) affine += 2 * operation.dst.channels;
  }
  EXPECT_EQ(affine, 97'760);
}

TEST(DeepCamModel, HasThePublishedWork) {
  const Network net = build_network({});
  EXPECT_EQ(net.forward_macs(), 327'668'833'280);
  // The published figures are rounded: 2.105e9 and 44.34e9.
  EXPECT_NEAR(static_cast<double>(macs_of(net, OperationKind::kDepthwise)), 2.105e9, 5e5);
  EXPECT_NEAR(static_cast<double>(macs_of(net, OperationKind::kDeconvolution)), 44.34e9, 5e6);
}

TEST(DeepCamModel, GivesClassesOfAllPoints) {
  const Network net = build_network({});
  const nn::SampleShape& logits = net.operations().back().dst;
  EXPECT_EQ(logits.channels, kClasses);
  EXPECT_EQ(logits.spatial, (std::vector<std::int64_t>{768, 1152}));
  const nn::SampleShape& input = net.shape(0);
  EXPECT_EQ(input.channels, 16);
  EXPECT_TRUE(input.channels_last);
}

TEST(DeepCamModel, HasTheReferencesNames) {
  const Network net = build_network({});
  std::map<std::string, std::vector<std::int64_t>> shapes;
  for (const nn::ParameterSpec& parameter : net.parameters()) {
    shapes[parameter.name] = parameter.shape;
  }
  using Shape = std::vector<std::int64_t>;
  const std::map<std::string, Shape> some = {
      {"xception_features.conv1.weight", {32, 16, 3, 3}},
      {"xception_features.block1.rep.0.conv1.weight", {64, 1, 3, 3}},
      {"xception_features.block1.rep.0.pointwise.weight", {128, 64, 1, 1}},
      {"xception_features.block1.rep.5.conv1.weight", {128, 1, 3, 3}},
      {"xception_features.block1.skip.weight", {128, 64, 1, 1}},
      {"xception_features.block1.skipbn.bn.weight", {128}},
      {"xception_features.block4.rep.7.bn.bias", {728}},
      {"xception_features.block20.rep.0.pointwise.weight", {728, 728, 1, 1}},
      {"xception_features.block20.rep.5.pointwise.weight", {1024, 1024, 1, 1}},
      {"xception_features.conv5.pointwise.weight", {2048, 1536, 1, 1}},
      {"xception_features.bn5.bn.weight", {2048}},
      {"bottleneck.aspp4.atrous_convolution.weight", {256, 2048, 3, 3}},
      {"bottleneck.global_avg_pool.global_average_pool.1.weight", {256, 2048, 1, 1}},
      {"bottleneck.global_avg_pool.global_average_pool.2.weights", {256, 1, 1}},
      {"bottleneck.global_avg_pool.global_average_pool.2.bias", {256, 1, 1}},
      {"bottleneck.conv.weight", {256, 1280, 1, 1}},
      {"conv2.weight", {48, 128, 1, 1}},
      {"bn2.bn.bias", {48}},
      {"upsample.deconv1.3.weight", {256, 256, 3, 3}},
      {"upsample.conv1.0.weight", {256, 304, 3, 3}},
      {"upsample.conv1.6.bias", {256}},
      {"upsample.last_deconv.0.weight", {256, 3, 3, 3}}};
  for (const auto& [name, shape] : some) EXPECT_EQ(shapes[name], shape) << name;
}

TEST(DeepCamModel, DilatesAndStridesWhereTheReferenceDoes) {
  const Network net = build_network({});
  std::multiset<std::int64_t> dilations;
  std::int64_t strided = 0;
  for (const Operation& operation : net.operations()) {
    const bool is_window = operation.kind == OperationKind::kConvolution ||
                           operation.kind == OperationKind::kDepthwise;
    if (!is_window) continue;
    if (operation.dilation[0] > 1) dilations.insert(operation.dilation[0]);
    if (operation.kind == OperationKind::kDepthwise && operation.stride[0] > 1) ++strided;
  }
  EXPECT_EQ(dilations, (std::multiset<std::int64_t>{2, 2, 2, 6, 12, 18}));
  EXPECT_EQ(strided, 3);
}

TEST(DeepCamModel, RefusesSizesThatDoNotHalve) {
  const auto refusal = [](const json& object) {
    return base::thrown_message<base::ConfigError>(
        [&] { parse_model(base::ObjectReader(object, "small.json")); });
  };
  EXPECT_NE(refusal({{"height", 100}}).find("/height: must be a multiple of 16"),
            std::string::npos);
  EXPECT_NE(refusal({{"width", 0}}).find("/width"), std::string::npos);
  EXPECT_NE(refusal({{"widths", {{"conv1", 0}}}}).find("/widths/conv1"), std::string::npos);
  EXPECT_NE(refusal({{"middle_blocks", -1}}).find("/middle_blocks"), std::string::npos);
}

}  // namespace
}  // namespace deepcam
