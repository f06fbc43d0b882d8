// Shared by the files that call MPI for Communicator and its friends: handles, what is under way,
// and the accounting of a call.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "runner/base/unique_handle.h"
#include "runner/communicator.h"
#include "runner/direct_sum.h"
#include "runner/mpi_calls.h"
#include "runner/priority_order.h"

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

/// What a nonblocking call has begun.
struct Operation {
  std::vector<MPI_Request> requests;
  std::vector<std::unique_ptr<DirectSum>> sums;
  std::atomic<bool> is_done = false;

  /// Finds out whether it is done. Sums go on elsewhere (Book::go_on).
  void look() {
    int done = 1;
    if (!requests.empty()) {
      check(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done,
                        MPI_STATUSES_IGNORE),
            "MPI_Testall");
    }
    is_done = done != 0 &&
              std::all_of(sums.begin(), sums.end(), [](const auto& sum) { return sum->is_done(); });
  }
};

/// Held during calls of MPI while a progress thread runs; else it holds nothing.
using CallLock = std::unique_lock<std::recursive_mutex>;

/// The receivers of accounting, and what is under way; shared by all communicators derived from one
/// world.
struct Accounting::Book {
  telemetry::Telemetry* telemetry = nullptr;
  base::Activity activity;
  /// Those that are not done, by communicator, since priorities count within one only.
  std::map<MPI_Comm, std::vector<DirectSum*>> sums;

  // The blocking calls of the last traced step.
  struct Noted {
    const void* communicator;
    std::function<void()> again;  ///< with other data
  };
  std::vector<Noted> noted;
  std::int64_t noted_step = 0;

  bool is_noting() const { return telemetry != nullptr && telemetry->traced_step() != 0; }
  void note(const void* communicator, std::function<void()> again) {
    const std::int64_t step = telemetry->traced_step();
    if (step != noted_step) noted.clear();
    noted_step = step;
    noted.push_back({communicator, std::move(again)});
  }

  // While a progress thread runs (progress_thread.h):
  bool has_thread = false;               ///< changes only while it does not
  std::recursive_mutex calls;            ///< MPI's, and all below
  std::atomic<int> callers = 0;          ///< that wait for it, before the thread
  std::vector<Operation*> under_way;     ///< that the thread has not found done
  std::condition_variable_any has_work;  ///< of the thread
  std::exception_ptr failure;            ///< of the thread, after which it has ended
  bool is_given_up = false;              ///< an exception unwinds: the thread rests

  CallLock lock() {
    if (!has_thread) return {};
    ++callers;
    CallLock lock(calls);
    --callers;
    return lock;
  }
  /// Nothing if the other thread holds it.
  std::optional<CallLock> try_lock() {
    if (!has_thread) return CallLock();
    CallLock lock(calls, std::try_to_lock);
    if (!lock) return std::nullopt;
    return lock;
  }

  void add(DirectSum& sum, MPI_Comm comm) { add_by_priority(sum, sums[comm]); }
  void remove(DirectSum* sum) {
    for (auto& [comm, some] : sums) std::erase(some, sum);
  }
  /// Other ranks may wait for any of them, whichever this rank waits for.
  void go_on() {
    if (failure) std::rethrow_exception(failure);
    for (auto& [comm, some] : sums) go_on_in_order(some);
    std::erase_if(sums, [](const auto& entry) { return entry.second.empty(); });
  }
};

/// A buffer's parts in MPI's terms: ints that count units of one or more bytes.
struct MpiParts {
  MPI_Datatype type = MPI_BYTE;
  base::UniqueHandle<DatatypeTraits> own_type;  ///< set if the unit is larger than a byte
  std::vector<int> counts, places;
};

struct Pending::State {
  explicit State(std::shared_ptr<Accounting::Book> book_in) : book(std::move(book_in)) {}
  /// Messages may still arrive in the memory of sums that are under way, which the end of the
  /// process frees.
  ~State() {
    const CallLock lock = book->lock();
    std::erase(book->under_way, &operation);
    // Memory that other messages arrive in is freed next.
    if (std::uncaught_exceptions() > 0) book->is_given_up = true;
    for (auto& sum : operation.sums) {
      book->remove(sum.get());
      if (!sum->is_done()) static_cast<void>(sum.release());
    }
    parts.clear();
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  std::shared_ptr<Accounting::Book> book;
  Operation operation;
  std::list<MpiParts> parts;  ///< MPI reads them until the operation ends
  SentVolume sent;
};

/// A call that waits for other ranks. The activity shows it, and telemetry, if present, records its
/// time and bytes.
class BlockingCall {
 public:
  /// A call among `ranks` ranks in which this one sends `bytes`.
  BlockingCall(Accounting::Book& book, const char* name, std::int64_t bytes, int ranks)
      : waiting_(book.activity, name), telemetry_(book.telemetry), is_transfer_(ranks > 1) {
    if (telemetry_ != nullptr) {
      scope_.emplace(*telemetry_, telemetry::Subsystem::kExchange);
      if (is_transfer_) transfer_ = telemetry_->begin_exchange(name, bytes);
    }
    lock_ = book.lock();
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
  CallLock lock_;
};

struct Communicator::State {
  State(MPI_Comm handle, std::shared_ptr<Accounting::Book> book_in)
      : owner(handle), comm(handle), book(std::move(book_in)) {
    check(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
    check(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  }
  ~State() {
    const CallLock lock = book->lock();
    owner.reset();
    std::erase_if(book->noted, [this](const auto& call) { return call.communicator == this; });
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  /// Starts accounting for a blocking call in which this rank sends `bytes`.
  BlockingCall blocking_call(const char* name, std::size_t bytes = 0) const {
    count_sent(bytes);
    return {*book, name, static_cast<std::int64_t>(bytes), size};
  }
  void count_sent(std::size_t bytes) const {
    if (book->telemetry == nullptr || size == 1) return;
    book->telemetry->add(telemetry::Counter::kBytesSent, static_cast<std::int64_t>(bytes));
  }
  /// A nonblocking operation in which this rank sends `sent` to others, without requests yet. The
  /// caller holds the book's lock until it has all.
  Pending pending(const SentVolume& sent) const {
    count_sent(static_cast<std::size_t>(sent.bytes));
    Pending pending;
    pending.state_ = std::make_unique<Pending::State>(book);
    if (size > 1) pending.state_->sent = sent;
    if (book->has_thread) {
      book->under_way.push_back(&pending.state_->operation);
      book->has_work.notify_one();
    }
    return pending;
  }

  /// In a traced step, notes how to make a blocking call of this communicator again.
  template <class Call>
  void note(const Call& again) const {
    if (book->is_noting()) book->note(this, again);
  }

  void barrier() const;
  void broadcast(std::span<std::byte> data, int root) const;
  void allgather(std::span<const double> mine, std::span<double> all,
                 std::span<const int> counts) const;
  std::vector<std::int64_t> allgather(std::span<const std::int64_t> mine) const;
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
  mutable std::int64_t sums_begun = 0;  ///< the same on all ranks
};

}  // namespace runner
