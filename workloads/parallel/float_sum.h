// Sums over ranks whose values travel as floats.
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "runner/communicator.h"
#include "runner/telemetry/telemetry.h"
#include "workloads/parallel/piece_sums.h"
#include "workloads/parallel/transfer.h"

namespace parallel {

/// By Communicator::start_allreduce_sum().
class FloatSums final : public PieceSums {
 public:
  /// All arguments outlive this. last_first: later pieces overtake earlier ones. `name` says in the
  /// trace what is sent; a string literal.
  FloatSums(const runner::Communicator& ranks, std::vector<std::span<float>> pieces,
            bool last_first, telemetry::Telemetry& telemetry, const char* name)
      : ranks_(ranks), pieces_(std::move(pieces)), last_first_(last_first), name_(name) {
    for (std::size_t piece = 0; piece < pieces_.size(); ++piece) transfers_.emplace_back(telemetry);
  }
  void begin(std::size_t piece) override {
    const std::int64_t priority = last_first_ ? static_cast<std::int64_t>(piece) : 0;
    transfers_[piece].add_gradients(name_, ranks_.start_allreduce_sum(pieces_[piece], priority));
  }
  bool test() override {
    ranks_.go_on();
    bool is_done = true;
    for (Transfer& transfer : transfers_) is_done = transfer.look() && is_done;
    return is_done;
  }
  bool is_done(std::size_t piece) const override { return !transfers_[piece].is_under_way(); }
  void wait(std::size_t piece) override { transfers_[piece].wait_all(); }

 private:
  const runner::Communicator& ranks_;
  const std::vector<std::span<float>> pieces_;
  const bool last_first_;
  const char* const name_;
  std::deque<Transfer> transfers_;
};

}  // namespace parallel
