// Moves packs from their source to the copies on nodes. Threads read, expand and write, packs
// travel between nodes from the main thread, as they were read, and the memory for all of it is
// bounded.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runner/base/activity.h"
#include "runner/communicator.h"
#include "staging/dataset/dataset.h"
#include "staging/pack_list.h"
#include "staging/pack_store.h"
#include "staging/staging_config.h"
#include "staging/write_choice.h"

namespace staging {

/// Threads of one rank, and with them its buffers.
struct PipelineLimits {
  int readers = 4, writers = 2;
};

/// Images of packs that a rank with these threads holds at most. `travel`: whether packs come from
/// other nodes, too.
int most_images(const PipelineLimits& limits, bool travel);

/// How many of a node's ranks move packs, and how.
struct NodeLimits {
  int carriers = 1;
  PipelineLimits each;
  std::int64_t memory_bytes = 0;  ///< of all carriers
};
/// The largest pack in memory: on its way, and expanded by a thread that writes; 0 if none is.
struct LargestPack {
  std::int64_t image = 0, expanded = 0;
};
/// The most of `ranks` ranks whose packs fit `memory_bytes`; a single one gets fewer threads where
/// even its packs do not fit. Throws ConfigError beginning with `where` if the least number of
/// packs does not fit.
NodeLimits limits_of_node(std::int64_t memory_bytes, const LargestPack& largest, int ranks,
                          const PipelineLimits& wanted, bool travel, const std::string& where);

/// What one rank moves: its packs are those that it reads from the source, in this order.
struct Route {
  /// The ranks, one a node, that all need what each of them reads; null if this node reads for
  /// itself alone.
  std::shared_ptr<const runner::Communicator> ring;
  /// By rank of the ring, or of this rank only. All ranks give the same.
  std::vector<std::vector<std::int64_t>> packs;
};

/// What one rank moved.
struct Moved {
  std::int64_t source_bytes = 0, source_reads = 0;  ///< of samples, read from the source
  std::int64_t network_bytes = 0;                   ///< sent to other nodes
  std::int64_t copied_bytes = 0;   ///< of samples whose packs are written, as their files have them
  std::int64_t written_bytes = 0;  ///< to the copy: expanded, with places and trailers
  std::int64_t direct_bytes = 0;   ///< of these, around the page cache
};

/// How a pipeline and the world around it know of each other.
struct Watch {
  base::Activity& activity;              ///< receives progress
  std::function<bool()> is_told_to_end;  ///< ends copying early
};

/// What a pipeline does about a failure of reading or writing.
enum class OnFailure {
  kThrow,
  kGoOn  ///< leaves out what cannot be copied, and goes on for the others of the ring
};

/// Driven by advance(), which waits; or, with OnFailure::kGoOn, by poll() and end_after().
class Pipeline {
 public:
  /// Starts the threads that read. The arguments must outlive the object. Calls no MPI.
  Pipeline(const dataset::Dataset& source, const PackList& list, const PackStore& store,
           Route route, const PipelineLimits& limits, const Writing& writing, Watch watch,
           OnFailure on_failure = OnFailure::kThrow);
  /// Ends the threads. What is not yet a whole pack is removed.
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  enum class Progress { kUnderWay, kDone, kStopped };
  /// Collective over the ring. Moves one more pack of each of its ranks; after the last one, waits
  /// until all are written. kStopped when a rank of the ring was told to end before that. Throws
  /// DataError and SystemError of reading and writing, and DataError for a pack that arrives
  /// damaged.
  Progress advance();
  /// Not collective. Does what it can without waiting. kDone when all packs have gone round, and
  /// this rank has written those that it can.
  Progress poll();
  /// How often this rank has begun to pass something on.
  std::int64_t shifts() const;
  /// Collective over the ring, with the largest shifts() of its ranks. Reads nothing more, and
  /// passes on as often as that. After it, no message is under way, and nothing more is moved.
  void end_after(std::int64_t shifts);
  /// The first failure with which this rank went on, and how many others it noticed; else "".
  std::string failure() const;

  Moved moved() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace staging
