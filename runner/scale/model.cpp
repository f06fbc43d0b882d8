// Times from counts and rates.
#include "runner/scale/model.h"

#include <algorithm>
#include <cmath>

#include "runner/base/checked_count.h"

namespace scale {

std::optional<StepTime> predict(const runner::TrainingScale& scale, const Rates& rates) {
  if (!rates.compute) return std::nullopt;
  StepTime time;
  time.compute_s = scale.rank_samples / rates.compute->samples_per_s;
  if (scale.nodes > 1 && !rates.link) return time;
  const Link link = rates.link.value_or(Link{1, 0, ""});
  const runner::NodeTraffic& sent = scale.gradients;
  const double transfer_s = static_cast<double>(sent.node.bytes) / link.bytes_per_s;
  const double least_s = transfer_s + static_cast<double>(sent.rounds) * link.latency_s;
  const double most_s = transfer_s + static_cast<double>(sent.node.messages) * link.latency_s;
  time.exchange_least_s = least_s;
  time.exchange_most_s = most_s;
  time.step_least_s = time.compute_s + std::max(0.0, least_s - scale.hiding_share * time.compute_s);
  time.step_most_s = time.compute_s + most_s;
  return time;
}

PaperCounts paper_counts(std::int64_t parameters, std::int64_t samples, std::int64_t epochs,
                         std::int64_t batch, std::int64_t ranks) {
  const double iterations =
      static_cast<double>(samples) * static_cast<double>(epochs) / static_cast<double>(batch);
  return {base::checked_product(samples, epochs) / batch,
          std::log2(static_cast<double>(ranks)) * iterations,
          static_cast<double>(parameters) * sizeof(float) * iterations};
}

}  // namespace scale
