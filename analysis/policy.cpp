// What the rules say of settings and MLCommons' checker does not look at.
// Hides the tables.
#include "analysis/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/key_roles.h"
#include "runner/mllog/keys.h"

namespace analysis {
namespace {

namespace keys = mllog::keys;
using enum PolicyBound::Kind;
using enum Rule;

constexpr double kLarsFreeFrom = 32768.0;
/// Twenty evaluations in the one epoch.
constexpr double kTwentieth = 0.05;

/// Source: MLPerf training policies, Hyperparameters (also of deprecated benchmarks), and MLPerf
/// HPC training rules, Hyperparameters and Optimizer. Sizes of datasets: published results.
constexpr std::array kBounds = {
    PolicyBound{kHyperparameter, "resnet", keys::kSgdPolyPower, kEquals, 2, 0, {}},
    PolicyBound{kHyperparameter, "resnet", keys::kSgdMomentum, kEquals, 0.9, 0, {}},
    PolicyBound{kHyperparameter, "resnet", keys::kSgdDecaySteps, kWholeAtLeast, 0, 0, {}},
    PolicyBound{kHyperparameter, "resnet", keys::kWarmupEpochs, kWholeAtLeast, 0, 0, {}},
    PolicyBound{kHyperparameter, "resnet", keys::kLarsMomentum, kEquals, 0.9, 0, kLarsFreeFrom},
    PolicyBound{kHyperparameter, "resnet", keys::kLarsBaseLearningRate, kAtLeast, 0, 0, {}},
    PolicyBound{kHyperparameter, "resnet", keys::kLarsWarmupEpochs, kAtLeast, 0, 0, {}},
    PolicyBound{kHyperparameter, "resnet", keys::kModelBnSpan, kAbove, 0, 0, {}},
    PolicyBound{kHyperparameter, "dlrm", keys::kGlobalBatchSize, kAbove, 0, 0, {}},
    PolicyBound{kHyperparameter, "dlrm", "opt_base_learning_rate", kAtLeast, 0, 0, {}},
    PolicyBound{kHyperparameter, "dlrm", "opt_learning_rate_warmup_steps", kAtLeast, 0, 0, {}},
    PolicyBound{kHyperparameter, "dlrm", "lr_decay_start_steps", kAtLeast, 0, 0, {}},
    PolicyBound{kHyperparameter, "dlrm", keys::kSgdBaseLearningRate, kAtLeast, 0, 0, {}},
    PolicyBound{kHyperparameter, "dlrm", keys::kSgdDecaySteps, kAtLeast, 0, 0, {}},
    PolicyBound{kHyperparameter, "dlrm_dcnv2", keys::kGlobalBatchSize, kAbove, 0, 0, {}},
    PolicyBound{kHyperparameter, "dlrm_dcnv2", "opt_base_learning_rate", kAtLeast, 0, 0, {}},
    PolicyBound{kHyperparameter, "cosmoflow", "sgd_opt_momentum", kEquals, 0.9, 0, {}},
    PolicyBound{kHyperparameter,
                "cosmoflow",
                "opt_learning_rate_decay_boundary_epochs",
                kWholeAtLeast,
                1,
                0,
                {}},
    PolicyBound{kHyperparameter, "cosmoflow", "opt_learning_rate_decay_factor", kInside, 0, 1, {}},
    PolicyBound{kHyperparameter, "deepcam", "opt_weight_decay", kAtLeast, 0, 0, {}},
    PolicyBound{kHyperparameter, "oc20", "opt_base_learning_rate", kAbove, 0, 0, {}},
    PolicyBound{kHyperparameter, "oc20", "opt_learning_rate_warmup_factor", kWithin, 0, 1, {}},
    PolicyBound{
        kHyperparameter, "oc20", "opt_learning_rate_decay_boundary_steps", kWholeAtLeast, 1, 0, {}},
    PolicyBound{kHyperparameter, "oc20", "opt_learning_rate_decay_factor", kWithin, 0, 1, {}},
    PolicyBound{kHyperparameter, "openfold", keys::kGlobalBatchSize, kWholeAtLeast, 1, 0, {}},
    PolicyBound{kHyperparameter, "openfold", "opt_base_learning_rate", kAtLeast, 0, 0, {}},
    PolicyBound{kHyperparameter, "openfold", "opt_learning_rate_warmup_init", kAtLeast, 0, 0, {}},
    PolicyBound{kHyperparameter, "openfold", "opt_learning_rate_warmup_steps", kAtLeast, 0, 0, {}},
    PolicyBound{kSampleCount, "resnet", keys::kTrainSamples, kEquals, 1281167, 0, {}},
    PolicyBound{kSampleCount, "resnet", keys::kEvalSamples, kEquals, 50000, 0, {}},
    PolicyBound{kSampleCount, "cosmoflow", keys::kTrainSamples, kEither, 524288, 262144, {}},
    PolicyBound{kSampleCount, "cosmoflow", keys::kEvalSamples, kEquals, 65536, 0, {}},
    PolicyBound{kSampleCount, "deepcam", keys::kTrainSamples, kEither, 121266, 121216, {}},
    PolicyBound{kSampleCount, "deepcam", keys::kEvalSamples, kEquals, 15158, 0, {}},
    PolicyBound{kSampleCount, "oc20", keys::kTrainSamples, kEquals, 2000000, 0, {}},
    PolicyBound{kSampleCount, "oc20", keys::kEvalSamples, kEquals, 999866, 0, {}},
    PolicyBound{kSampleCount, "dlrm", keys::kEvalSamples, kEquals, 89137319, 0, {}},
    PolicyBound{kSampleCount, "dlrm_dcnv2", keys::kTrainSamples, kEquals, 4195197692, 0, {}},
    PolicyBound{kSampleCount, "dlrm_dcnv2", keys::kEvalSamples, kEquals, 89137319, 0, {}},
};

/// Source: MLPerf training policies, Quality measure (also of deprecated benchmarks), and the
/// evaluations of published results.
constexpr std::array kCadences = {
    Cadence{"resnet", 4.0, false, "every 4 epochs"},
    Cadence{"cosmoflow", 1.0, false, "each epoch"},
    Cadence{"deepcam", 1.0, false, "each epoch"},
    Cadence{"oc20", 1.0, false, "each epoch"},
    Cadence{"openfold", 40.0, true, "every 40 iterations"},
    Cadence{"dlrm", kTwentieth, false, "20 times in an epoch"},
    Cadence{"dlrm_dcnv2", kTwentieth, false, "20 times in an epoch"},
};

/// Settings that are looked at for what they are, whatever the benchmark, beside those that a
/// report shows: they belong into a log once, with one value.
constexpr std::array kSettings = {keys::kSubmissionPocName,
                                  keys::kSubmissionPocEmail,
                                  keys::kGradientAccumulationSteps,
                                  keys::kSgdEndLearningRate,
                                  keys::kSgdWeightDecay,
                                  keys::kLarsEndLearningRate,
                                  keys::kLarsPolyPower,
                                  keys::kLarsEpsilon,
                                  keys::kLarsDecaySteps,
                                  keys::kLarsWeightDecay,
                                  "dropout",
                                  "opt_lr",
                                  "opt_betas",
                                  "opt_eps",
                                  "opt_learning_rate_warmup_factor",
                                  "opt_weight_decay",
                                  "scheduler_type",
                                  "batchnorm_group_size"};

bool is_whole(double value) { return std::isfinite(value) && std::floor(value) == value; }

}  // namespace

bool PolicyBound::met_by(double value) const {
  switch (kind) {
    case kEquals:
      return value == low;
    case kEither:
      return value == low || value == high;
    case kAtLeast:
      return std::isfinite(value) && value >= low;
    case kAbove:
      return std::isfinite(value) && value > low;
    case kInside:
      return value > low && value < high;
    case kWithin:
      return value >= low && value <= high;
    case kWholeAtLeast:
      return is_whole(value) && value >= low;
  }
  return true;
}

std::string PolicyBound::expectation() const {
  switch (kind) {
    case kEquals:
      return fmt::format("must be {}", low);
    case kEither:
      return fmt::format("must be {} or {}", low, high);
    case kAtLeast:
      return fmt::format("must be at least {}", low);
    case kAbove:
      return fmt::format("must be above {}", low);
    case kInside:
      return fmt::format("must lie between {} and {}, and be neither", low, high);
    case kWithin:
      return fmt::format("must lie between {} and {}", low, high);
    case kWholeAtLeast:
      return fmt::format("must be a whole number of at least {}", low);
  }
  return {};
}

std::span<const PolicyBound> policy_bounds() { return kBounds; }

const Cadence* find_cadence(std::string_view benchmark) {
  const auto found = std::find_if(kCadences.begin(), kCadences.end(),
                                  [&](const Cadence& one) { return one.benchmark == benchmark; });
  return found == kCadences.end() ? nullptr : &*found;
}

const std::vector<std::string_view>& setting_keys() {
  static const std::vector<std::string_view> all = [] {
    std::vector<std::string_view> names(kSettings.begin(), kSettings.end());
    names.insert(names.end(), config_keys().begin(), config_keys().end());
    for (const PolicyBound& bound : kBounds) names.push_back(bound.key);
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
  }();
  return all;
}

}  // namespace analysis
