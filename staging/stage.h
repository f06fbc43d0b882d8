// The sets of samples of a run, read in place or from copies on the node: copied once, checksummed
// and reusable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "staging/copy_beside.h"
#include "staging/dataset/dataset.h"
#include "staging/level_counts.h"
#include "staging/plan.h"
#include "staging/staged_set.h"
#include "staging/staging_config.h"
#include "staging/wanted.h"

namespace staging {

/// Owns the copies of a run's sets on this rank's node, from copy() to leave().
class Staging {
 public:
  /// Accesses no file. Every rank gives the same sets in the same order; ranges may differ.
  /// `outlook` matters for kAuto and for plans.
  Staging(std::vector<Wanted> sets, StagingConfig config, const Place& place,
          const Outlook& outlook = {});
  /// Not collective, unless nodes pass on packs and no exception unwinds. If this rank is alone on
  /// its node, removes copies that are not to be kept; otherwise others may still read them, and
  /// the next run removes them.
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// Collective over all ranks. {"mode", <name>: plan of the set on this node, ..., "fits",
  /// "choice": the mode's reason and expected times, "nodes": a row for each node}. With kStream no
  /// set has more than {"samples", "bytes": null}, and no file is accessed. Leaves nothing, though
  /// rates may be measured; throws what decide() does.
  nlohmann::json plan() const;

  /// Collective over all ranks. Chooses a mode first with kAuto. Unless samples are streamed, the
  /// packs that are not there yet are copied into config.directory, and read back with
  /// Reuse::kVerified. A pack is trusted that only this user can change and whose file is
  /// whole; so a run goes on with what an earlier one of the same dataset copied, whatever that one
  /// needed of it. Leftovers of dead jobs in that folder are removed first. Throws AgreedError
  /// before copying anything when a node has too little space for all sets together;
  /// AgreedError(kStopped) when a signal tells a rank to end while it plans or copies
  /// (StopSignals); otherwise DataError or SystemError naming path and offset. After a failure that
  /// all ranks know, or with one rank per node, what is not to be kept is removed.
  ///
  /// With config.overlap, copying only begins, unless nothing is missing. Then it goes on until
  /// finish(), and its failures and signals no longer end anything else: samples that are not
  /// copied are read from their source.
  void copy();
  /// Whether what copy() began has not been finished.
  bool is_under_way() const { return beside_ != nullptr; }
  /// Not collective; does not wait. Call it now and then on the main thread while copying is under
  /// way: with kScatter, nodes pass on packs in these calls only.
  void advance();
  /// Collective over all ranks. Returns whether copying is over; then facts() and take_remarks()
  /// tell of it.
  bool finish(Finish when);

  /// Same indices, labels and bytes as the source of a set: the source itself, or after copy() its
  /// copy, of which every read is checked against the sample's XXH3 (StoredDataset). Samples that
  /// are not in the copy are read from the source.
  std::shared_ptr<const dataset::Dataset> data(std::size_t set) const;
  /// After copy(), never kAuto.
  StagingMode mode() const { return mode_; }
  /// What copy() did, over all nodes, by name; the same on every rank. With kAuto also "choice":
  /// what was chosen, and why.
  nlohmann::json facts() const;
  /// Bytes that this rank has copied since the last call; known when copying is over.
  std::int64_t take_copied_bytes();
  /// Samples that data() gave this rank since the last call, by where they were; absent where they
  /// are read in place, so that all are the source's.
  std::optional<LevelCounts> take_levels();
  /// After copy(), once: names on rank 0 the nodes that were much slower than the others.
  std::vector<std::string> take_remarks();

  /// Collective over all ranks. Call when this rank reads no copy any more. Deletes copies unless
  /// they are kept or another run uses them.
  void leave();

 private:
  /// Collective. With kAuto sets mode_; returns the plans of a mode that copies.
  std::vector<StagingPlan> choose_mode();
  /// Collective over all ranks. How what is missing on this node would be copied; "refused" with
  /// the reason if that needs more memory than it may take.
  nlohmann::json pipeline_of(const std::vector<StagingPlan>& plans, StagingMode mode) const;
  /// Collective. Plans the sets that have no plan yet. Returns the time it took, by set.
  std::vector<std::int64_t> complete_plans();
  void copy_sets();
  /// Collective.
  bool goes_beside_training() const;
  void begin_beside(std::vector<Transfer> transfers);
  /// Collective.
  void set_facts(std::size_t set, std::int64_t copying_ns);

  std::vector<Wanted> sets_;
  const StagingConfig config_;
  const Place place_;
  const Outlook outlook_;
  StagingMode mode_;
  nlohmann::json choice_;                  ///< null: the configuration's
  std::vector<StagingPlan> plans_;         ///< by set; empty: samples are read in place
  std::vector<std::int64_t> planning_ns_;  ///< by set
  std::vector<StagedSet> staged_;          ///< by set; empty: samples are read in place
  std::int64_t copied_bytes_ = 0;
  bool has_told_slow_nodes_ = false;
  std::unique_ptr<CopyBeside> beside_;  ///< its threads end before anything else
};

}  // namespace staging
