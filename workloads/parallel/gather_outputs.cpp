// Gathers outputs and splits them by rank again.
#include "workloads/parallel/gather_outputs.h"

#include <vector>

namespace parallel {

namespace {

/// Calls write(first, rows, place) for each rank that sent rows: the sender's `first`, and its
/// range [place, place + rows) of the gathered rows.
template <class Write>
void for_each_part(const runner::Communicator& world, std::int64_t first, std::int64_t count,
                   const Write& write) {
  const std::vector<std::int64_t> range = {first, count};
  const auto ranges = world.gather(std::span<const std::int64_t>(range), 0);
  std::size_t row = 0;
  for (std::size_t rank = 0; 2 * rank < ranges.size(); ++rank) {
    const auto rows = static_cast<std::size_t>(ranges[2 * rank + 1]);
    if (rows == 0) continue;
    write(ranges[2 * rank], rows, row);
    row += rows;
  }
}

}  // namespace

void gather_outputs(const runner::Communicator& world, runner::OutputSink* sink, std::int64_t first,
                    std::int64_t count, std::int64_t width, std::span<const float> outputs,
                    std::span<const std::int32_t> labels) {
  const std::vector<std::int64_t> mine(labels.begin(),
                                       labels.begin() + static_cast<std::ptrdiff_t>(count));
  const auto all_labels = world.gather(std::span<const std::int64_t>(mine), 0);
  const auto all_outputs = world.gather(outputs.first(static_cast<std::size_t>(count * width)), 0);
  const std::span<const float> all(all_outputs);
  const auto columns = static_cast<std::size_t>(width);
  for_each_part(world, first, count, [&](std::int64_t at, std::size_t rows, std::size_t place) {
    std::vector<std::int32_t> part;
    for (std::size_t i = place; i < place + rows; ++i) {
      part.push_back(static_cast<std::int32_t>(all_labels[i]));
    }
    sink->write(at, width, all.subspan(place * columns, rows * columns), part);
  });
}

void gather_outputs(const runner::Communicator& world, runner::OutputSink* sink, std::int64_t first,
                    std::int64_t count, std::int64_t width, std::span<const float> outputs,
                    std::int64_t target_width, std::span<const float> targets) {
  const auto columns = static_cast<std::size_t>(width);
  const auto target_columns = static_cast<std::size_t>(target_width);
  const auto mine = static_cast<std::size_t>(count);
  const auto all_targets = world.gather(targets.first(mine * target_columns), 0);
  const auto all_outputs = world.gather(outputs.first(mine * columns), 0);
  for_each_part(world, first, count, [&](std::int64_t at, std::size_t rows, std::size_t place) {
    sink->write_targets(
        at, width, std::span(all_outputs).subspan(place * columns, rows * columns),
        std::span(all_targets).subspan(place * target_columns, rows * target_columns));
  });
}

}  // namespace parallel
