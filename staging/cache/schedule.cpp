// When each sample of a run is drawn, and by which rank.
#include "staging/cache/schedule.h"

#include <algorithm>
#include <utility>

namespace cache {

Schedule::Schedule(staging::SampleOrder order, std::vector<std::int64_t> first_slots,
                   std::int64_t pass_slots, std::int64_t epochs)
    : order_(std::move(order)),
      first_slots_(std::move(first_slots)),
      pass_slots_(pass_slots),
      epochs_(epochs) {}

std::int64_t Schedule::next_draw(std::int64_t index, std::int64_t epoch) const {
  // Few epochs drop a sample, so this ends soon.
  for (std::int64_t later = epoch + 1; later < epochs_; ++later) {
    if (const auto draw = order_.draw_of(later, index)) {
      return later * order_.steps_per_epoch() + draw->step;
    }
  }
  return kNever;
}

std::int64_t Schedule::next_draw_by(int rank, std::int64_t index, std::int64_t epoch) const {
  const std::int64_t end = std::min(epochs_, epoch + 1 + kHorizon);
  for (std::int64_t later = epoch + 1; later < end; ++later) {
    const auto draw = order_.draw_of(later, index);
    if (draw && rank_of(draw->slot) == rank) return later * order_.steps_per_epoch() + draw->step;
  }
  return kNever;
}

int Schedule::reader(std::int64_t index, std::int64_t epoch) const {
  const auto draw = order_.draw_of(epoch, index);
  return draw ? rank_of(draw->slot) : static_cast<int>(index % std::ssize(first_slots_));
}

int Schedule::rank_of(std::int64_t slot) const {
  const auto after = std::upper_bound(first_slots_.begin(), first_slots_.end(), slot % pass_slots_);
  return static_cast<int>(after - first_slots_.begin()) - 1;
}

}  // namespace cache
