// A run's time to train as a product: training for an epoch x epochs x evaluation x rest x staging.
// Hides what logs leave out.
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
  std::optional<double> epochs;  ///< absent where the log does not tell
};

/// Nothing for a run without an end. Evaluations that run beside the training count as training,
/// and so does all but staging and evaluation where the log marks no epochs.
std::optional<TimeAccount> account_of(const RunFacts& facts);

/// Of at least one account.
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

/// One number for each factor; they multiply to ttt_s. An account without epochs has 1 for them and
/// all its training in kTraining. All are NaN where nothing was trained.
std::array<double, kFactorCount> factors_of(const TimeAccount& account);

}  // namespace analysis::comparison
