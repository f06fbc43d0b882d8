// Tests of the recommendation model: published counts, shapes, names and initial weights.
#include "workloads/dlrm/model.h"

#include <gmock/gmock.h>

#include <cmath>

#include "workloads/dlrm/tables.h"
#include "workloads/embedding/tables.h"
#include "workloads/nn/executor/executor.h"
#include "workloads/parallel/hybrid/hybrid_parallel.h"

namespace dlrm {
namespace {

using testing::ElementsAre;
using Shape = std::vector<std::int64_t>;

ModelConfig mlperf() {
  ModelConfig model;
  model.tables = parse_tables("criteo");
  return model;
}

const nn::ParameterSpec& parameter(const nn::Network& network, const std::string& name) {
  for (const nn::ParameterSpec& spec : network.parameters()) {
    if (spec.name == name) return spec;
  }
  throw std::out_of_range(name);
}

TEST(Dlrm, HasThePublishedParameters) {
  const ModelConfig model = mlperf();
  const nn::Network network = build_network(model);
  std::int64_t bottom = 0, top = 0, rows = 0;
  for (const nn::ParameterSpec& spec : network.parameters()) {
    (spec.name.starts_with("bot_l") ? bottom : top) += spec.count();
  }
  for (const parallel::TableSpec& table : table_specs(model)) rows += table.rows * table.width;
  EXPECT_EQ(rows, 24'034'227'072);
  EXPECT_EQ(bottom, 171'392);
  EXPECT_EQ(top, 2'197'505);
  EXPECT_EQ(model.parameter_count(), 24'036'595'969);
}

TEST(Dlrm, HasThePublishedMultiplications) {
  EXPECT_EQ(build_network(mlperf()).forward_macs(), 2'410'112);
}

TEST(Dlrm, HasLayersOfThePublishedShapesUnderTheReferencesNames) {
  const nn::Network network = build_network(mlperf());
  std::vector<std::string> names;
  for (const nn::ParameterSpec& spec : network.parameters()) names.push_back(spec.name);
  EXPECT_THAT(names,
              ElementsAre("bot_l.0.weight", "bot_l.0.bias", "bot_l.2.weight", "bot_l.2.bias",
                          "bot_l.4.weight", "bot_l.4.bias", "top_l.0.weight", "top_l.0.bias",
                          "top_l.2.weight", "top_l.2.bias", "top_l.4.weight", "top_l.4.bias",
                          "top_l.6.weight", "top_l.6.bias", "top_l.8.weight", "top_l.8.bias"));
  EXPECT_EQ(parameter(network, "bot_l.0.weight").shape, (Shape{512, 13}));
  EXPECT_EQ(parameter(network, "bot_l.4.weight").shape, (Shape{128, 256}));
  EXPECT_EQ(parameter(network, "top_l.0.weight").shape, (Shape{1024, 479}));
  EXPECT_EQ(parameter(network, "top_l.8.weight").shape, (Shape{1, 256}));
  EXPECT_EQ(parameter(network, "top_l.8.bias").shape, (Shape{1}));
  EXPECT_EQ(network.inputs(), 2);
  EXPECT_EQ(network.shape(0).size(), 13);
  EXPECT_EQ(network.shape(1).size(), 26 * 128);
  EXPECT_TRUE(network.has_gradient(1));
  EXPECT_FALSE(network.has_gradient(0));
}

TEST(Dlrm, HasARectifierBehindEveryLayerButTheLast) {
  const nn::Network network = build_network(mlperf());
  int layers = 0;
  for (const nn::Operation& operation : network.operations()) {
    if (operation.kind != nn::OperationKind::kFullyConnected) continue;
    ++layers;
    EXPECT_EQ(operation.relu, layers < 8) << operation.name;
  }
  EXPECT_EQ(layers, 8);
}

TEST(Dlrm, HasTablesUnderTheReferencesNames) {
  ModelConfig model = mlperf();
  model.lookups = 3;
  const auto tables = table_specs(model);
  ASSERT_EQ(tables.size(), 26U);
  EXPECT_EQ(tables[0].name, "emb_l.0.weight");
  EXPECT_EQ(tables[25].name, "emb_l.25.weight");
  EXPECT_EQ(tables[0].rows, 39'884'406);
  EXPECT_EQ(tables[25].rows, 36);
  EXPECT_EQ(tables[5].width, 128);
  EXPECT_EQ(tables[5].bag_size, 3);
}

TEST(Dlrm, NamesTensorsAsMlperfDoes) {
  EXPECT_THAT(mlperf_tensor_names(mlperf()),
              ElementsAre("embeddings", "bottom_mlp_dense1", "bottom_mlp_dense2",
                          "bottom_mlp_dense3", "top_mlp_dense1", "top_mlp_dense2", "top_mlp_dense3",
                          "top_mlp_dense4", "top_mlp_dense5"));
}

struct Statistics {
  double mean = 0.0, deviation = 0.0, largest = 0.0;
  double fourth = 0.0;  ///< kurtosis: 3 for normal, 1.8 for uniform distributions
};

Statistics statistics(const std::vector<float>& values) {
  Statistics found;
  const auto count = static_cast<double>(values.size());
  for (const float value : values) {
    found.mean += static_cast<double>(value) / count;
    found.largest = std::max(found.largest, std::abs(static_cast<double>(value)));
  }
  double squares = 0.0, fourths = 0.0;
  for (const float value : values) {
    const double square = std::pow(static_cast<double>(value) - found.mean, 2);
    squares += square / count;
    fourths += square * square / count;
  }
  found.deviation = std::sqrt(squares);
  found.fourth = fourths / (squares * squares);
  return found;
}

/// Five standard deviations of the mean of `count` numbers.
double bound_of_mean(double deviation, std::size_t count) {
  return 5.0 * deviation / std::sqrt(static_cast<double>(count));
}

TEST(Dlrm, DrawsLayersWithTheReferencesSpread) {
  const nn::Network network = build_network(mlperf());
  nn::Device device;
  nn::ExecutorOptions options;
  options.training = false;
  options.kernels = nn::kernels(base::usable_instruction_set());
  nn::Executor executor(network, options, device, nullptr);
  executor.parameters().initialize(3);
  const auto drawn = [&](std::size_t i) {
    return executor.parameters().read_weights(static_cast<int>(i));
  };
  for (std::size_t i = 0; i < network.parameters().size(); ++i) {
    const nn::ParameterSpec& spec = network.parameters()[i];
    const auto out = static_cast<double>(spec.shape[0]);
    const double spread = spec.shape.size() > 1
                              ? std::sqrt(2.0 / (out + static_cast<double>(spec.shape[1])))
                              : std::sqrt(1.0 / out);
    const std::vector<float> values = drawn(i);
    if (values.size() < 2) continue;
    const Statistics found = statistics(values);
    EXPECT_NEAR(found.mean, 0.0, bound_of_mean(spread, values.size())) << spec.name;
    // A sample deviation varies less than a sample mean, by a factor of sqrt(2).
    EXPECT_NEAR(found.deviation, spread, bound_of_mean(spread, values.size())) << spec.name;
    if (values.size() < 10'000) continue;
    EXPECT_NEAR(found.fourth, 3.0, 0.2) << spec.name;
  }
}

TEST(Dlrm, DrawsEmbeddingsEvenlyWithinTheReferencesBounds) {
  ModelConfig model;
  model.tables = {400, 3, 20'000};
  parallel::EmbeddingConfig config;
  config.tables = table_specs(model);
  nn::EmbeddingTables tables(parallel::shards_of(config, parallel::place(config, 1), 0));
  tables.initialize(5);
  ASSERT_EQ(tables.size(), 3U);
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const double bound = std::sqrt(1.0 / static_cast<double>(model.tables[i]));
    std::vector<float> values(static_cast<std::size_t>(tables[i].rows() * tables[i].columns()));
    tables[i].read_rows(0, values);
    const Statistics found = statistics(values);
    const double deviation = bound / std::sqrt(3.0);
    EXPECT_NEAR(found.mean, 0.0, bound_of_mean(deviation, values.size())) << i;
    EXPECT_NEAR(found.deviation, deviation, bound_of_mean(deviation, values.size())) << i;
    EXPECT_LE(found.largest, bound * 1.000001) << i;
    EXPECT_GE(found.largest, bound * 0.95) << i;
    EXPECT_NEAR(found.fourth, 1.8, 0.2) << i;
  }
}

}  // namespace
}  // namespace dlrm
