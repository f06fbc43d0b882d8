// Running means and variances of batch norms, kept so that a step needs no exchange between ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "workloads/nn/network.h"

namespace nn {

/// running = (1 - momentum) running + momentum * (mean over all groups of a step); variances are
/// unbiased. The recurrence is linear, so each rank follows it for the groups that it owns, and
/// synchronize() adds the ranks' parts when the values are needed. This equals averaging
/// per-replica running statistics over replicas before an evaluation.
class RunningStatistics {
 public:
  explicit RunningStatistics(const Network& network);

  /// Adds a group's statistics of batch norm `index`; `variance` is biased, over `points` values
  /// per channel.
  void add_group(int index, std::span<const double> mean, std::span<const double> variance,
                 std::int64_t points);
  /// Ends a step of `groups` groups on all ranks together.
  void finish_step(std::int64_t groups);
  /// Forgets groups added since the last finish_step().
  void discard_step();
  /// Collective when sum_over_ranks is. sum_over_ranks adds its argument over ranks, in place; it
  /// may be empty for a single rank.
  void synchronize(const std::function<void(std::span<double>)>& sum_over_ranks);

  /// One value per channel; valid after synchronize().
  std::span<const double> mean(int index) const;
  std::span<const double> variance(int index) const;
  void set(int index, std::span<const float> mean, std::span<const float> variance);
  /// Whether none of this rank's values is infinite or NaN.
  bool is_finite() const;

  /// The state between two steps. `kept` and `decay` are the same on every rank; `part` is this
  /// rank's.
  struct Parts {
    std::span<const double> kept, part, decay;
  };
  Parts parts() const { return {kept_, part_, decay_}; }
  /// Throws ShapeError when sizes differ from those of parts().
  void set_parts(const Parts& parts);
  /// Increases with every change of mean() or variance().
  std::int64_t version() const { return version_; }

 private:
  struct Place {
    std::size_t offset = 0, channels = 0;
    double momentum = 0.0;
  };
  std::vector<Place> places_;
  // Means of all batch norms, then variances. value = kept * decay + part (part summed over ranks).
  std::vector<double> kept_, part_, step_;
  std::vector<double> decay_;
  std::size_t half_ = 0;
  std::int64_t version_ = 0;
};

}  // namespace nn
