// Pieces of the gradient block in nonblocking allreduces.
// Hides their order and their progress.
#include "workloads/parallel/gradient_exchange.h"

#include <algorithm>

namespace parallel {

using telemetry::Counter;
using telemetry::Scope;
using telemetry::Subsystem;

GradientExchange::GradientExchange(const runner::Communicator& world,
                                   telemetry::Telemetry& telemetry, std::span<float> gradients,
                                   std::int64_t piece_floats)
    : communicator_(world.duplicate()),
      telemetry_(telemetry),
      gradients_(gradients),
      piece_floats_(piece_floats) {}

void GradientExchange::begin() {
  started_ = 0;
  first_start_ns_ = 0;
}

void GradientExchange::start_ready(std::int64_t floats) {
  const auto total = static_cast<std::int64_t>(gradients_.size());
  while (started_ < total) {
    const std::int64_t end = std::min(started_ + piece_floats_, total);
    if (end > floats) return;
    if (first_start_ns_ == 0) first_start_ns_ = telemetry_.now_ns();
    const std::span<float> piece = gradients_.subspan(static_cast<std::size_t>(started_),
                                                      static_cast<std::size_t>(end - started_));
    under_way_.push_back(communicator_.start_allreduce_sum(piece));
    telemetry_.add(Counter::kBytesSent, static_cast<std::int64_t>(piece.size_bytes()));
    started_ = end;
  }
}

void GradientExchange::progress() {
  while (!under_way_.empty() && under_way_.front().test()) under_way_.pop_front();
}

void GradientExchange::gradients_ready(std::int64_t floats) {
  if (communicator_.size() == 1) return;
  const Scope scope(telemetry_, Subsystem::kExchange);
  start_ready(floats);
  progress();
}

void GradientExchange::finish() {
  if (communicator_.size() == 1) return;
  const Scope scope(telemetry_, Subsystem::kExchange);
  start_ready(static_cast<std::int64_t>(gradients_.size()));
  while (!under_way_.empty()) {
    under_way_.front().wait();
    under_way_.pop_front();
  }
  telemetry_.add(Counter::kExchangeTotalNs, telemetry_.now_ns() - first_start_ns_);
}

}  // namespace parallel
