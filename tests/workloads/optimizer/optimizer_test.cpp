// SGD and LARS against published two-step vectors and against plain float64 twins, which follow the
// papers' equations one by one.
#include "workloads/optimizer/optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>

#include "runner/base/error.h"
#include "workloads/optimizer/momentum_optimizers.h"
#include "workloads/optimizer/optimizer_trial.h"

namespace {

using namespace optimizer_trial;
using nn::DecayMode;
using nn::LarsVariant;
using nn::MomentumForm;

/// SGD as torch.optim.SGD and keras.optimizers.SGD write it, in float64.
void twin_sgd(Pair& p, const nn::SgdConfig& c, double lr) {
  const double m = c.momentum, wd = p.decays ? c.weight_decay : 0.0;
  for (std::size_t i = 0; i < p.w.size(); ++i) {
    double g = p.g[i];
    if (c.decay_mode == DecayMode::kL2) g += wd * p.w[i];
    if (c.decay_mode == DecayMode::kKerasL2) g += 2 * wd * p.w[i];
    if (c.decay_mode == DecayMode::kDecoupled) p.w[i] -= lr * wd * p.w[i];
    if (c.form == MomentumForm::kTorch) {
      p.v[i] = m * p.v[i] + g;
      p.w[i] -= lr * (c.nesterov ? g + m * p.v[i] : p.v[i]);
    } else {
      p.v[i] = m * p.v[i] - lr * g;
      p.w[i] += c.nesterov ? m * p.v[i] - lr * g : p.v[i];
    }
  }
}

/// LARS in its three variants, in float64; `previous` is the learning rate of the step before.
void twin_lars(Pair& p, const nn::LarsConfig& c, double lr, double previous) {
  const double m = c.momentum, wd = p.decays ? c.weight_decay : 0.0;
  const double wn = norm(p.w), gn = norm(p.g);
  double trust = 1.0;
  if (p.decays && wn > 0 && gn > 0) trust = c.eta * wn / (gn + wd * wn + c.epsilon);
  for (std::size_t i = 0; i < p.w.size(); ++i) {
    const double u = p.g[i] + wd * p.w[i];
    switch (c.variant) {
      case LarsVariant::kScaled:
        p.v[i] = m * p.v[i] + lr * trust * u;
        p.w[i] -= c.nesterov ? m * p.v[i] + lr * trust * u : p.v[i];
        break;
      case LarsVariant::kCorrected:
        p.v[i] = m * (previous > 0 ? lr / previous : 1.0) * p.v[i] + lr * trust * u;
        p.w[i] -= c.nesterov ? m * p.v[i] + lr * trust * u : p.v[i];
        break;
      case LarsVariant::kUnscaled:
        p.v[i] = m * p.v[i] + trust * u;
        p.w[i] -= lr * (c.nesterov ? m * p.v[i] + trust * u : p.v[i]);
        break;
    }
  }
}

nn::LarsConfig lars_config(LarsVariant variant, double weight_decay) {
  nn::LarsConfig config;
  config.variant = variant;
  config.weight_decay = weight_decay;
  return config;
}

TEST(Sgd, TorchFormAppliesTheNewLearningRateToOldMomentum) {
  const auto sgd = nn::make_sgd({});
  expect_near(trajectory(*sgd, {1}, {.1, .05}, {{1}, {1}})[1], {.805});
}

TEST(Sgd, KerasFormKeepsTheOldLearningRateInTheMomentum) {
  nn::SgdConfig config;
  config.form = MomentumForm::kKeras;
  const auto sgd = nn::make_sgd(config);
  expect_near(trajectory(*sgd, {1}, {.1, .05}, {{1}, {1}})[1], {.76});
}

TEST(Sgd, AgreesWithItsTwinInEveryCombination) {
  for (const auto form : {MomentumForm::kTorch, MomentumForm::kKeras}) {
    for (const auto mode : {DecayMode::kL2, DecayMode::kKerasL2, DecayMode::kDecoupled}) {
      for (const double momentum : {0.0, 0.9}) {
        for (const bool nesterov : {false, true}) {
          SCOPED_TRACE(testing::Message() << static_cast<int>(form) << static_cast<int>(mode)
                                          << " momentum " << momentum << nesterov);
          const nn::SgdConfig config{momentum, 0.01, mode, form, nesterov};
          const auto sgd = nn::make_sgd(config);
          expect_agreement(*sgd, [&](std::vector<Pair>& tensors, double lr, double) {
            for (Pair& p : tensors) twin_sgd(p, config, lr);
          });
        }
      }
    }
  }
}

TEST(Sgd, NeedsNoStateWithoutMomentum) {
  nn::SgdConfig config;
  config.momentum = 0.0;
  const auto sgd = nn::make_sgd(config);
  trajectory(*sgd, {1, 2}, {.1}, {{1, 1}});
  EXPECT_TRUE(sgd->state().empty());
}

// eta .001, wd 2e-4, m .9, constant gradient.
TEST(Lars, VariantsPartAtTheSecondStepWhenTheRateHalves) {
  const std::vector<std::pair<LarsVariant, Vector>> second = {
      {LarsVariant::kScaled, {2.92815, 3.9042}},
      {LarsVariant::kCorrected, {2.94165, 3.9222}},
      {LarsVariant::kUnscaled, {2.94165, 3.9222}}};
  for (const auto& [variant, expected] : second) {
    const auto lars = nn::make_lars(lars_config(variant, 2e-4));
    const auto path = trajectory(*lars, {3, 4}, {10, 5}, {{.6, .8}, {.6, .8}});
    expect_near(path[0], {2.97, 3.96});
    expect_near(path[1], expected);
  }
}

TEST(Lars, FollowsTheReferenceWithChangingGradients) {
  const auto scaled = nn::make_lars(lars_config(LarsVariant::kScaled, .01));
  const auto path = trajectory(*scaled, {3, 4}, {10, 5}, {{.6, .8}, {-.3, .4}});
  expect_near(path[0], {2.97, 3.96});
  expect_near(path[1], {2.9551745678, 3.9042});
  const auto unscaled = nn::make_lars(lars_config(LarsVariant::kUnscaled, .01));
  expect_near(trajectory(*unscaled, {3, 4}, {10, 5}, {{.6, .8}, {-.3, .4}})[1],
              {2.9686745678, 3.9222});
}

TEST(Lars, AgreesWithItsTwinInEveryCombination) {
  for (const auto variant :
       {LarsVariant::kScaled, LarsVariant::kCorrected, LarsVariant::kUnscaled}) {
    for (const bool nesterov : {false, true}) {
      for (const double momentum : {0.0, 0.9}) {
        SCOPED_TRACE(testing::Message() << static_cast<int>(variant) << nesterov << momentum);
        // A large eta makes the trust ratio matter at these rates.
        const nn::LarsConfig config{momentum, 0.01, 0.2, 1e-3, variant, nesterov};
        const auto lars = nn::make_lars(config);
        expect_agreement(*lars, [&](std::vector<Pair>& tensors, double lr, double previous) {
          for (Pair& p : tensors) twin_lars(p, config, lr, previous);
        });
      }
    }
  }
}

/// As the solvers of AlexNet had it; computed in float64.
TEST(Lars, OfAllTensorsMovesBiasesByTheirOwnNorms) {
  nn::LarsConfig config = lars_config(LarsVariant::kScaled, 5e-4);
  config.scope = nn::DecayScope::kAll;
  const auto lars = nn::make_lars(config);
  Pair weights({.5, -.25, 1, 2}, true), bias({0, 0}, false);
  const std::vector<std::pair<double, double>> steps = {{1, 1}, {5.5, 2}, {10, -1}};
  const std::vector<Vector> known_weights = {
      {.499579021029, -.250839333385, 1.0012576878, 1.99831608412},
      {.496886132642, -.256215525821, 1.00931718428, 1.98754453057},
      {.498639215998, -.252674564174, 1.00398834435, 1.99455686399}};
  const std::vector<Vector> known_biases = {
      {-.05, .02}, {-.0952748625344, .0381099450137}, {-.13506949019, .054027796076}};
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto [rate, f] = steps[i];
    weights.set_gradient({.1 * f, .2 * f, -.3 * f, .4 * f});
    bias.set_gradient({.05 * f, -.02 * f});
    const std::vector<nn::ParameterView> views = {weights.view("w"), bias.view("b")};
    lars->begin_update(views, rate);
    lars->update(views, {0, 2});
    for (std::size_t e = 0; e < 4; ++e)
      EXPECT_NEAR(weights.weights[e], known_weights[i][e], 2e-7) << i;
    for (std::size_t e = 0; e < 2; ++e) EXPECT_NEAR(bias.weights[e], known_biases[i][e], 2e-8) << i;
  }
}

TEST(Lars, WithTrustOneIsMomentumSgd) {
  // Without decay, eta = ||g|| / ||w|| gives trust 1; here both norms are 5.
  nn::LarsConfig config = lars_config(LarsVariant::kUnscaled, 0.0);
  config.eta = 1.0;
  const auto lars = nn::make_lars(config);
  const auto sgd = nn::make_sgd({});
  EXPECT_EQ(trajectory(*lars, {3, 4}, {.1}, {{4, 3}})[0],
            trajectory(*sgd, {3, 4}, {.1}, {{4, 3}})[0]);
}

TEST(Lars, TreatsTensorsThatDoNotDecayAsPlainSgd) {
  std::vector<Pair> with_lars = random_tensors(), with_sgd = random_tensors();
  const auto lars = nn::make_lars(lars_config(LarsVariant::kUnscaled, 0.01));
  const auto sgd = nn::make_sgd({});
  for (std::vector<Pair>* tensors : {&with_lars, &with_sgd}) {
    for (Pair& tensor : *tensors) {
      tensor.decays = false;
      tensor.set_gradient(random_vector(tensor.w.size(), 5, 0.1));
    }
  }
  for (const double rate : kRates) {
    lars->step(views_of(with_lars), rate);
    sgd->step(views_of(with_sgd), rate);
  }
  for (std::size_t t = 0; t < with_lars.size(); ++t) {
    EXPECT_EQ(with_lars[t].weights, with_sgd[t].weights);
  }
}

TEST(Lars, TrustIsOneWhereANormIsZero) {
  const auto lars = nn::make_lars(lars_config(LarsVariant::kScaled, 0.0));
  expect_near(trajectory(*lars, {0, 0}, {.5}, {{1, 2}})[0], {-.5, -1});
}

TEST(Optimizer, GivesTheSameBitsOnAnyNumberOfThreads) {
  const int before = omp_get_max_threads();
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 2, 3}) {
    omp_set_num_threads(threads);
    std::vector<Pair> tensors = random_tensors();
    const auto lars = nn::make_lars(lars_config(LarsVariant::kScaled, 1e-4));
    for (std::uint64_t step = 0; step < 3; ++step) {
      for (Pair& tensor : tensors) tensor.set_gradient(random_vector(tensor.w.size(), step, 1.0));
      lars->step(views_of(tensors), 5.0);
    }
    results.push_back(tensors.back().weights);
  }
  omp_set_num_threads(before);
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST(Optimizer, KeepsZeroPaddingAtZero) {
  for (const bool use_lars : {false, true}) {
    const auto optimizer =
        use_lars ? nn::make_lars(lars_config(LarsVariant::kScaled, 0.1)) : nn::make_sgd({});
    const auto path = trajectory(*optimizer, {1, 0, 2, 0}, {.1, .1}, {{1, 0, 1, 0}, {1, 0, 1, 0}});
    EXPECT_EQ(path[1][1], 0.0);
    EXPECT_EQ(path[1][3], 0.0);
  }
}

TEST(Optimizer, ContinuesBitForBitFromSavedState) {
  for (const auto variant : {LarsVariant::kScaled, LarsVariant::kCorrected}) {
    const auto whole = nn::make_lars(lars_config(variant, 1e-3));
    Pair tensor(random_vector(5000, 1, 1.0), true);
    tensor.set_gradient(random_vector(5000, 2, 1.0));
    whole->step(std::vector{tensor.view("w")}, 3.3);

    const auto resumed = nn::make_lars(lars_config(variant, 1e-3));
    Pair copy = tensor;
    resumed->prepare(std::vector{copy.view("w")});
    const auto from = whole->state(), to = resumed->state();
    ASSERT_EQ(from.size(), to.size());
    for (std::size_t i = 0; i < from.size(); ++i) {
      EXPECT_EQ(from[i].name, to[i].name);
      std::copy(from[i].values.begin(), from[i].values.end(), to[i].values.begin());
    }
    whole->step(std::vector{tensor.view("w")}, 1.1);
    resumed->step(std::vector{copy.view("w")}, 1.1);
    EXPECT_EQ(tensor.weights, copy.weights);
  }
}

TEST(Optimizer, NamesItsStateAfterTheParameters) {
  const auto lars = nn::make_lars(lars_config(LarsVariant::kCorrected, 0.0));
  EXPECT_TRUE(lars->state().empty());
  trajectory(*lars, {1, 2, 3}, {.1}, {{1, 1, 1}});
  const auto state = lars->state();
  ASSERT_EQ(state.size(), 2U);
  EXPECT_EQ(state[0].name, "momentum/w");
  EXPECT_EQ(state[0].parameter_index, 0);
  EXPECT_EQ(state[0].values.size(), 3U);
  EXPECT_EQ(state[1].name, "previous_learning_rate");
  EXPECT_EQ(state[1].parameter_index, -1);
}

TEST(Optimizer, RefusesOtherParametersThanBefore) {
  const auto sgd = nn::make_sgd({});
  Pair a({1, 2}, true), b({1, 2, 3}, true);
  sgd->step(std::vector{a.view("a")}, 0.1);
  EXPECT_THROW(sgd->step(std::vector{b.view("a")}, 0.1), base::ShapeError);
  EXPECT_THROW(sgd->step(std::vector{a.view("b")}, 0.1), base::ShapeError);
}

TEST(OptimizerConfig, ReadsWhatTheLogNeeds) {
  const auto lars = parse_optimizer(
      R"({"name": "lars", "momentum": 0.94, "weight_decay": 2.5e-5, "epsilon": 0})");
  EXPECT_EQ(lars->hyperparameters().name, "lars");
  EXPECT_EQ(lars->hyperparameters().momentum, 0.94);
  EXPECT_EQ(lars->hyperparameters().weight_decay, 2.5e-5);
  EXPECT_EQ(parse_optimizer(R"({"name": "sgd"})")->hyperparameters().name, "sgd");
}

TEST(OptimizerConfig, RefusesWhatCannotBe) {
  for (const char* text :
       {R"({"name": "rmsprop"})", R"({"momentum": 1.0})", R"({"momentum": -0.1})",
        R"({"weight_decay": -1e-4})", R"({"momentum": 0, "nesterov": true})",
        R"({"name": "sgd", "eta": 0.001})", R"({"name": "lars", "eta": 0})",
        R"({"name": "lars", "form": "keras"})", R"({"weight_decay_mode": "l1"})"}) {
    EXPECT_THROW(parse_optimizer(text), base::ConfigError) << text;
  }
}

}  // namespace
