// What a trace tells of each rank's transfers, and means over the ranks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace analysis {

/// Transfers with one name, or of all names: of a traced step, means over steps and ranks.
struct TracedTransfers {
  std::string name;
  double count = 0.0, bytes = 0.0;
  double in_flight_s = 0.0;  ///< with at least one under way
  double exposed_s = 0.0;    ///< the part of it that training spent in communication
  double isolated_s = 0.0;   ///< they take alone; NaN: not measured on all ranks
  double hidden_s() const { return in_flight_s - exposed_s; }
  double megabytes() const { return 1e-6 * bytes; }
};

/// A traced step, means over steps and ranks.
struct TracedStep {
  double seconds = 0.0;     ///< 0: the trace does not tell
  double exchange_s = 0.0;  ///< the part that training spent in communication
  double compute_s() const { return seconds - exchange_s; }
  /// By name, in the order of the first rank's; last, unless there are none, "all": of all names,
  /// each moment counted once.
  std::vector<TracedTransfers> transfers;
};

/// Collects "otherData" of a trace, as its parser comes to it. Depths count objects and lists that
/// are open: 1 in the document.
class TraceEntries {
 public:
  void key(const std::string& key, int depth);
  void number(double value, int depth);
  void text(const std::string& value, int depth);
  void end_object(int depth);
  /// "" or what is wrong with the entries so far.
  const std::string& problem() const { return problem_; }
  TracedStep means() const;

 private:
  static constexpr int kDeepest = 6;
  struct Rank {
    double steps = 0.0, seconds = 0.0, exchange_s = 0.0;
    std::vector<TracedTransfers> transfers;
    TracedTransfers all;
  };
  bool is_in_rank() const { return keys_[1] == "otherData" && keys_[2] == "ranks"; }
  bool is_in_transfer(int depth) const;
  static TracedTransfers not_measured();
  void add_rank();

  std::array<std::string, kDeepest + 1> keys_;  ///< the last key at each depth
  TracedTransfers one_ = not_measured();
  Rank rank_;
  TracedStep sums_;  ///< without "all"
  TracedTransfers all_;
  double ranks_ = 0.0;
  std::string problem_;
};

}  // namespace analysis
