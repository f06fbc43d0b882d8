// Tests three training steps of a tiny model against the values printed by the published DLRM.
// Source of the values: README of facebookresearch/dlrm, branch main, "A sample run of the code,
// with a tiny model in debug mode".
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "runner/base/system_facts.h"
#include "runner/communicator.h"
#include "workloads/dlrm/model.h"
#include "workloads/embedding/tables.h"
#include "workloads/optimizer/momentum_optimizers.h"
#include "workloads/optimizer/optimizer.h"
#include "workloads/parallel/data_parallel.h"

namespace {

constexpr std::size_t kSamples = 2, kTables = 3;
/// The published program's default.
constexpr double kLearningRate = 0.01;
constexpr nn::ValueId kEmbeddings = 1;
/// Half a unit of the losses' last digit, plus the effect of rounded initial weights and inputs.
constexpr double kLossError = 5e-6;
/// Half a unit of the last digit for initial and for final weights, plus the effect of rounded
/// inputs; and the root mean square of such uniform errors, 5e-6 sqrt(2 / 3), with a margin.
constexpr double kWeightError = 1.2e-5, kMeanWeightError = 4.5e-6;

/// Weights before and after the steps, with five digits.
struct Printed {
  std::string name;
  std::vector<float> before, after;
};

std::vector<Printed> printed_tables() {
  return {{"emb_l.0.weight",
           {0.05438, -0.11105, 0.42513, 0.34167, -0.1426, -0.45641, -0.19523, -0.10181},
           {0.0543, -0.1112, 0.42513, 0.34167, -0.14283, -0.45679, -0.19532, -0.10197}},
          {"emb_l.1.weight",
           {0.23667, 0.57199, -0.16638, 0.30316, 0.10759, 0.22136},
           {0.23667, 0.57199, -0.1666, 0.30285, 0.10751, 0.22124}},
          {"emb_l.2.weight",
           {-0.49338, -0.14301, -0.36649, -0.22139},
           {-0.49338, -0.14301, -0.36664, -0.22164}}};
}

std::vector<Printed> printed_layers() {
  return {
      {"bot_l.0.weight",
       {0.51313, 0.66662, 0.10591, 0.13089, 0.32198, 0.66156, 0.84651, 0.55326, 0.85445, 0.38484,
        0.31679, 0.35426},
       {0.51313, 0.66663, 0.10591, 0.1309, 0.32196, 0.66154, 0.84649, 0.55324, 0.85444, 0.38482,
        0.31677, 0.35425}},
      {"bot_l.0.bias", {0.17108, 0.82911, 0.33867}, {0.17109, 0.82907, 0.33863}},
      {"bot_l.2.weight",
       {0.55237, 0.57855, 0.52153, 0.00269, 0.98835, 0.90534},
       {0.55238, 0.57857, 0.52154, 0.00265, 0.98825, 0.90528}},
      {"bot_l.2.bias", {0.20764, 0.29249}, {0.20764, 0.29244}},
      {"top_l.0.weight",
       {0.52001, 0.90191, 0.98363, 0.25754, 0.56436, 0.80697, 0.39437, 0.73107,
        0.16107, 0.6007,  0.86586, 0.98352, 0.07937, 0.42835, 0.20454, 0.45064,
        0.54776, 0.09333, 0.29686, 0.92758, 0.569,   0.45741, 0.75353, 0.74186,
        0.04858, 0.7087,  0.83924, 0.16594, 0.781,   0.28654, 0.30647, 0.66526},
       {0.51996, 0.90184, 0.98368, 0.25752, 0.56436, 0.807,   0.39437, 0.73107,
        0.16096, 0.60055, 0.86596, 0.98348, 0.07938, 0.42842, 0.20453, 0.45064,
        0.5476,  0.0931,  0.29701, 0.92752, 0.56902, 0.45752, 0.75351, 0.74187,
        0.04849, 0.70857, 0.83933, 0.1659,  0.78101, 0.2866,  0.30646, 0.66526}},
      {"top_l.0.bias", {0.11139, 0.66487, 0.88786, 0.69631}, {0.11137, 0.66482, 0.88778, 0.69627}},
      {"top_l.2.weight",
       {0.44033, 0.43821, 0.7651, 0.56564, 0.0849, 0.58267, 0.81484, 0.33707},
       {0.44029, 0.43816, 0.76502, 0.56561, 0.08485, 0.5826, 0.81474, 0.33702}},
      {"top_l.2.bias", {0.92758, 0.75072}, {0.92754, 0.75067}},
      {"top_l.4.weight", {0.57406, 0.75164}, {0.57379, 0.7514}},
      {"top_l.4.bias", {0.07915}, {0.07908}}};
}

/// The ids of both samples in one table; the first `first` ids belong to the first sample.
struct TableIds {
  std::vector<std::int32_t> ids;
  std::int64_t first = 1;
};

struct Batch {
  std::vector<float> dense;
  std::array<TableIds, kTables> tables;
  std::array<double, kSamples> targets;
  double loss;  ///< the printed value
};

std::vector<Batch> printed_batches() {
  return {{{0.69647, 0.28614, 0.22685, 0.55131, 0.71947, 0.42311, 0.98076, 0.68483},
           {{{{1, 0, 1}}, {{0, 1}}, {{1, 0}}}},
           {0.55679, 0.15896},
           0.451893},
          {{0.36179, 0.22826, 0.29371, 0.63098, 0.0921, 0.4337, 0.43086, 0.49369},
           {{{{1, 0, 2, 3}}, {{1, 1, 2}}, {{1, 1}}}},
           {0.15307, 0.69553},
           0.402002},
          {{0.60306, 0.54507, 0.34276, 0.30412, 0.41702, 0.6813, 0.87546, 0.51042},
           {{{{2, 0, 1, 2}}, {{1, 2}}, {{1, 1}}}},
           {0.31877, 0.69197},
           0.275460}};
}

dlrm::ModelConfig tiny_model() {
  dlrm::ModelConfig model;
  model.dense_features = 4;
  model.embedding_width = 2;
  model.bottom = {3, 2};
  model.top = {4, 2, 1};
  model.tables = {4, 3, 2};
  return model;
}

std::vector<nn::TableOptions> table_options(const dlrm::ModelConfig& model,
                                            nn::TableUpdate update) {
  std::vector<nn::TableOptions> tables;
  for (const parallel::TableSpec& spec : dlrm::table_specs(model)) {
    tables.emplace_back();
    tables.back().name = spec.name;
    tables.back().rows = spec.rows;
    tables.back().table_width = tables.back().columns = spec.width;
    tables.back().update = update;
  }
  return tables;
}

parallel::DataParallelConfig whole_batches() {
  parallel::DataParallelConfig config;
  config.global_batch = kSamples;
  config.instruction_set = base::usable_instruction_set();
  return config;
}

/// The tiny model, with bags of any size.
class TinyModel {
 public:
  explicit TinyModel(nn::TableUpdate update)
      : world_(runner::Communicator::world()),
        node_(world_.split_node()),
        network_(dlrm::build_network(tiny_model())),
        telemetry_(clock_),
        layers_(network_, whole_batches(), world_, node_, telemetry_),
        tables_(table_options(tiny_model(), update)),
        optimizer_(nn::make_sgd({.momentum = 0.0})) {
    layers_.initialize(1, *optimizer_);  // the drawn weights are replaced below
    nn::Parameters& parameters = layers_.executor().parameters();
    const std::vector<Printed> layers = printed_layers(), tables = printed_tables();
    EXPECT_EQ(network_.parameters().size(), layers.size());
    for (std::size_t i = 0; i < layers.size(); ++i) {
      EXPECT_EQ(network_.parameters()[i].name, layers[i].name);
      parameters.write_weights(static_cast<int>(i), layers[i].before);
    }
    parameters.publish();
    for (std::size_t i = 0; i < tables.size(); ++i) {
      EXPECT_EQ(tables_[i].options().name, tables[i].name);
      tables_[i].write_rows(0, tables[i].before);
    }
  }

  /// One update. Returns the mean squared error of the probabilities, the published program's
  /// default loss.
  double step(const Batch& batch, double learning_rate) {
    std::vector<std::vector<std::int64_t>> offsets;
    std::vector<nn::Bags> bags;
    for (const TableIds& table : batch.tables) {
      offsets.push_back({0, table.first, static_cast<std::int64_t>(table.ids.size())});
      bags.push_back({table.ids, offsets.back()});
    }
    nn::Executor& executor = layers_.executor();
    double loss = 0.0;
    layers_.step(
        [&](std::int64_t) {
          std::copy(batch.dense.begin(), batch.dense.end(), executor.input().begin());
          tables_.forward(bags, executor.input<float>(kEmbeddings).data(), tables_.width());
        },
        [&](std::int64_t) { loss = squared_error(batch); }, *optimizer_, learning_rate);
    tables_.update(bags, executor.input_gradient<float>(kEmbeddings).data(), tables_.width(),
                   learning_rate);
    return loss;
  }

  std::vector<float> layer(std::size_t i) {
    return layers_.executor().parameters().read_weights(static_cast<int>(i));
  }
  std::vector<float> table(std::size_t i) const {
    std::vector<float> rows(static_cast<std::size_t>(tables_[i].rows() * tables_[i].columns()));
    tables_[i].read_rows(0, rows);
    return rows;
  }

 private:
  double squared_error(const Batch& batch) {
    double loss = 0.0;
    for (std::size_t n = 0; n < kSamples; ++n) {
      const double p =
          1.0 / (1.0 + std::exp(-static_cast<double>(layers_.executor().outputs()[n])));
      const double off = p - batch.targets[n];
      loss += off * off / kSamples;
      layers_.executor().output_gradient()[n] =
          static_cast<float>(2.0 * off * p * (1.0 - p) / kSamples);
    }
    return loss;
  }

  const runner::Communicator world_, node_;
  const nn::Network network_;
  base::SystemClock clock_;
  telemetry::Telemetry telemetry_;
  parallel::DataParallel layers_;
  nn::EmbeddingTables tables_;
  const std::unique_ptr<nn::Optimizer> optimizer_;
};

/// Differences of all weights from the printed final weights.
std::vector<double> weight_errors(TinyModel& model) {
  std::vector<double> errors;
  const auto add = [&errors](const Printed& printed, const std::vector<float>& weights) {
    ASSERT_EQ(weights.size(), printed.after.size()) << printed.name;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      errors.push_back(static_cast<double>(weights[i]) - static_cast<double>(printed.after[i]));
    }
  };
  const std::vector<Printed> layers = printed_layers(), tables = printed_tables();
  for (std::size_t i = 0; i < layers.size(); ++i) add(layers[i], model.layer(i));
  for (std::size_t i = 0; i < tables.size(); ++i) add(tables[i], model.table(i));
  return errors;
}

double root_mean_square(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum / static_cast<double>(values.size()));
}

class GoldenTrace : public testing::TestWithParam<nn::TableUpdate> {};

TEST_P(GoldenTrace, HasThePrintedLossesAndWeights) {
  TinyModel model(GetParam());
  for (const Batch& batch : printed_batches()) {
    EXPECT_NEAR(model.step(batch, kLearningRate), batch.loss, kLossError);
  }
  const std::vector<double> errors = weight_errors(model);
  for (const double error : errors) EXPECT_LT(std::abs(error), kWeightError);
  EXPECT_LT(root_mean_square(errors), kMeanWeightError);
}

TEST_P(GoldenTrace, TellsALearningRateThatIsATwentiethOff) {
  for (const double factor : {0.95, 1.05}) {
    TinyModel model(GetParam());
    for (const Batch& batch : printed_batches()) model.step(batch, factor * kLearningRate);
    const std::vector<double> errors = weight_errors(model);
    EXPECT_GT(root_mean_square(errors), kMeanWeightError) << factor;
  }
}

INSTANTIATE_TEST_SUITE_P(Updates, GoldenTrace,
                         testing::Values(nn::TableUpdate::kReference, nn::TableUpdate::kLocked,
                                         nn::TableUpdate::kAtomic, nn::TableUpdate::kRaceFree,
                                         nn::TableUpdate::kSorted),
                         [](const auto& update) { return nn::to_string(update.param); });

}  // namespace
