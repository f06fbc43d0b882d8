// Chooses whether the packs of a copy are written through the page cache or around it.
#include "staging/write_choice.h"

#include <algorithm>

namespace staging {
namespace {

std::optional<WriteWay> chosen_at_start(DirectIo wish, const WriteLoad& load) {
  if (wish == DirectIo::kAlways) return WriteWay::kDirect;
  if (wish == DirectIo::kNever || !is_trial_worth(load)) return WriteWay::kCached;
  return std::nullopt;
}

}  // namespace

bool is_trial_worth(const WriteLoad& load) {
  constexpr std::int64_t kTrialsInAll = 4;  // the trial is at most a quarter of the packs
  const bool goes_to_device =
      load.durability == Durability::kOnDevice || load.node_bytes > load.memory_bytes / 2;
  return goes_to_device && load.packs >= kTrialsInAll * 2 * WriteChoice::kTrialPacks;
}

WriteChoice::WriteChoice(DirectIo wish, const WriteLoad& load)
    : durability_(load.durability), chosen_(chosen_at_start(wish, load)) {}

WriteChoice::Next WriteChoice::next() {
  const std::lock_guard lock(mutex_);
  if (chosen_) return {*chosen_, durability_};
  const WriteWay way = begun_++ % 2 == 0 ? WriteWay::kCached : WriteWay::kDirect;
  return {way, std::max(durability_, Durability::kFlushed)};
}

void WriteChoice::took(WriteWay way, std::int64_t bytes, double seconds) {
  const std::lock_guard lock(mutex_);
  if (chosen_) return;
  Seen& one = seen_[static_cast<std::size_t>(way)];
  ++one.packs;
  one.bytes += bytes;
  one.seconds += seconds;
  const Seen& cached = seen_[static_cast<std::size_t>(WriteWay::kCached)];
  const Seen& direct = seen_[static_cast<std::size_t>(WriteWay::kDirect)];
  if (cached.packs < kTrialPacks || direct.packs < kTrialPacks) return;
  chosen_ = direct.rate() >= kLeastGain * cached.rate() ? WriteWay::kDirect : WriteWay::kCached;
}

void WriteChoice::refuse_direct() {
  const std::lock_guard lock(mutex_);
  chosen_ = WriteWay::kCached;
}

}  // namespace staging
