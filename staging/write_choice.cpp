// Chooses whether the packs of a copy are written through the page cache or around it.
#include "staging/write_choice.h"

#include <algorithm>

namespace staging {
namespace {

std::optional<WriteWay> chosen_at_start(const Writing& writing, std::int64_t packs) {
  if (writing.direct_io == DirectIo::kAlways) return WriteWay::kDirect;
  const bool tries = writing.direct_io == DirectIo::kAuto && is_trial_worth(writing, packs);
  return tries ? std::nullopt : std::optional(WriteWay::kCached);
}

}  // namespace

bool is_trial_worth(const Writing& writing, std::int64_t packs) {
  constexpr std::int64_t kTrialsInAll = 4;  // the trial is at most a quarter of the packs
  const bool goes_to_device =
      writing.durability == Durability::kOnDevice || writing.node_bytes > writing.memory_bytes / 2;
  return goes_to_device && packs >= kTrialsInAll * 2 * WriteChoice::kTrialPacks;
}

WriteChoice::WriteChoice(const Writing& writing, std::int64_t packs)
    : durability_(writing.durability), chosen_(chosen_at_start(writing, packs)) {}

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
