// A run's time to train as a product: training per epoch x epochs x evaluation x other x staging.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>

#include "analysis/facts.h"

namespace analysis::comparison {

/// Seconds of a run; the parts sum up to ttt_s.
struct TimeAccount {
  double ttt_s = 0.0, staging_s = 0.0, train_s = 0.0, eval_s = 0.0, other_s = 0.0;
  std::optional<double> epochs;  ///< absent if unknown
};

/// Absent for a run without an end. Evaluations at the same time as training count as training. If
/// the log marks no epochs, all time but staging and evaluation counts as training.
std::optional<TimeAccount> account_of(const RunFacts& facts);

/// REQUIRES: at least one account.
TimeAccount mean_of(std::span<const TimeAccount> accounts);

/// The factors of ttt_s, in their order.
enum class Factor { kTraining, kEpochs, kEvaluation, kOther, kStaging };
inline constexpr std::size_t kFactorCount = 5;

struct FactorInfo {
  Factor factor;
  std::string name;        ///< "training"
  std::string unit;        ///< "s/epoch"; "" for a plain factor
  std::string definition;  ///< of its figure
};
const std::array<FactorInfo, kFactorCount>& factor_infos();

/// The factors, whose product is ttt_s. Without epochs, kEpochs is 1 and kTraining is all of
/// train_s. All are NaN if nothing was trained.
std::array<double, kFactorCount> factors_of(const TimeAccount& account);

}  // namespace analysis::comparison
