// Updates group by group, as a pass goes on.
#include "workloads/parallel/late_update.h"

#include <algorithm>
#include <iterator>

#include "workloads/optimizer/update_blocks.h"

namespace parallel {

using telemetry::Scope;
using telemetry::Subsystem;

LateUpdate::LateUpdate(const nn::Parameters& parameters, nn::ParameterMemory& memory,
                       GradientExchange& exchange, telemetry::Telemetry& telemetry)
    : parameters_(parameters.views()),
      weights_(parameters.all_weights()),
      memory_(memory),
      exchange_(exchange),
      telemetry_(telemetry) {
  regroup();
}

void LateUpdate::regroup() {
  groups_.clear();
  // A group ends with a barrier of the node's ranks, of which each should have a part in it.
  std::int64_t end = std::ssize(weights_);
  for (std::size_t p = parameters_.size(); p-- > 0;) {
    if (p > 0 && end - parameters_[p].offset < exchange_.round_floats()) continue;
    groups_.push_back(p);
    end = parameters_[p].offset;
  }
  std::reverse(groups_.begin(), groups_.end());
}

void LateUpdate::begin(nn::Optimizer& optimizer, double learning_rate, bool is_late) {
  optimizer_ = &optimizer;
  updated_ = parameters_.size();
  const bool needs_all = optimizer.needs_all_gradients(), divides = exchange_.divides_updates();
  if (needs_all || divides) exchange_.wait_all();
  {
    const Scope scope(telemetry_, Subsystem::kOptimizer);
    optimizer.begin_update(parameters_, learning_rate);
    if (divides) optimizer.update(parameters_, {0, parameters_.size()});
  }
  if (divides) exchange_.start_gather(weights_);
  if ((needs_all && !divides) || !is_late) finish();
}

void LateUpdate::weights_needed(std::int64_t first) {
  if (!is_under_way()) return;
  exchange_.progress();
  while (is_under_way() && parameters_[updated_ - 1].offset >= first) {
    update_from(*std::prev(std::lower_bound(groups_.begin(), groups_.end(), updated_)));
  }
}

void LateUpdate::finish() {
  if (is_under_way()) update_from(0);
}

void LateUpdate::update_from(std::size_t first) {
  // Groups leave no piece of the block between them, so that all are waited for.
  const std::int64_t begin = first == 0 ? 0 : parameters_[first].offset;
  const std::int64_t end =
      updated_ == parameters_.size() ? std::ssize(weights_) : parameters_[updated_].offset;
  if (exchange_.divides_updates()) {
    exchange_.wait_gathered(begin, end);
  } else {
    exchange_.wait(begin, end);
  }
  const Scope scope(telemetry_, Subsystem::kOptimizer);
  if (exchange_.divides_updates()) {
    refresh_copies(first, updated_);
  } else {
    optimizer_->update(parameters_, {first, updated_});
  }
  updated_ = first;
  // The next pass reads weights that other ranks updated, and overwrites gradients that they read.
  memory_.publish();
}

void LateUpdate::refresh_copies(std::size_t first, std::size_t last) {
  for (std::size_t p = first; p < last; ++p) {
    const nn::ParameterView& parameter = parameters_[p];
    if (parameter.copies.empty()) continue;
    nn::for_each_block(parameter, [&](std::int64_t begin, std::int64_t count) {
      if (exchange_.is_gathered(parameter.offset + begin)) {
        nn::update_copies(parameter, begin, count);
      }
    });
  }
}

}  // namespace parallel
