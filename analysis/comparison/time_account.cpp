// A run's time to train as a product of factors.
#include "analysis/comparison/time_account.h"

#include <algorithm>
#include <limits>

namespace analysis::comparison {

std::optional<TimeAccount> account_of(const RunFacts& facts) {
  if (!facts.ttt_s || *facts.ttt_s <= 0.0) return std::nullopt;
  const RunParts& parts = facts.parts;
  TimeAccount account;
  account.ttt_s = *facts.ttt_s;
  account.staging_s = parts.staging_alone_s();
  if (!parts.async_eval) account.eval_s = parts.eval_s.value_or(0.0);
  const double rest = account.ttt_s - account.staging_s - account.eval_s;
  if (parts.train_s) {
    account.train_s = std::min(*parts.train_s, rest);
  } else {
    account.train_s = rest - (parts.epoch_s ? parts.other_s.value_or(0.0) : 0.0);
  }
  account.other_s = rest - account.train_s;
  if (facts.progress.epochs_run.value_or(0.0) > 0.0) account.epochs = facts.progress.epochs_run;
  return account;
}

TimeAccount mean_of(std::span<const TimeAccount> accounts) {
  const auto n = static_cast<double>(accounts.size());
  TimeAccount mean;
  mean.epochs = 0.0;
  for (const TimeAccount& one : accounts) {
    mean.ttt_s += one.ttt_s / n;
    mean.staging_s += one.staging_s / n;
    mean.train_s += one.train_s / n;
    mean.eval_s += one.eval_s / n;
    mean.other_s += one.other_s / n;
    if (!one.epochs) mean.epochs.reset();
    if (mean.epochs) *mean.epochs += *one.epochs / n;
  }
  return mean;
}

const std::array<FactorInfo, kFactorCount>& factor_infos() {
  static const std::array<FactorInfo, kFactorCount> infos = {{
      {Factor::kTraining, "training", "s/epoch",
       "train_s / epochs_run: the throughput of training, as time. Evaluations at the same "
       "time as training are part of it; if a log marks no epochs, so is all but staging and "
       "evaluation"},
      {Factor::kEpochs, "epochs", "epochs",
       "epochs_run; 1 if the epochs of any run of either side are unknown"},
      {Factor::kEvaluation, "evaluation", "", "(train_s + eval_s) / train_s"},
      {Factor::kOther, "other", "",
       "(ttt_s - staging_alone_s) / (train_s + eval_s): what is outside of all intervals, such as "
       "checkpoints"},
      {Factor::kStaging, "staging", "", "ttt_s / (ttt_s - staging_alone_s)"},
  }};
  return infos;
}

std::array<double, kFactorCount> factors_of(const TimeAccount& account) {
  std::array<double, kFactorCount> factors{};
  if (!(account.train_s > 0.0)) {
    factors.fill(std::numeric_limits<double>::quiet_NaN());
    return factors;
  }
  const double epochs = account.epochs.value_or(1.0);
  const double computing = account.train_s + account.eval_s;
  const double after_staging = computing + account.other_s;
  return {account.train_s / epochs, epochs, computing / account.train_s, after_staging / computing,
          account.ttt_s / after_staging};
}

}  // namespace analysis::comparison
