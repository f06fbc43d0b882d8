// The requests of one exchange that goes on beside other work.
// Hides when the telemetry is told of its begin and end.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "runner/communicator.h"
#include "runner/telemetry/telemetry.h"

namespace parallel {

/// Begins with the first request that is added, and ends when all were found to be done.
class Transfer {
 public:
  explicit Transfer(telemetry::Telemetry& telemetry) : telemetry_(telemetry) {}
  ~Transfer() { end(); }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  void add(runner::Pending request) {
    if (!std::exchange(is_under_way_, true)) telemetry_.begin_exchange();
    requests_.push_back(std::move(request));
  }
  telemetry::Telemetry& telemetry() const { return telemetry_; }
  bool is_under_way() const { return is_under_way_; }
  /// Looks at every request, so that none waits for another; true when nothing is under way.
  bool test() {
    bool done = true;
    for (runner::Pending& request : requests_) done = request.test() && done;
    if (done) end();
    return done;
  }
  /// Waits for one; they count from 0 in the order in which they were added.
  void wait(std::size_t request) {
    if (request < requests_.size()) requests_[request].wait();
  }
  void wait_all() {
    for (runner::Pending& request : requests_) request.wait();
    end();
  }

 private:
  void end() {
    requests_.clear();
    if (std::exchange(is_under_way_, false)) telemetry_.end_exchange();
  }
  telemetry::Telemetry& telemetry_;
  std::vector<runner::Pending> requests_;
  bool is_under_way_ = false;
};

}  // namespace parallel
