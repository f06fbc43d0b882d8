// A thin, checked C++ view of MPI. No MPI types appear outside runner/, except in tests.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runner/base/activity.h"
#include "runner/base/error.h"
#include "runner/sent_volume.h"
#include "runner/telemetry/telemetry.h"

namespace runner {

/// MPI_Init_thread(SERIALIZED) ... MPI_Finalize. Outlives every Communicator. To run as root, set
/// Open MPI's OMPI_ALLOW_RUN_AS_ROOT for the launcher; this class does not. For Open MPI 5 it sets
/// OMPI_MCA_opal_abort_delay (does_abort_wait()), unless that is set.
class MpiEnvironment {
 public:
  MpiEnvironment(int& argc, char**& argv);
  ~MpiEnvironment();
  MpiEnvironment(const MpiEnvironment&) = delete;
  MpiEnvironment& operator=(const MpiEnvironment&) = delete;
};

/// A nonblocking operation in progress. Its buffers must stay untouched until test() returns true
/// or wait() returns.
class Pending {
 public:
  Pending() noexcept;
  Pending(Pending&&) noexcept;
  Pending& operator=(Pending&&) noexcept;
  ~Pending();  ///< waits, unless an exception is unwinding
  bool test();
  /// As test(), but does not go on with sums: for one of many, after Communicator::go_on().
  bool look();
  void wait();
  /// Whether the operation is still pending. Always false without other ranks.
  bool is_under_way() const noexcept { return state_ != nullptr; }
  /// What this rank sends to others; nothing once the operation is complete.
  SentVolume sent() const noexcept;

 private:
  friend class Communicator;
  struct State;
  std::unique_ptr<State> state_;
};

/// While it lives, telemetry records the communicator's calls (Communicator::account_to).
class [[nodiscard]] Accounting {
 public:
  struct Book;
  Accounting(std::shared_ptr<Book> book, telemetry::Telemetry& telemetry);
  ~Accounting();
  Accounting(const Accounting&) = delete;
  Accounting& operator=(const Accounting&) = delete;

 private:
  std::shared_ptr<Book> book_;
  telemetry::Telemetry* before_;
};

/// Byte ranges of one buffer, by the rank that they are sent to or received from.
struct RankParts {
  std::vector<std::int64_t> counts;
  std::vector<std::int64_t> places;  ///< offset of the first byte; ignored if the count is 0
};
/// Contiguous parts of these sizes.
RankParts consecutive_parts(std::vector<std::int64_t> counts);
/// The first `bytes` bytes, for each of `ranks` ranks.
RankParts same_part(int ranks, std::int64_t bytes);

/// A group of ranks. Every call but rank(), size(), activity(), account_to(), go_on(), send(),
/// receive(), send_text(), receive_text(), start_shift() and abort() is collective.
class Communicator {
 public:
  /// All ranks of the job; needs a living MpiEnvironment.
  static Communicator world();
  Communicator(Communicator&&) noexcept;
  Communicator& operator=(Communicator&&) noexcept;
  ~Communicator();

  int rank() const noexcept;
  int size() const noexcept;
  /// What this rank is doing, for the watching thread; every blocking call below records itself
  /// there while it waits. All communicators derived from the same world() share one.
  base::Activity& activity() const noexcept;

  /// Collective. Ranks with equal color form a group, ordered by key, then rank. A rank with a
  /// negative color joins no group and gets a communicator of its own.
  Communicator split(int color, int key) const;
  /// Collective. The ranks that share this rank's node (MPI_COMM_TYPE_SHARED).
  Communicator split_node() const;
  /// Collective. A duplicate with its own message space (MPI_Comm_dup).
  Communicator duplicate() const;

  /// While the result lives, `telemetry` counts the time of every blocking call on this
  /// communicator, and on all derived from the same world(), as exchange time. It also counts the
  /// bytes sent by blocking and nonblocking calls; if tracing is on, each blocking call with other
  /// ranks is a transfer under MPI's name. Whoever starts nonblocking calls accounts for their
  /// time.
  Accounting account_to(telemetry::Telemetry& telemetry) const;

  void barrier() const;
  void broadcast(std::span<std::byte> data, int root) const;
  std::string broadcast(const std::string& text, int root) const;
  void allreduce_sum(std::span<float> data) const;
  void allreduce_sum(std::span<double> data) const;
  void allreduce_sum(std::span<std::int64_t> data) const;
  std::int64_t allreduce_max(std::int64_t value) const;
  std::int64_t allreduce_min(std::int64_t value) const;
  double allreduce_max(double value) const;
  /// Nonblocking in-place sum, with the same bits on all ranks. Collective: every rank starts the
  /// same operations in the same order. Elements are added in the order of ranks (direct_sum.h). A
  /// sum goes on only when a Pending of this job is tested or waited for, another sum starts, or a
  /// progress thread runs (progress_thread.h). Sums of higher priority overtake others of the same
  /// communicator (priority_order.h); every rank starts them before it waits for one of lower
  /// priority.
  Pending start_allreduce_sum(std::span<float> data, std::int64_t priority = 0) const;
  /// Goes on with all sums of this job that are under way, as a test of any of them does. Not
  /// collective.
  void go_on() const;
  /// counts[r] elements from rank r, in rank order, on every rank.
  void allgather(std::span<const double> mine, std::span<double> all,
                 std::span<const int> counts) const;
  /// `mine` of every rank, in rank order, on every rank; must have the same size on each.
  std::vector<std::int64_t> allgather(std::span<const std::int64_t> mine) const;

  // Nonblocking exchanges of parts. Collective: every rank starts the same ones in the same order,
  // and both ends agree on a part's size. A part may exceed 2^31 bytes if all counts and places of
  // its buffer are multiples of a power of two (the element size) large enough that the quotients
  // fit an int. Only bytes sent to other ranks are counted.
  /// Sends part r of `send` to rank r, whose part for this rank becomes part r of `receive`. Copies
  /// this rank's own part at once.
  Pending start_alltoall(std::span<const std::byte> send, const RankParts& sent,
                         std::span<std::byte> receive, const RankParts& received) const;
  /// Part r of root's `send` becomes `mine` of rank r; root's own part is not copied. `send` and
  /// `sent` are used on root only, `mine` elsewhere only.
  Pending start_scatter(std::span<const std::byte> send, const RankParts& sent,
                        std::span<std::byte> mine, int root) const;
  /// The reverse: `mine` of rank r becomes part r of root's `receive`, except root's own part.
  Pending start_gather(std::span<const std::byte> mine, std::span<std::byte> receive,
                       const RankParts& received, int root) const;
  /// Sends `send` to rank `to` and receives `receive` from rank `from`, both other ranks, in pieces
  /// that travel beside each other. Only those ranks need to make the matching call, and both ends
  /// agree on a size.
  Pending start_shift(std::span<const std::byte> send, int to, std::span<std::byte> receive,
                      int from) const;
  /// Collective over the world that this was derived from, in a step that `telemetry` traces. Makes
  /// the barriers, broadcasts, sums and allgathers of the last traced step again, those of all
  /// communicators, with other data; `telemetry` records them. May be called again.
  void repeat_calls(telemetry::Telemetry& telemetry) const;
  /// The text of each rank, in rank order, on root (elsewhere empty).
  std::vector<std::string> gather(const std::string& text, int root) const;
  /// `mine` of every rank, in rank order, on root (elsewhere empty); sizes may differ.
  std::vector<float> gather(std::span<const float> mine, int root) const;
  std::vector<std::int64_t> gather(std::span<const std::int64_t> mine, int root) const;

  /// Point-to-point messages; the receiver must expect the same number of bytes. For measuring and
  /// output; training does not use them.
  void send(std::span<const std::byte> data, int to) const;
  void receive(std::span<std::byte> data, int from) const;
  std::string receive_text(int from) const;  ///< what send_text() sent
  void send_text(const std::string& text, int to) const;

  /// Prints "rank 3: message" to stderr, then ends the whole job with `code`. Not collective: one
  /// rank is enough.
  [[noreturn]] void abort(base::ExitCode code, const std::string& message) const;
  /// Like abort(), for a failure that every rank has detected and reports here: only rank 0 prints.
  [[noreturn]] void abort_together(base::ExitCode code, const std::string& message) const;

 private:
  friend class PlainMpi;
  friend class ProgressThread;
  friend class SharedMemory;
  struct State;
  explicit Communicator(std::unique_ptr<State> state) noexcept;
  const void* handle() const noexcept;  ///< MPI_Comm*
  const std::shared_ptr<Accounting::Book>& book() const noexcept;
  std::unique_ptr<State> state_;
};

/// The node of this rank and its neighbours there.
struct Topology {
  Communicator node;   ///< the ranks of this node
  int node_index = 0;  ///< 0.. in order of the lowest world rank on each node
  int node_count = 1;
  std::vector<int> node_of_rank;  ///< node_index of every world rank
  bool is_node_leader() const { return node.rank() == 0; }
};
/// Collective.
Topology discover_topology(const Communicator& world);

/// Version text of the MPI library; needs no MpiEnvironment.
std::string mpi_library_version();

}  // namespace runner
