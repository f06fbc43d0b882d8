// Adagrad, Adam and LAMB against published two-step vectors and against plain float64 twins, which
// follow the equations one by one.
#include "workloads/optimizer/adaptive_optimizers.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>

#include "runner/base/error.h"
#include "workloads/optimizer/momentum_optimizers.h"
#include "workloads/optimizer/optimizer_trial.h"

namespace {

using namespace optimizer_trial;
using nn::DecayScope;
using nn::LambTrust;

void twin_adagrad(std::vector<Pair>& tensors, const nn::AdagradConfig& c, double lr) {
  for (Pair& p : tensors) {
    for (std::size_t i = 0; i < p.w.size(); ++i) {
      const double g = p.g[i] + (p.decays ? c.weight_decay : 0.0) * p.w[i];
      p.squares[i] += g * g;
      p.w[i] -= lr * g / (std::sqrt(p.squares[i]) + c.epsilon);
    }
  }
}

double norm_of_all(const std::vector<Pair>& tensors) {
  Vector norms;
  for (const Pair& p : tensors) norms.push_back(norm(p.g));
  return norm(norms);
}

/// Update number t, counted from 1.
void twin_lamb(std::vector<Pair>& tensors, const nn::LambConfig& c, double lr, double t) {
  double clip = 1.0;
  if (c.max_gradient_norm > 0) clip = std::max(1.0, norm_of_all(tensors) / c.max_gradient_norm);
  for (Pair& p : tensors) {
    const bool in_scope = p.decays || c.scope == DecayScope::kAll;
    const double wd = in_scope ? c.weight_decay : 0.0;
    Vector u(p.w.size());
    for (std::size_t i = 0; i < u.size(); ++i) {
      const double g = p.g[i] / clip;
      p.v[i] = c.beta1 * p.v[i] + (1 - c.beta1) * g;
      p.squares[i] = c.beta2 * p.squares[i] + (1 - c.beta2) * g * g;
      const double first = p.v[i] / (1 - std::pow(c.beta1, t));
      const double second = p.squares[i] / (1 - std::pow(c.beta2, t));
      u[i] = first / (std::sqrt(second) + c.epsilon) + wd * p.w[i];
    }
    double ratio = 1.0;
    const bool has_trust = in_scope && (wd != 0.0 || c.trust == LambTrust::kAlways);
    if (has_trust && norm(p.w) > 0 && norm(u) > 0) ratio = norm(p.w) / norm(u);
    for (std::size_t i = 0; i < u.size(); ++i) p.w[i] -= lr * ratio * u[i];
  }
}

void twin_adam(std::vector<Pair>& tensors, const nn::AdamConfig& c, double lr, double t) {
  for (Pair& p : tensors) {
    const bool in_scope = p.decays || c.scope == DecayScope::kAll;
    const double wd = in_scope ? c.weight_decay : 0.0;
    for (std::size_t i = 0; i < p.w.size(); ++i) {
      const bool decoupled = c.decay == nn::AdamDecay::kDecoupled;
      const double g = p.g[i] + (decoupled ? 0.0 : wd * p.w[i]);
      p.v[i] = c.beta1 * p.v[i] + (1 - c.beta1) * g;
      p.squares[i] = c.beta2 * p.squares[i] + (1 - c.beta2) * g * g;
      const double first = p.v[i] / (1 - std::pow(c.beta1, t));
      const double second = p.squares[i] / (1 - std::pow(c.beta2, t));
      if (decoupled) p.w[i] -= lr * wd * p.w[i];
      p.w[i] -= lr * first / (std::sqrt(second) + c.epsilon);
    }
  }
}

const Vector kStart = {1, -2};
const std::vector<Vector> kGradients = {{.3, -.1}, {-.2, .4}};

TEST(Adagrad, FollowsTheReference) {
  const auto adagrad = nn::make_adagrad({});
  const auto path = trajectory(*adagrad, kStart, {.004, .004}, kGradients);
  // The tolerance is that of weights near 1 and 2 in single precision.
  expect_near(path[0], {.996, -1.996}, 3e-7);
  expect_near(path[1], {.9982188009, -1.9998805703}, 3e-7);
}

TEST(Adagrad, AgreesWithItsTwin) {
  for (const double weight_decay : {0.0, 0.01}) {
    const nn::AdagradConfig config{weight_decay, 1e-3};
    const auto adagrad = nn::make_adagrad(config);
    expect_agreement(*adagrad, [&](std::vector<Pair>& tensors, double lr, double) {
      twin_adagrad(tensors, config, lr);
    });
  }
}

TEST(Adagrad, LeavesWeightsWithoutAGradientAlone) {
  const auto adagrad = nn::make_adagrad({});
  const auto path = trajectory(*adagrad, {1, 0, 2}, {.1, .1}, {{0, 0, 1}, {0, 0, 1}});
  EXPECT_EQ(path[1][0], 1.0);
  EXPECT_EQ(path[1][1], 0.0);
  EXPECT_NE(path[1][2], 2.0);
}

TEST(Adam, FollowsTheReference) {
  const nn::AdamConfig config{.epsilon = 1e-6, .weight_decay = 0.01};
  const auto path = trajectory(*nn::make_adam(config), kStart, {.01, .01}, kGradients);
  expect_near(path[0], {.9900000323, -1.9900000833}, 3e-7);
  expect_near(path[1], {.9881801949, -1.9950801606}, 3e-7);
}

TEST(AdamW, FollowsTheReference) {
  const nn::AdamConfig config{
      .epsilon = 1e-6, .weight_decay = 0.01, .decay = nn::AdamDecay::kDecoupled};
  const auto path = trajectory(*nn::make_adam(config), kStart, {.01, .01}, kGradients);
  expect_near(path[0], {.9899000333, -1.9898001}, 3e-7);
  expect_near(path[1], {.9883558437, -1.9951961357}, 3e-7);
}

TEST(Adam, AgreesWithItsTwinInEveryCombination) {
  for (const auto decay : {nn::AdamDecay::kL2, nn::AdamDecay::kDecoupled}) {
    for (const auto scope : {DecayScope::kAll, DecayScope::kWeights}) {
      for (const double weight_decay : {0.0, 0.1}) {
        SCOPED_TRACE(testing::Message()
                     << static_cast<int>(decay) << static_cast<int>(scope) << ' ' << weight_decay);
        const nn::AdamConfig config{.8, .95, 1e-2, weight_decay, decay, scope};
        const auto adam = nn::make_adam(config);
        double updates = 0.0;
        expect_agreement(*adam, [&](std::vector<Pair>& tensors, double lr, double) {
          twin_adam(tensors, config, lr, ++updates);
        });
      }
    }
  }
}

TEST(Lamb, FollowsTheReference) {
  const auto lamb = nn::make_lamb({});
  const auto path = trajectory(*lamb, kStart, {.01, .01}, kGradients);
  // The tolerance is that of weights near 1 and 2 in single precision.
  expect_near(path[0], {.9842666395, -1.984110967}, 3e-7);
  expect_near(path[1], {.9781756857, -2.0054052854}, 3e-7);
}

TEST(Lamb, AgreesWithItsTwinInEveryCombination) {
  for (const auto scope : {DecayScope::kAll, DecayScope::kWeights}) {
    for (const auto trust : {LambTrust::kDecayed, LambTrust::kAlways}) {
      for (const double weight_decay : {0.0, 0.1}) {
        for (const double max_norm : {0.0, 2.0, 1e6}) {
          SCOPED_TRACE(testing::Message() << static_cast<int>(scope) << static_cast<int>(trust)
                                          << ' ' << weight_decay << ' ' << max_norm);
          // A large epsilon keeps rounding errors from being amplified where both moments are
          // small.
          const nn::LambConfig config{.8, .95, 1e-2, weight_decay, max_norm, scope, trust};
          const auto lamb = nn::make_lamb(config);
          double updates = 0.0;
          expect_agreement(*lamb, [&](std::vector<Pair>& tensors, double lr, double) {
            twin_lamb(tensors, config, lr, ++updates);
          });
        }
      }
    }
  }
}

TEST(Lamb, BoundsTheNormOfAllGradientsTogether) {
  // Two tensors of norms 3 and 4 with a limit of 1: the same as a fifth of the gradients without a
  // limit.
  const auto after_step = [](double max_norm, double factor) {
    const auto lamb = nn::make_lamb({.epsilon = 1.0, .max_gradient_norm = max_norm});
    Pair a({1, 1}, true), b({1, 1}, true);
    a.set_gradient({3 * factor, 0});
    b.set_gradient({0, 4 * factor});
    lamb->step(std::vector{a.view("a"), b.view("b")}, 0.5);
    return std::pair(a.weights, b.weights);
  };
  EXPECT_EQ(after_step(1.0, 1.0), after_step(0.0, 0.2));
  EXPECT_NE(after_step(1.0, 1.0), after_step(0.0, 1.0));
  EXPECT_EQ(after_step(6.0, 1.0), after_step(0.0, 1.0));
}

TEST(Lamb, HasATrustRatioOfOneWhereWeightsAreZero) {
  const auto lamb = nn::make_lamb({.epsilon = 1e-30});
  // The first step has the sign of the gradient.
  expect_near(trajectory(*lamb, {0, 0}, {.5}, {{.1, -.2}})[0], {-.5, .5});
}

TEST(Lamb, CountsUpdatesWithoutEnd) {
  const auto lamb = nn::make_lamb({});
  Pair tensor({1, 2}, true);
  tensor.set_gradient({.1, .2});
  lamb->prepare(std::vector{tensor.view("w")});
  const auto views = lamb->state();
  views.back().values[0] = 16777216.0F;  // 2^24: adding 1 rounds back to it
  lamb->step(std::vector{tensor.view("w")}, 0.1);
  for (const float weight : tensor.weights) EXPECT_TRUE(std::isfinite(weight));
}

/// Tests common to Adagrad and LAMB.
class Adaptive : public testing::TestWithParam<const char*> {
 protected:
  static std::unique_ptr<nn::Optimizer> make() {
    if (std::string(GetParam()) == "adagrad") return nn::make_adagrad({.weight_decay = 1e-3});
    return nn::make_lamb({});
  }
};

TEST_P(Adaptive, GivesTheSameBitsOnAnyNumberOfThreads) {
  const int before = omp_get_max_threads();
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 2, 3}) {
    omp_set_num_threads(threads);
    std::vector<Pair> tensors = random_tensors();
    const auto optimizer = make();
    for (std::uint64_t step = 0; step < 3; ++step) {
      for (Pair& tensor : tensors) tensor.set_gradient(random_vector(tensor.w.size(), step, 1.0));
      optimizer->step(views_of(tensors), 0.1);
    }
    results.push_back(tensors.back().weights);
  }
  omp_set_num_threads(before);
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST_P(Adaptive, KeepsZeroPaddingAtZero) {
  const auto optimizer = make();
  const auto path = trajectory(*optimizer, {1, 0, 2, 0}, {.1, .1}, {{1, 0, 1, 0}, {1, 0, 1, 0}});
  EXPECT_EQ(path[1][1], 0.0);
  EXPECT_EQ(path[1][3], 0.0);
}

TEST_P(Adaptive, ContinuesBitForBitFromSavedState) {
  const auto whole = make();
  Pair tensor(random_vector(5000, 1, 1.0), true);
  tensor.set_gradient(random_vector(5000, 2, 1.0));
  for (int step = 0; step < 3; ++step) whole->step(std::vector{tensor.view("w")}, 0.3);

  const auto resumed = make();
  Pair copy = tensor;
  resumed->prepare(std::vector{copy.view("w")});
  const auto from = whole->state(), to = resumed->state();
  ASSERT_EQ(from.size(), to.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    EXPECT_EQ(from[i].name, to[i].name);
    std::copy(from[i].values.begin(), from[i].values.end(), to[i].values.begin());
  }
  whole->step(std::vector{tensor.view("w")}, 0.1);
  resumed->step(std::vector{copy.view("w")}, 0.1);
  EXPECT_EQ(tensor.weights, copy.weights);
  // Without the state the step would have been different.
  const auto fresh = make();
  fresh->step(std::vector{copy.view("w")}, 0.1);
  whole->step(std::vector{tensor.view("w")}, 0.1);
  EXPECT_NE(tensor.weights, copy.weights);
}

TEST_P(Adaptive, RefusesOtherParametersThanBefore) {
  const auto optimizer = make();
  Pair a({1, 2}, true), b({1, 2, 3}, true);
  optimizer->step(std::vector{a.view("a")}, 0.1);
  EXPECT_THROW(optimizer->step(std::vector{b.view("a")}, 0.1), base::ShapeError);
}

INSTANTIATE_TEST_SUITE_P(Optimizers, Adaptive, testing::Values("adagrad", "lamb"),
                         [](const auto& optimizer) { return optimizer.param; });

TEST(AdaptiveState, IsNamedAfterBufferAndParameter) {
  const auto lamb = nn::make_lamb({});
  EXPECT_TRUE(lamb->state().empty());
  trajectory(*lamb, {1, 2, 3}, {.1, .1}, {{1, 1, 1}, {1, 1, 1}});
  const auto state = lamb->state();
  ASSERT_EQ(state.size(), 3U);
  EXPECT_EQ(state[0].name, "first_moment/w");
  EXPECT_EQ(state[1].name, "second_moment/w");
  EXPECT_EQ(state[1].parameter_index, 0);
  EXPECT_EQ(state[1].values.size(), 3U);
  EXPECT_EQ(state[2].name, "updates");
  EXPECT_EQ(state[2].parameter_index, -1);
  EXPECT_EQ(state[2].values[0], 2.0F);

  const auto adagrad = nn::make_adagrad({});
  trajectory(*adagrad, {1, 2, 3}, {.1}, {{2, 1, 1}});
  ASSERT_EQ(adagrad->state().size(), 1U);
  EXPECT_EQ(adagrad->state()[0].name, "squares/w");
  EXPECT_EQ(adagrad->state()[0].values[0], 4.0F);
}

TEST(AdaptiveState, TakesAsManyFloatsPerWeightAsItSays) {
  EXPECT_EQ(nn::make_adagrad({})->buffers(), 1);
  EXPECT_EQ(nn::make_lamb({})->buffers(), 2);
  EXPECT_EQ(nn::make_lars({})->buffers(), 1);
  EXPECT_EQ(nn::make_sgd({})->buffers(), 1);
  EXPECT_EQ(nn::make_sgd({.momentum = 0.0})->buffers(), 0);
}

TEST(AdaptiveConfig, ReadsWhatTheLogNeeds) {
  const nn::Hyperparameters lamb = parse_optimizer(R"({"name": "lamb", "beta1": 0.8, "beta2": 0.9,
      "epsilon": 1e-4, "weight_decay": 0.02, "max_gradient_norm": 3})")
                                       ->hyperparameters();
  EXPECT_EQ(lamb.name, "lamb");
  EXPECT_EQ(lamb.beta1, 0.8);
  EXPECT_EQ(lamb.beta2, 0.9);
  EXPECT_EQ(lamb.epsilon, 1e-4);
  EXPECT_EQ(lamb.weight_decay, 0.02);
  EXPECT_EQ(lamb.max_gradient_norm, 3.0);
  const nn::Hyperparameters adagrad = parse_optimizer(R"({"name": "adagrad"})")->hyperparameters();
  EXPECT_EQ(adagrad.name, "adagrad");
  EXPECT_EQ(adagrad.epsilon, 1e-8);
  EXPECT_EQ(adagrad.weight_decay, 0.0);
}

TEST(AdaptiveConfig, ReadsScopeAndTrust) {
  // At zero decay with scope all, trust alone decides between the gradient's sign and twice it.
  for (const bool always : {false, true}) {
    const auto lamb =
        parse_optimizer(always ? R"({"name": "lamb", "weight_decay": 0, "trust": "always"})"
                               : R"({"name": "lamb", "weight_decay": 0})");
    expect_near(trajectory(*lamb, {2, -2}, {.25}, {{.1, .1}})[0],
                always ? Vector{1.5, -2.5} : Vector{1.75, -2.25}, 1e-4);
  }
  const auto lamb = parse_optimizer(R"({"name": "lamb", "weight_decay": 0.5, "scope": "weights"})");
  Pair bias({2}, false);
  bias.set_gradient({.1});
  lamb->step(std::vector{bias.view("b")}, .25);
  EXPECT_NEAR(bias.weights[0], 1.75, 1e-4);
}

TEST(AdaptiveConfig, RefusesWhatCannotBe) {
  for (const char* text :
       {R"({"name": "adagrad", "epsilon": 0})", R"({"name": "adagrad", "momentum": 0.9})",
        R"({"name": "adagrad", "weight_decay": -1})", R"({"name": "lamb", "beta1": 1})",
        R"({"name": "lamb", "beta2": -0.1})", R"({"name": "lamb", "epsilon": 0})",
        R"({"name": "lamb", "max_gradient_norm": -1})", R"({"name": "lamb", "scope": "none"})",
        R"({"name": "lamb", "trust": "never"})", R"({"name": "lamb", "eta": 0.1})"}) {
    EXPECT_THROW(parse_optimizer(text), base::ConfigError) << text;
  }
}

}  // namespace
