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
           {0.05438F, -0.11105F, 0.42513F, 0.34167F, -0.1426F, -0.45641F, -0.19523F, -0.10181F},
           {0.0543F, -0.1112F, 0.42513F, 0.34167F, -0.14283F, -0.45679F, -0.19532F, -0.10197F}},
          {"emb_l.1.weight",
           {0.23667F, 0.57199F, -0.16638F, 0.30316F, 0.10759F, 0.22136F},
           {0.23667F, 0.57199F, -0.1666F, 0.30285F, 0.10751F, 0.22124F}},
          {"emb_l.2.weight",
           {-0.49338F, -0.14301F, -0.36649F, -0.22139F},
           {-0.49338F, -0.14301F, -0.36664F, -0.22164F}}};
}

std::vector<Printed> printed_layers() {
  return {{"bot_l.0.weight",
           {0.51313F, 0.66662F, 0.10591F, 0.13089F, 0.32198F, 0.66156F, 0.84651F, 0.55326F,
            0.85445F, 0.38484F, 0.31679F, 0.35426F},
           {0.51313F, 0.66663F, 0.10591F, 0.1309F, 0.32196F, 0.66154F, 0.84649F, 0.55324F, 0.85444F,
            0.38482F, 0.31677F, 0.35425F}},
          {"bot_l.0.bias", {0.17108F, 0.82911F, 0.33867F}, {0.17109F, 0.82907F, 0.33863F}},
          {"bot_l.2.weight",
           {0.55237F, 0.57855F, 0.52153F, 0.00269F, 0.98835F, 0.90534F},
           {0.55238F, 0.57857F, 0.52154F, 0.00265F, 0.98825F, 0.90528F}},
          {"bot_l.2.bias", {0.20764F, 0.29249F}, {0.20764F, 0.29244F}},
          {"top_l.0.weight",
           {0.52001F, 0.90191F, 0.98363F, 0.25754F, 0.56436F, 0.80697F, 0.39437F, 0.73107F,
            0.16107F, 0.6007F,  0.86586F, 0.98352F, 0.07937F, 0.42835F, 0.20454F, 0.45064F,
            0.54776F, 0.09333F, 0.29686F, 0.92758F, 0.569F,   0.45741F, 0.75353F, 0.74186F,
            0.04858F, 0.7087F,  0.83924F, 0.16594F, 0.781F,   0.28654F, 0.30647F, 0.66526F},
           {0.51996F, 0.90184F, 0.98368F, 0.25752F, 0.56436F, 0.807F,   0.39437F, 0.73107F,
            0.16096F, 0.60055F, 0.86596F, 0.98348F, 0.07938F, 0.42842F, 0.20453F, 0.45064F,
            0.5476F,  0.0931F,  0.29701F, 0.92752F, 0.56902F, 0.45752F, 0.75351F, 0.74187F,
            0.04849F, 0.70857F, 0.83933F, 0.1659F,  0.78101F, 0.2866F,  0.30646F, 0.66526F}},
          {"top_l.0.bias",
           {0.11139F, 0.66487F, 0.88786F, 0.69631F},
           {0.11137F, 0.66482F, 0.88778F, 0.69627F}},
          {"top_l.2.weight",
           {0.44033F, 0.43821F, 0.7651F, 0.56564F, 0.0849F, 0.58267F, 0.81484F, 0.33707F},
           {0.44029F, 0.43816F, 0.76502F, 0.56561F, 0.08485F, 0.5826F, 0.81474F, 0.33702F}},
          {"top_l.2.bias", {0.92758F, 0.75072F}, {0.92754F, 0.75067F}},
          {"top_l.4.weight", {0.57406F, 0.75164F}, {0.57379F, 0.7514F}},
          {"top_l.4.bias", {0.07915F}, {0.07908F}}};
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
  return {{{0.69647F, 0.28614F, 0.22685F, 0.55131F, 0.71947F, 0.42311F, 0.98076F, 0.68483F},
           {{{{1, 0, 1}}, {{0, 1}}, {{1, 0}}}},
           {0.55679, 0.15896},
           0.451893},
          {{0.36179F, 0.22826F, 0.29371F, 0.63098F, 0.0921F, 0.4337F, 0.43086F, 0.49369F},
           {{{{1, 0, 2, 3}}, {{1, 1, 2}}, {{1, 1}}}},
           {0.15307, 0.69553},
           0.402002},
          {{0.60306F, 0.54507F, 0.34276F, 0.30412F, 0.41702F, 0.6813F, 0.87546F, 0.51042F},
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
