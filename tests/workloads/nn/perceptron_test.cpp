// Perceptrons and the dot interaction between them against their plain twin and the published toy
// model, and what listeners of passes are notified of.
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "runner/base/error.h"
#include "runner/base/system_facts.h"
#include "workloads/kernels/plain_bf16.h"
#include "workloads/nn/executor/executor.h"
#include "workloads/nn/plain_network.h"
#include "workloads/nn/residual_expectations.h"
#include "workloads/nn/version.h"

namespace {

using nn::Network;
using nn::ValueId;
using plain::Array;
using plain::to_bf16;
using residual::error_of;
using residual::load;
using residual::noise;

constexpr ValueId kFeatures = 1;

struct PerceptronShape {
  const char* name;
  std::int64_t dense, tables, batch;
  std::vector<std::int64_t> bottom, top;
  friend void PrintTo(const PerceptronShape& shape, std::ostream* out) { *out << shape.name; }
};

Network network_of(const PerceptronShape& shape) {
  Network net;
  ValueId value = net.input({shape.dense, {}});
  const ValueId features =
      net.input({shape.tables * shape.bottom.back(), {}}, nn::InputGradient::kWanted);
  const auto add = [&](const std::string& name, std::int64_t outputs, bool relu) {
    const double spread = std::sqrt(2.0 / static_cast<double>(net.shape(value).channels));
    value = net.fully_connected(value, {name,
                                        outputs,
                                        {nn::Distribution::kNormal, spread, 0.0},
                                        {nn::Distribution::kNormal, 0.1, 0.0},
                                        relu});
  };
  for (std::size_t i = 0; i < shape.bottom.size(); ++i) {
    add("bottom." + std::to_string(i), shape.bottom[i], true);
  }
  value = net.dot_interaction(value, features);
  for (std::size_t i = 0; i < shape.top.size(); ++i) {
    add("top." + std::to_string(i), shape.top[i], i + 1 < shape.top.size());
  }
  return net;
}

nn::ExecutorOptions options_for(const PerceptronShape& shape, nn::Precision precision,
                                nn::Products products = nn::Products::kPairs) {
  nn::ExecutorOptions options;
  options.batch = shape.batch;
  options.kernels = nn::kernels(base::usable_instruction_set());
  options.arithmetic.precision = precision;
  options.arithmetic.products = products;
  return options;
}

/// Weights that bf16 represents exactly: all precisions use the same.
std::vector<Array> perceptron_parameters(const Network& net) {
  std::vector<Array> parameters;
  for (std::size_t i = 0; i < net.parameters().size(); ++i) {
    const nn::ParameterSpec& spec = net.parameters()[i];
    parameters.push_back(
        noise(spec.count(), spec.initializer.spread, static_cast<std::uint64_t>(100 + i)));
    for (double& value : parameters.back()) value = to_bf16(value);
  }
  return parameters;
}

template <class T>
void set_features(const nn::Executor& executor, const Array& values) {
  const std::span<T> to = executor.input<T>(kFeatures);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if constexpr (std::is_same_v<T, float>) {
      to[i] = static_cast<float>(values[i]);
    } else {
      to[i].bits = plain::bf16_bits(static_cast<float>(values[i]));
    }
  }
}

template <class T>
Array feature_gradient(const nn::Executor& executor) {
  Array gradient;
  for (const T value : executor.input_gradient<T>(kFeatures)) {
    if constexpr (std::is_same_v<T, float>) {
      gradient.push_back(static_cast<double>(value));
    } else {
      gradient.push_back(static_cast<double>(as_float(value)));
    }
  }
  return gradient;
}

class Perceptrons : public testing::TestWithParam<PerceptronShape> {
 protected:
  Perceptrons()
      : net_(network_of(GetParam())),
        parameters_(perceptron_parameters(net_)),
        input_(noise(GetParam().batch * net_.shape(0).size(), 1.0, 3)),
        features_(noise(GetParam().batch * net_.shape(kFeatures).size(), 0.5, 4)),
        upstream_(noise(GetParam().batch * GetParam().top.back(), 1.0, 5)) {}

  plain::Pass twin(double (*rounded)(double)) const {
    const plain::Options options = {GetParam().batch, 1, true, {}, {}, rounded, {features_}};
    plain::Pass pass = plain::forward(net_, parameters_, input_, options);
    plain::backward(net_, parameters_, options, upstream_, pass);
    return pass;
  }
  /// Runs a training pass; returns the outputs.
  template <class T>
  std::vector<float> run(nn::Executor& executor, bool accumulate = false) const {
    std::copy(input_.begin(), input_.end(), executor.input().begin());
    set_features<T>(executor, features_);
    executor.forward(nn::Mode::kTraining);
    std::vector<float> outputs(executor.outputs().begin(), executor.outputs().end());
    std::copy(upstream_.begin(), upstream_.end(), executor.output_gradient().begin());
    executor.backward(accumulate, nullptr);
    return outputs;
  }
  template <class T>
  void expect_agreement(const nn::ExecutorOptions& options, const plain::Pass& pass,
                        double outputs_tolerance, double gradient_tolerance) const {
    nn::Device device;
    nn::Executor executor(net_, options, device, nullptr);
    load(executor, net_, parameters_);
    EXPECT_LT(plain::relative_l2(run<T>(executor), pass.values.back()), outputs_tolerance);
    EXPECT_LT(plain::relative_l2(feature_gradient<T>(executor), pass.value_gradients[kFeatures]),
              gradient_tolerance);
    for (std::size_t i = 0; i < pass.parameter_gradients.size(); ++i) {
      EXPECT_LT(error_of(executor.parameters().read_gradient(static_cast<int>(i)),
                         pass.parameter_gradients[i]),
                gradient_tolerance)
          << net_.parameters()[i].name;
    }
  }

  Network net_;
  std::vector<Array> parameters_;
  Array input_, features_, upstream_;
};

/// For sums of up to a thousand products in single precision.
constexpr double kF32Tolerance = 3e-6;
/// The twin rounds what the engine rounds; what remains are sums that round to the other neighbour.
constexpr double kBf16Tolerance = 1e-2;
constexpr double kBf16GradientTolerance = 5e-2;

TEST_P(Perceptrons, AgreeWithTheirPlainTwin) {
  expect_agreement<float>(options_for(GetParam(), nn::Precision::kF32), twin(nullptr),
                          kF32Tolerance, 10 * kF32Tolerance);
}

TEST_P(Perceptrons, AgreeWithTheirPlainTwinInBf16) {
  if (base::usable_instruction_set() < base::InstructionSet::kAvx512Bf16) {
    GTEST_SKIP() << "needs avx512_bf16";
  }
  for (const nn::Products products : {nn::Products::kPairs, nn::Products::kFloats}) {
    SCOPED_TRACE(nn::to_string(products));
    expect_agreement<nn::Bf16>(options_for(GetParam(), nn::Precision::kBf16, products),
                               twin(to_bf16), kBf16Tolerance, kBf16GradientTolerance);
  }
}

TEST_P(Perceptrons, GiveTheSameBitsOnAnyNumberOfThreads) {
  if (base::usable_instruction_set() < base::InstructionSet::kAvx512) {
    GTEST_SKIP() << "needs avx512: oneDNN's AVX2 products sum in an order that threads decide";
  }
  if (!nn::library_version().starts_with("2.")) {
    GTEST_SKIP() << "needs oneDNN 2: the products of oneDNN 3 sum in an order that threads decide";
  }
  const int usual = omp_get_max_threads();
  std::vector<std::vector<std::vector<float>>> results;  // by run, then tensor
  for (const int threads : {1, 2, 3}) {
    omp_set_num_threads(threads);
    nn::Device device;
    nn::Executor executor(net_, options_for(GetParam(), nn::Precision::kF32), device, nullptr);
    load(executor, net_, parameters_);
    std::vector<std::vector<float>>& all = results.emplace_back();
    all.push_back(run<float>(executor));
    const auto features = executor.input_gradient<float>(kFeatures);
    all.emplace_back(features.begin(), features.end());
    for (std::size_t i = 0; i < net_.parameters().size(); ++i) {
      all.push_back(executor.parameters().read_gradient(static_cast<int>(i)));
    }
  }
  omp_set_num_threads(usual);
  for (std::size_t i = 0; i < results[0].size(); ++i) {
    const std::string name = i == 0   ? "outputs"
                             : i == 1 ? "gradient of features"
                                      : net_.parameters()[i - 2].name;
    EXPECT_EQ(results[0][i], results[1][i]) << name;
    EXPECT_EQ(results[0][i], results[2][i]) << name;
  }
}

TEST_P(Perceptrons, AddTheGradientsOfSeveralPasses) {
  nn::ExecutorOptions options = options_for(GetParam(), nn::Precision::kF32);
  options.accumulates = true;
  nn::Device device;
  nn::Executor executor(net_, options, device, nullptr);
  load(executor, net_, parameters_);
  run<float>(executor);
  run<float>(executor, true);
  plain::Pass pass = twin(nullptr);
  for (std::size_t i = 0; i < pass.parameter_gradients.size(); ++i) {
    for (double& value : pass.parameter_gradients[i]) value *= 2.0;
    EXPECT_LT(error_of(executor.parameters().read_gradient(static_cast<int>(i)),
                       pass.parameter_gradients[i]),
              10 * kF32Tolerance)
        << net_.parameters()[i].name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Perceptrons,
    testing::Values(PerceptronShape{"toy", 3, 3, 2, {5, 4}, {6, 1}},
                    PerceptronShape{"one_sample", 3, 2, 1, {16}, {8, 1}},
                    PerceptronShape{"odd_widths", 13, 5, 67, {30, 19}, {33, 17, 3}},
                    PerceptronShape{"one_table", 7, 1, 20, {32, 20}, {16, 1}},
                    PerceptronShape{"sixteen_vectors", 13, 15, 35, {40, 32}, {32, 1}},
                    PerceptronShape{"thirty_two_vectors", 13, 31, 35, {64, 48}, {32, 1}},
                    PerceptronShape{"as_mlperf", 13, 26, 70, {512, 256, 128}, {256, 64, 1}},
                    PerceptronShape{"many_tables", 16, 40, 33, {64, 48}, {64, 1}}),
    [](const auto& named) { return named.param.name; });

/// S(shape; a, b, c) of the published figures: element i is a sin(b i + c).
Array sines(std::int64_t count, double a, double b, double c) {
  Array values;
  for (std::int64_t i = 0; i < count; ++i)
    values.push_back(a * std::sin(b * static_cast<double>(i) + c));
  return values;
}

/// A recommendation model with vectors of four elements and three tables; the figures were computed
/// in double precision.
class ToyModel : public testing::Test {
 protected:
  ToyModel()
      : net_(network_of(PerceptronShape{"toy", 3, 3, 2, {5, 4}, {6, 1}})),
        parameters_({sines(15, .5, .7, .1), sines(5, .1, 1.1, .2), sines(20, .5, .9, .3),
                     sines(4, .1, 1.3, .4), sines(60, .3, .35, .15), sines(6, .1, .45, .25),
                     sines(6, .3, .55, .35), sines(1, .1, .65, .45)}) {
    for (const double count : {0., 3., 10., 1., 0., 100.}) dense_.push_back(std::log1p(count));
    const std::vector<Array> tables = {sines(12, .4, .5, .6), sines(20, .4, .6, .7),
                                       sines(8, .4, .8, .9)};
    const std::vector<std::vector<std::size_t>> ids = {{0, 4, 1}, {2, 1, 1}};
    for (const auto& sample : ids) {
      for (std::size_t table = 0; table < tables.size(); ++table) {
        const auto row = tables[table].begin() + static_cast<std::ptrdiff_t>(4 * sample[table]);
        features_.insert(features_.end(), row, row + 4);
      }
    }
  }
  Network net_;
  std::vector<Array> parameters_;
  Array dense_, features_;
};

double norm(const std::vector<float>& values) {
  double squares = 0.0;
  for (const float value : values)
    squares += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(squares);
}

TEST_F(ToyModel, GivesThePublishedFigures) {
  nn::Device device;
  nn::ExecutorOptions options;
  options.batch = 2;
  options.kernels = nn::kernels(base::usable_instruction_set());
  nn::Executor executor(net_, options, device, nullptr);
  load(executor, net_, parameters_);
  std::copy(dense_.begin(), dense_.end(), executor.input().begin());
  set_features<float>(executor, features_);
  executor.forward(nn::Mode::kTraining);
  const auto logits = executor.outputs();
  EXPECT_NEAR(logits[0], .169802136, 1e-7);
  EXPECT_NEAR(logits[1], .133069112, 1e-7);
  // The gradient of the mean binary cross entropy for labels 1 and 0.
  const std::vector<double> labels = {1.0, 0.0};
  for (std::size_t n = 0; n < 2; ++n) {
    const double probability = 1.0 / (1.0 + std::exp(-static_cast<double>(logits[n])));
    executor.output_gradient()[n] = static_cast<float>((probability - labels[n]) / 2.0);
  }
  executor.backward(false, nullptr);
  EXPECT_NEAR(norm(executor.parameters().read_gradient(0)), .0290625474, 1e-8);
  EXPECT_NEAR(norm(executor.parameters().read_gradient(4)), .1165393467, 1e-8);
  const auto gradient = executor.input_gradient<float>(kFeatures);
  const std::vector<double> first = {-.010213754, -.011519512, -.007763593, -.00059443};
  // Both samples read row 1 of the last table.
  const std::vector<double> last = {.004437995, .000562721, .001958564, .005476998};
  for (std::size_t c = 0; c < 4; ++c) {
    EXPECT_NEAR(gradient[c], first[c], 1e-8);
    EXPECT_NEAR(gradient[8 + c] + gradient[20 + c], last[c], 1e-8);
  }
}

/// Records its notifications, and fills in the features when they are needed.
class Witness final : public nn::PassListener {
 public:
  Witness(nn::Executor& executor, const Array& features)
      : executor_(executor), features_(features) {}
  void input_needed(ValueId value) override {
    told.push_back("needed " + std::to_string(value));
    set_features<float>(executor_, features_);
  }
  void input_gradient_ready(ValueId value) override {
    told.push_back("ready " + std::to_string(value));
  }
  void gradients_ready(std::int64_t floats) override {
    told.push_back(floats == all() ? "all" : "some");
  }
  std::int64_t all() const {
    return static_cast<std::int64_t>(executor_.parameters().all_gradients().size());
  }
  std::vector<std::string> told;

 private:
  nn::Executor& executor_;
  const Array& features_;
};

TEST_F(ToyModel, AsksForFeaturesLateAndTellsTheirGradientEarly) {
  nn::Device device;
  nn::ExecutorOptions options;
  options.batch = 2;
  options.kernels = nn::kernels(base::usable_instruction_set());
  nn::Executor executor(net_, options, device, nullptr);
  load(executor, net_, parameters_);
  std::copy(dense_.begin(), dense_.end(), executor.input().begin());
  Witness witness(executor, features_);
  executor.forward(nn::Mode::kTraining, &witness);
  EXPECT_NEAR(executor.outputs()[0], .169802136, 1e-7);
  executor.output_gradient()[0] = executor.output_gradient()[1] = 1.0F;
  executor.backward(false, &witness);
  EXPECT_EQ(witness.told, (std::vector<std::string>{"needed 1", "some", "some", "some", "ready 1",
                                                    "some", "some", "all"}));
}

TEST(Interaction, RefusesFeaturesOfAnotherWidth) {
  Network net;
  const ValueId dense = net.input({4, {}});
  const ValueId features = net.input({10, {}}, nn::InputGradient::kWanted);
  EXPECT_THROW(net.dot_interaction(dense, features), base::ShapeError);
}

TEST(Interaction, CountsItsProducts) {
  Network net;
  const ValueId dense = net.input({128, {}});
  const ValueId features = net.input({26 * 128, {}}, nn::InputGradient::kWanted);
  const ValueId made = net.dot_interaction(dense, features);
  EXPECT_EQ(net.shape(made).channels, 479);
  EXPECT_EQ(net.forward_macs(), 351 * 128);
}

}  // namespace
