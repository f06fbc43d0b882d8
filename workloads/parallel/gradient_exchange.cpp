// Pieces of the gradient block in nonblocking allreduces.
// Hides their order and their progress.
#include "workloads/parallel/gradient_exchange.h"

#include <algorithm>

namespace parallel {

using telemetry::Scope;
using telemetry::Subsystem;

GradientExchange::GradientExchange(const runner::Communicator& world,
                                   telemetry::Telemetry& telemetry, std::span<float> gradients,
                                   std::int64_t piece_floats)
    : communicator_(world.duplicate()),
      telemetry_(telemetry),
      gradients_(gradients),
      piece_floats_(piece_floats) {}

void GradientExchange::begin() { started_ = 0; }

void GradientExchange::start_ready(std::int64_t floats) {
  const auto total = static_cast<std::int64_t>(gradients_.size());
  while (started_ < total) {
    const std::int64_t end = std::min(started_ + piece_floats_, total);
    if (end > floats) return;
    if (under_way_.empty()) telemetry_.begin_exchange();
    const std::span<float> piece = gradients_.subspan(static_cast<std::size_t>(started_),
                                                      static_cast<std::size_t>(end - started_));
    under_way_.push_back(communicator_.start_allreduce_sum(piece));
    started_ = end;
  }
}

void GradientExchange::progress() {
  if (under_way_.empty()) return;
  while (!under_way_.empty() && under_way_.front().test()) under_way_.pop_front();
  if (under_way_.empty()) telemetry_.end_exchange();
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
  if (under_way_.empty()) return;
  for (; !under_way_.empty(); under_way_.pop_front()) under_way_.front().wait();
  telemetry_.end_exchange();
}

}  // namespace parallel
