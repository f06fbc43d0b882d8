// The best AUC and the least loss that a model can reach on data whose true logits are known.
#pragma once

#include <cstdint>
#include <vector>

namespace dlrm {

/// 1 / (1 + e^-z).
double sigmoid(double z);

/// Counts logits in bins, in constant memory. Bins are so narrow that their width changes no result
/// by 1e-6 or more. The order of add() does not matter.
class LogitHistogram {
 public:
  LogitHistogram();
  void add(double logit);
  std::int64_t samples() const { return samples_; }
  /// Expected ROC AUC of ranking by the true probabilities p, ties counting half:
  /// sum_i p_i C_i / (sum p * sum (1-p) - sum p (1-p)) with C_i the sum of 1 - p_j over p_j < p_i.
  /// NaN for fewer than two samples.
  double bayes_auc() const;
  /// Mean entropy of p in nats: the least expected loss. NaN without samples.
  double entropy() const;

 private:
  std::vector<std::int64_t> bins_;
  std::int64_t samples_ = 0;
};

}  // namespace dlrm
