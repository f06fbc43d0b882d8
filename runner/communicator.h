// The door to the other ranks: a thin, checked C++ view of MPI.
// Hides MPI handles, datatypes and error codes. MPI types appear nowhere else outside runner/ but
// in tests.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runner/base/activity.h"
#include "runner/base/error.h"
#include "runner/telemetry/telemetry.h"

namespace runner {

/// MPI_Init_thread(FUNNELED) ... MPI_Finalize. Outlives every Communicator. As user id 0 nothing is
/// set here: the launcher needs OMPI_ALLOW_RUN_AS_ROOT, not we.
class MpiEnvironment {
 public:
  MpiEnvironment(int& argc, char**& argv);
  ~MpiEnvironment();
  MpiEnvironment(const MpiEnvironment&) = delete;
  MpiEnvironment& operator=(const MpiEnvironment&) = delete;
};

/// A nonblocking operation under way; its buffers must stay untouched until test() says true or
/// wait() returns.
class Pending {
 public:
  Pending() noexcept;
  Pending(Pending&&) noexcept;
  Pending& operator=(Pending&&) noexcept;
  ~Pending();  ///< waits, unless an exception is unwinding
  bool test();
  void wait();
  /// Whether wait() was not called, test() was not true, and there are other ranks.
  bool is_under_way() const noexcept { return state_ != nullptr; }
  /// What this rank gives to it for others; 0 once it is over.
  std::int64_t bytes_sent() const noexcept;

 private:
  friend class Communicator;
  struct State;
  std::unique_ptr<State> state_;
};

/// While it lives, a communicator keeps account of what it does (Communicator::account_to).
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

/// The parts of one buffer that go to ranks, or come from them: bytes, by rank.
struct RankParts {
  std::vector<std::int64_t> counts;
  std::vector<std::int64_t> places;  ///< of the first byte; of no meaning where the count is 0
};
/// Parts of these sizes that follow each other.
RankParts consecutive_parts(std::vector<std::int64_t> counts);

/// A group of ranks. Every call but rank(), size(), activity(), account_to(), send(), receive(),
/// send_text(), receive_text() and abort() is collective.
class Communicator {
 public:
  /// All ranks of the job; needs a living MpiEnvironment.
  static Communicator world();
  Communicator(Communicator&&) noexcept;
  Communicator& operator=(Communicator&&) noexcept;
  ~Communicator();

  int rank() const noexcept;
  int size() const noexcept;
  /// What this rank is doing, for who watches it; every blocking call below stands in it while it
  /// waits. One for all communicators that stem from the same world().
  base::Activity& activity() const noexcept;

  /// Collective. Ranks with equal color form a group, ordered by key, then rank. A negative color
  /// takes part in none and gets a communicator of itself alone.
  Communicator split(int color, int key) const;
  /// Collective. The ranks that share this rank's node (MPI_COMM_TYPE_SHARED).
  Communicator split_node() const;
  /// Collective. A duplicate with its own message space.
  Communicator duplicate() const;

  /// While the result lives, the time of every blocking call, on this communicator and on all that
  /// stem from the same world(), is exchange time of `telemetry`, which also counts the bytes given
  /// to blocking and nonblocking ones; where it is traced, each blocking call with other ranks is a
  /// transfer named as MPI names it. Whoever starts nonblocking calls accounts for their time.
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
  /// In-place sum, nonblocking. Collective: every rank starts the same operations in the same
  /// order.
  Pending start_allreduce_sum(std::span<float> data) const;
  /// counts[r] elements from rank r, in rank order, on every rank.
  void allgather(std::span<const double> mine, std::span<double> all,
                 std::span<const int> counts) const;
  /// mine of every rank, in rank order, on every rank; as many numbers on each.
  std::vector<std::int64_t> allgather(std::span<const std::int64_t> mine) const;

  // Nonblocking exchanges of parts. Collective: every rank starts the same ones in the same order,
  // and both ends of a part agree on its size. A part may have more than 2^31 bytes, if all counts
  // and places of its buffer are multiples of a power of two (their element's size) that makes them
  // fit. Of the bytes sent only those count that go to other ranks.
  /// Sends part r of `send` to rank r, whose part for this rank becomes part r of `receive`. This
  /// rank's own part is copied at once.
  Pending start_alltoall(std::span<const std::byte> send, const RankParts& sent,
                         std::span<std::byte> receive, const RankParts& received) const;
  /// Part r of root's `send` becomes `mine` of rank r; root's own part stays where it is. `send`
  /// and `sent` have a meaning on root alone, `mine` elsewhere.
  Pending start_scatter(std::span<const std::byte> send, const RankParts& sent,
                        std::span<std::byte> mine, int root) const;
  /// The reverse: `mine` of rank r becomes part r of root's `receive`, but for root's own.
  Pending start_gather(std::span<const std::byte> mine, std::span<std::byte> receive,
                       const RankParts& received, int root) const;
  /// The text of each rank, in rank order, on root (elsewhere empty).
  std::vector<std::string> gather(const std::string& text, int root) const;
  /// data of every rank in rank order on root (elsewhere empty); sizes may differ.
  std::vector<float> gather(std::span<const float> mine, int root) const;
  std::vector<std::int64_t> gather(std::span<const std::int64_t> mine, int root) const;

  /// From one rank to another, which expects as many bytes. For measuring and for output; training
  /// has no use for them.
  void send(std::span<const std::byte> data, int to) const;
  void receive(std::span<std::byte> data, int from) const;
  std::string receive_text(int from) const;  ///< of send_text()
  void send_text(const std::string& text, int to) const;

  /// "rank 3: message" on stderr, then the whole job ends with `code`. Not collective: one rank is
  /// enough.
  [[noreturn]] void abort(base::ExitCode code, const std::string& message) const;
  /// As abort(), for a failure that every rank has found and calls this for: rank 0 speaks for all.
  [[noreturn]] void abort_together(base::ExitCode code, const std::string& message) const;

 private:
  friend class SharedMemory;
  struct State;
  explicit Communicator(std::unique_ptr<State> state) noexcept;
  const void* handle() const noexcept;  ///< MPI_Comm*
  std::unique_ptr<State> state_;
};

/// Where this rank stands: which node it is on, who shares it.
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
