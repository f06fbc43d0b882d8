// Shared by the files that implement Communicator only: MPI handles, requests and the accounting of
// a call.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "runner/base/unique_handle.h"
#include "runner/communicator.h"
#include "runner/mpi_calls.h"
#include "runner/priority_order.h"
#include "runner/ring_sum.h"

namespace runner {

inline MPI_Datatype datatype(const float&) { return MPI_FLOAT; }
inline MPI_Datatype datatype(const double&) { return MPI_DOUBLE; }
inline MPI_Datatype datatype(const std::int64_t&) { return MPI_INT64_T; }
inline MPI_Datatype datatype(const std::byte&) { return MPI_BYTE; }

/// Elements that one gather call collects in total.
inline constexpr std::size_t kGatherPiece = std::size_t{1} << 22;

/// MPI_Comm_free is collective: while an exception unwinds, other ranks may be elsewhere.
struct CommTraits {
  using Raw = MPI_Comm;
  static Raw null() { return MPI_COMM_NULL; }
  static void close(Raw comm) {
    if (comm == MPI_COMM_WORLD || is_finalized()) return;
    int size = 0;
    MPI_Comm_size(comm, &size);
    if (size == 1 || std::uncaught_exceptions() == 0) MPI_Comm_free(&comm);
  }
};

struct DatatypeTraits {
  using Raw = MPI_Datatype;
  static Raw null() { return MPI_DATATYPE_NULL; }
  static void close(Raw type) {
    if (!is_finalized()) MPI_Type_free(&type);
  }
};

/// The receivers of accounting, and what is under way; shared by all communicators derived from one
/// world.
struct Accounting::Book {
  telemetry::Telemetry* telemetry = nullptr;
  base::Activity activity;
  /// Those that are not done, by communicator, since priorities count within one only.
  std::map<MPI_Comm, std::vector<RingSum*>> rings;

  void add(RingSum& ring, MPI_Comm comm) { add_by_priority(ring, rings[comm]); }
  void remove(RingSum* ring) {
    for (auto& [comm, some] : rings) std::erase(some, ring);
  }
  /// Other ranks may wait for any of them, whichever this rank waits for.
  void go_on() {
    for (auto& [comm, some] : rings) go_on_in_order(some);
    std::erase_if(rings, [](const auto& entry) { return entry.second.empty(); });
  }
};

/// A buffer's parts in MPI's terms: ints that count units of one or more bytes.
struct MpiParts {
  MPI_Datatype type = MPI_BYTE;
  base::UniqueHandle<DatatypeTraits> own_type;  ///< set if the unit is larger than a byte
  std::vector<int> counts, places;
};

struct Pending::State {
  std::shared_ptr<Accounting::Book> book;
  std::vector<MPI_Request> requests;
  std::list<MpiParts> parts;  ///< MPI reads them until the operation ends
  std::vector<std::unique_ptr<RingSum>> rings;
  std::int64_t bytes_sent = 0;

  /// Messages may still arrive in the memory of rings, which the end of the process frees.
  void give_up_rings() {
    for (auto& ring : rings) book->remove(ring.release());
    rings.clear();
  }
  bool is_done() {
    book->go_on();
    int done = 0;
    check(
        MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE),
        "MPI_Testall");
    return done != 0 && std::all_of(rings.begin(), rings.end(),
                                    [](const auto& ring) { return ring->is_done(); });
  }
};

/// A call that waits for other ranks. The activity shows it, and telemetry, if present, records its
/// time and bytes.
class BlockingCall {
 public:
  /// A call among `ranks` ranks in which this one sends `bytes`.
  BlockingCall(Accounting::Book& book, const char* name, std::int64_t bytes, int ranks)
      : waiting_(book.activity, name), telemetry_(book.telemetry), is_transfer_(ranks > 1) {
    if (telemetry_ == nullptr) return;
    scope_.emplace(*telemetry_, telemetry::Subsystem::kExchange);
    if (is_transfer_) transfer_ = telemetry_->begin_exchange(name, bytes);
  }
  ~BlockingCall() {
    if (telemetry_ != nullptr && is_transfer_) telemetry_->end_exchange(transfer_);
  }
  BlockingCall(const BlockingCall&) = delete;
  BlockingCall& operator=(const BlockingCall&) = delete;

 private:
  base::Activity::Waiting waiting_;
  telemetry::Telemetry* telemetry_;
  bool is_transfer_;
  std::optional<telemetry::Scope> scope_;
  telemetry::TracedTransfer transfer_;
};

struct Communicator::State {
  State(MPI_Comm handle, std::shared_ptr<Accounting::Book> book_in)
      : owner(handle), comm(handle), book(std::move(book_in)) {
    check(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
    check(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  }

  /// Starts accounting for a blocking call in which this rank sends `bytes`.
  BlockingCall blocking_call(const char* name, std::size_t bytes = 0) const {
    count_sent(bytes);
    return {*book, name, static_cast<std::int64_t>(bytes), size};
  }
  void count_sent(std::size_t bytes) const {
    if (book->telemetry == nullptr || size == 1) return;
    book->telemetry->add(telemetry::Counter::kBytesSent, static_cast<std::int64_t>(bytes));
  }
  /// A nonblocking operation in which this rank sends `bytes`, without requests yet.
  Pending pending(std::size_t bytes) const {
    count_sent(bytes);
    Pending pending;
    pending.state_ = std::make_unique<Pending::State>();
    pending.state_->book = book;
    pending.state_->bytes_sent = size == 1 ? 0 : static_cast<std::int64_t>(bytes);
    return pending;
  }

  template <class T>
  void allreduce_sum(std::span<T> data) const;
  template <class T>
  T allreduce(T value, MPI_Op operation) const;
  /// Gathers the elements of every rank, in rank order, on root. Works in rounds; in each, a rank
  /// sends at most its share of kGatherPiece, so that no count or displacement overflows an int.
  template <class T>
  std::vector<std::vector<T>> gather(std::span<const T> mine, int root) const;

  base::UniqueHandle<CommTraits> owner;
  MPI_Comm comm;
  std::shared_ptr<Accounting::Book> book;
  int rank = 0;
  int size = 1;
  mutable std::int64_t rings_begun = 0;  ///< the same on all ranks
};

}  // namespace runner
