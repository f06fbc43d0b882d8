// Gathering of outputs.
// Hides the layout of what is gathered.
#include "workloads/parallel/gather_outputs.h"

#include <vector>

namespace parallel {

void gather_outputs(const runner::Communicator& world, runner::OutputSink* sink, std::int64_t first,
                    std::int64_t count, std::int64_t width, std::span<const float> outputs,
                    std::span<const std::int32_t> labels) {
  const std::vector<std::int64_t> range = {first, count};
  const std::vector<std::int64_t> mine(labels.begin(),
                                       labels.begin() + static_cast<std::ptrdiff_t>(count));
  const auto ranges = world.gather(std::span<const std::int64_t>(range), 0);
  const auto all_labels = world.gather(std::span<const std::int64_t>(mine), 0);
  const auto all_outputs = world.gather(outputs.first(static_cast<std::size_t>(count * width)), 0);
  const std::span<const float> all(all_outputs);
  std::size_t row = 0;
  for (std::size_t rank = 0; 2 * rank < ranges.size(); ++rank) {
    const auto rows = static_cast<std::size_t>(ranges[2 * rank + 1]);
    if (rows == 0) continue;
    std::vector<std::int32_t> part;
    for (std::size_t i = row; i < row + rows; ++i) {
      part.push_back(static_cast<std::int32_t>(all_labels[i]));
    }
    sink->write(
        ranges[2 * rank], width,
        all.subspan(row * static_cast<std::size_t>(width), rows * static_cast<std::size_t>(width)),
        part);
    row += rows;
  }
}

}  // namespace parallel
