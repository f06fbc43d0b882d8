// Chooses whether the packs of a copy are written through the page cache or around it.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>

#include "staging/pack_store.h"
#include "staging/staging_config.h"

namespace staging {

/// How a rank writes what it copies.
struct Writing {
  Durability durability = Durability::kCached;
  DirectIo direct_io = DirectIo::kAuto;
  std::int64_t node_bytes = 0;    ///< that all ranks of its node write
  std::int64_t memory_bytes = 0;  ///< that the node's page cache may take
};

/// Whether the faster way is worth a trial: packs go to the device while they are copied, since
/// they are flushed or are more than half of the memory, and the rank writes enough `packs`.
bool is_trial_worth(const Writing& writing, std::int64_t packs);

/// Thread-safe.
class WriteChoice {
 public:
  /// For a rank that writes `packs`. kAuto writes through the page cache, unless a trial is worth
  /// it. In a trial the first packs take both ways in turn, kTrialPacks each, and are flushed; the
  /// rest go around the page cache if that was faster by kLeastGain, since what they leave in it
  /// serves the first epoch.
  WriteChoice(const Writing& writing, std::int64_t packs);
  static constexpr int kTrialPacks = 2;
  static constexpr double kLeastGain = 1.1;

  struct Next {
    WriteWay way = WriteWay::kCached;
    Durability durability = Durability::kCached;
  };
  /// For the next pack.
  Next next();
  /// What a pack took that next() let go `way`.
  void took(WriteWay way, std::int64_t bytes, double seconds);
  /// The file system does not know the other way.
  void refuse_direct();

 private:
  struct Seen {
    int packs = 0;
    std::int64_t bytes = 0;
    double seconds = 0.0;
    double rate() const { return seconds > 0.0 ? static_cast<double>(bytes) / seconds : 0.0; }
  };

  const Durability durability_;
  std::mutex mutex_;
  std::optional<WriteWay> chosen_;  ///< none while the trial goes on
  int begun_ = 0;                   ///< packs of the trial
  std::array<Seen, 2> seen_;        ///< by WriteWay
};

}  // namespace staging
