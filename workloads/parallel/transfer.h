// The pending requests of one exchange that overlaps other work.
// Hides the notification of the telemetry.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "runner/communicator.h"
#include "runner/telemetry/telemetry.h"

namespace parallel {

/// Under way from the first add() until test() or wait_all() finds all requests complete.
class Transfer {
 public:
  explicit Transfer(telemetry::Telemetry& telemetry) : telemetry_(telemetry) {}
  ~Transfer() {
    for (Request& request : requests_) end(request);
  }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  /// `name` says in the trace what is sent; a string literal.
  void add(const char* name, runner::Pending pending) {
    Request& request = requests_.emplace_back();
    request.is_under_way = pending.is_under_way();  // false on a communicator of one rank
    if (request.is_under_way) {
      request.traced = telemetry_.begin_exchange(name, pending.sent().bytes);
    }
    request.pending = std::move(pending);
  }
  /// The same for gradients, or for weights that nodes divide: counted as such.
  void add_gradients(const char* name, runner::Pending pending) {
    const runner::SentVolume sent = pending.sent();
    telemetry_.add(telemetry::Counter::kGradientBytesSent, sent.bytes);
    telemetry_.add(telemetry::Counter::kGradientMessagesSent, sent.messages);
    add(name, std::move(pending));
  }
  telemetry::Telemetry& telemetry() const { return telemetry_; }
  bool is_under_way() const { return !requests_.empty(); }
  /// Tests every request, so that all make progress; returns whether nothing is under way.
  bool test() { return are_done(&runner::Pending::test); }
  /// The same without progress of sums, after Communicator::go_on().
  bool look() { return are_done(&runner::Pending::look); }
  /// Waits for one request, numbered from 0 in the order of add().
  void wait(std::size_t request) {
    if (request < requests_.size()) wait(requests_[request]);
  }
  void wait_all() {
    for (Request& request : requests_) wait(request);
    requests_.clear();
  }

 private:
  struct Request {
    runner::Pending pending;
    telemetry::TracedTransfer traced;
    bool is_under_way = false;
  };
  bool are_done(bool (runner::Pending::*find_out)()) {
    bool done = true;
    for (Request& request : requests_) {
      if ((request.pending.*find_out)()) {
        end(request);
      } else {
        done = false;
      }
    }
    if (done) requests_.clear();
    return done;
  }
  void wait(Request& request) {
    request.pending.wait();
    end(request);
  }
  void end(Request& request) {
    if (std::exchange(request.is_under_way, false)) telemetry_.end_exchange(request.traced);
  }
  telemetry::Telemetry& telemetry_;
  std::vector<Request> requests_;
};

}  // namespace parallel
