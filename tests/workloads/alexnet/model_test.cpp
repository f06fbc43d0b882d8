// Tests of AlexNet and AlexNet-BN: published counts, and known answers.
#include "workloads/alexnet/model.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "workloads/images/known_answers.h"
#include "workloads/nn/executor/executor.h"
#include "workloads/nn/layers/loss.h"

namespace {

using alexnet::ModelConfig;
using alexnet::Normalization;

nn::Network network_of(Normalization normalization) {
  return alexnet::build_network({.normalization = normalization});
}

TEST(AlexNet, HasThePublishedParametersAndMultiplications) {
  const nn::Network net = network_of(Normalization::kResponse);
  EXPECT_EQ(net.parameter_count(), 60'965'224);
  EXPECT_EQ(net.parameters().size(), 16U);
  EXPECT_EQ(net.forward_macs(), 724'406'816);
  EXPECT_EQ(net.statistics().size(), 0U);
}

TEST(AlexNet, HasThePublishedParametersOfItsFormsWithBatchNorms) {
  EXPECT_EQ(network_of(Normalization::kBatch).parameter_count(), 60'965'224);
  EXPECT_EQ(network_of(Normalization::kBatchAffine).parameter_count(), 60'967'464);
  EXPECT_EQ(network_of(Normalization::kBatchFirst).parameter_count(), 60'966'856);
  std::int64_t channels = 0;
  const nn::Network net = network_of(Normalization::kBatch);
  for (const nn::StatisticsSpec& one : net.statistics()) channels += one.channels;
  EXPECT_EQ(channels, 96 + 256 + 384 + 384);
}

TEST(AlexNet, HasThePublishedShapes) {
  const nn::Network net = network_of(Normalization::kResponse);
  std::map<std::string, std::vector<std::int64_t>> shapes;
  for (const nn::ParameterSpec& one : net.parameters()) shapes[one.name] = one.shape;
  using Shape = std::vector<std::int64_t>;
  EXPECT_EQ(shapes["conv1.weight"], (Shape{96, 3, 11, 11}));
  EXPECT_EQ(shapes["conv2.weight"], (Shape{256, 48, 5, 5}));
  EXPECT_EQ(shapes["conv3.weight"], (Shape{384, 256, 3, 3}));
  EXPECT_EQ(shapes["conv5.weight"], (Shape{256, 192, 3, 3}));
  EXPECT_EQ(shapes["fc6.weight"], (Shape{4096, 9216}));
  EXPECT_EQ(shapes["fc8.bias"], (Shape{1000}));
}

/// Caffe rounds the number of windows of a pool up.
TEST(AlexNet, RoundsPoolsUp) {
  const auto sides = [](const ModelConfig& config) {
    std::vector<std::int64_t> found;
    const nn::Network net = alexnet::build_network(config);
    for (const nn::Operation& one : net.operations()) {
      if (one.kind == nn::OperationKind::kMaxPool) found.push_back(one.dst.spatial.front());
    }
    return found;
  };
  using Sides = std::vector<std::int64_t>;
  EXPECT_EQ(sides({}), (Sides{27, 13, 6}));
  EXPECT_EQ(sides({.image_size = 64}), (Sides{7, 3, 1}));
  EXPECT_EQ(sides({.stem = alexnet::Stem::kSmall, .image_size = 32}), (Sides{16, 8, 4}));
}

/// Where a parameter stands in conv1.weight, conv1.bias, ... fc8.bias, from 1 on; 0: a batch
/// norm's.
std::uint64_t key_of(const std::string& name) {
  if (name.starts_with("bn")) return 0;
  const auto layer = static_cast<std::uint64_t>(name[name.find('.') - 1] - '0');
  return 2 * layer - (name.ends_with(".weight") ? 1 : 0);
}

/// Computed in float64 by PyTorch's layers, of procedural weights and images, without dropout.
struct Answers {
  Normalization normalization;
  std::int64_t batch;
  std::vector<double> logits;  ///< the first of the first sample
  double loss;
  std::map<std::string, double> norms;  ///< of gradients
};

void expect_answers(const Answers& known) {
  ModelConfig config = {.normalization = known.normalization, .dropout = 0.0};
  const nn::Network net = alexnet::build_network(config);
  nn::Device device;
  nn::ExecutorOptions options;
  options.batch = known.batch;
  options.groups = nn::plan_batch_groups({{known.batch, 0, known.batch}}, 0, known.batch);
  options.kernels = nn::kernels(base::usable_instruction_set());
  nn::Executor executor(net, options, device, nullptr);
  nn::Parameters& parameters = executor.parameters();
  parameters.initialize(1);
  for (std::size_t i = 0; i < net.parameters().size(); ++i) {
    const nn::ParameterSpec& spec = net.parameters()[i];
    const std::uint64_t key = key_of(spec.name);
    if (key == 0) continue;  // gamma 1, beta 0
    parameters.write_weights(static_cast<int>(i), images::procedural_parameter(key, spec));
  }
  const std::vector<float> pixels = images::procedural(100, known.batch * net.shape(0).size(), 1.0);
  std::copy(pixels.begin(), pixels.end(), executor.input().begin());
  executor.forward(nn::Mode::kTraining);
  const std::vector<float> outputs = executor.read_outputs();
  for (std::size_t c = 0; c < known.logits.size(); ++c) {
    EXPECT_NEAR(outputs[c] / known.logits[c], 1.0, 1e-4) << c;
  }
  std::vector<std::int32_t> labels;
  for (std::int64_t i = 0; i < known.batch; ++i) labels.push_back(static_cast<std::int32_t>(i));
  std::vector<float> gradient(outputs.size());
  const double scale = 1.0 / static_cast<double>(known.batch);
  const nn::LossSums loss = nn::softmax_cross_entropy(outputs, labels, 0.0, scale, gradient);
  EXPECT_NEAR(loss.loss * scale, known.loss, 1e-3);
  executor.write_output_gradient(gradient);
  executor.backward(false, nullptr);
  for (const auto& [name, wanted] : known.norms) {
    // ReLUs and pools whose inputs round to another side move gradients by 1e-4 to 1e-3.
    EXPECT_NEAR(images::gradient_norm(executor, net, name), wanted, 2e-3 * wanted + 1e-4) << name;
  }
}

TEST(AlexNet, GivesTheKnownAnswers) {
  expect_answers({Normalization::kResponse,
                  2,
                  {-4.402492661, -3.527101716, 4.061945298, -2.609226876, 1.569375088},
                  14.3369736051,
                  {{"conv1.weight", 13.374226},
                   {"conv2.weight", 48.324419},
                   {"conv5.weight", 56.931287},
                   {"fc6.weight", 138.36471},
                   {"fc8.weight", 92.516294},
                   {"fc8.bias", .7763129},
                   {"conv1.bias", 1.7628181},
                   {"conv2.bias", 1.102509},
                   {"conv3.bias", .92758961},
                   {"conv4.bias", .92119597}}});
}

TEST(AlexNet, GivesTheKnownAnswersWithBatchNormsBehindPools) {
  const Answers known = {Normalization::kBatch,
                         4,
                         {-5.169741819, -3.551240745, 5.715584527, -1.827293356, 3.391837154},
                         13.7896859239,
                         {{"conv1.weight", 55.207584},
                          {"conv2.weight", 59.925835},
                          {"conv5.weight", 31.93203},
                          {"fc6.weight", 116.24707},
                          {"fc8.weight", 78.71839},
                          {"fc8.bias", .56784917},
                          {"conv1.bias", .24506679},
                          {"conv2.bias", .18467169},
                          {"conv3.bias", .59988248},
                          {"conv4.bias", .48949324}}};
  expect_answers(known);
  Answers affine = known;  // gamma 1 and beta 0 change nothing
  affine.normalization = Normalization::kBatchAffine;
  expect_answers(affine);
}

TEST(AlexNet, GivesTheKnownAnswersWithBatchNormsBeforeReLUs) {
  expect_answers({Normalization::kBatchFirst,
                  4,
                  {-3.253075609, -1.954803035, 2.738316363, -.5923609672, 1.479393075},
                  10.4606492859,
                  {{"conv1.weight", 31.058851},
                   {"conv2.weight", 36.475277},
                   {"conv5.weight", 21.928317},
                   {"fc6.weight", 77.219952},
                   {"fc8.weight", 51.162378},
                   {"fc8.bias", .5184226},
                   {"conv5.bias", 0.0}}});
}

}  // namespace
