// Copying beside training of what nodes pass on to each other.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runner/base/activity.h"
#include "runner/base/clock.h"
#include "staging/copy_beside.h"
#include "staging/pipeline.h"

namespace staging {

/// Makes transfers with rings. Threads that give way to those which train read and write, but only
/// the main thread may send: packs go round as far as advance() is called. A pack that cannot be
/// read is left out, on all nodes; a node that cannot write goes on passing packs to the others.
/// Signals end nothing here: they end training, and that ends copying.
class RingCopy final : public CopyBeside {
 public:
  /// Starts. The others outlive this. `activity` is the rank's own.
  RingCopy(std::vector<Transfer> transfers, const base::Clock& clock, base::Activity& activity);
  /// Unless an exception unwinds: collective, ends it as end() does.
  ~RingCopy() override;

  void advance() override;
  bool is_done() const override { return current_ == transfers().size(); }
  /// All ranks go on, without reading, to where the foremost of each ring is, so that no message is
  /// left under way.
  void end() override;

 private:
  /// Of the current transfer, if this rank moves anything of it.
  void begin();
  void finish_current();

  const base::Clock& clock_;
  base::Activity& activity_;
  std::size_t current_ = 0;
  std::int64_t began_ns_ = 0;
  std::vector<std::int64_t> shifts_;  ///< of the transfers before the current one
  std::optional<Pipeline> pipeline_;  ///< of the current transfer
  bool has_ended_ = false;
};

}  // namespace staging
