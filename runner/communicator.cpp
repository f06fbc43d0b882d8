// The MPI behind Communicator: error codes to exceptions, counts cut to what MPI's int can say.
// Hides handles, datatypes, and which calls may run while an exception unwinds (none).
#include "runner/communicator.h"

#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>

#include "runner/base/narrow.h"
#include "runner/base/unique_handle.h"
#include "runner/mpi_calls.h"

namespace runner {
namespace {

/// Elements per blocking call. Far below INT_MAX, because one call over 64 MB moves a fraction of
/// what the same bytes in pieces of a few MB do (Open MPI's shared-memory allreduce).
constexpr std::size_t kPiece = std::size_t{1} << 20;
/// Elements per nonblocking call: callers cut their own buckets, so only the int limit matters.
constexpr std::size_t kLargestPiece = std::size_t{1} << 30;
/// Elements that one gathering call collects in total.
constexpr std::size_t kGatherPiece = std::size_t{1} << 22;

MPI_Datatype datatype(const float&) { return MPI_FLOAT; }
MPI_Datatype datatype(const double&) { return MPI_DOUBLE; }
MPI_Datatype datatype(const std::int64_t&) { return MPI_INT64_T; }
MPI_Datatype datatype(const std::byte&) { return MPI_BYTE; }

constexpr const char* kWaitall = "MPI_Waitall";

/// Calls use(first, count) for consecutive pieces of `size` elements, which is the same on every
/// rank.
template <class Use>
void in_pieces(std::size_t size, std::size_t piece, Use use) {
  for (std::size_t first = 0; first < size; first += piece) {
    use(first, static_cast<int>(std::min(piece, size - first)));
  }
}

/// MPI_Comm_free is collective: while an exception unwinds, the other ranks, if any, are elsewhere.
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

}  // namespace

/// Who is told of the calls; shared by all communicators that stem from one world.
struct Accounting::Book {
  telemetry::Telemetry* telemetry = nullptr;
  base::Activity activity;
};

Accounting::Accounting(std::shared_ptr<Book> book, telemetry::Telemetry& telemetry)
    : book_(std::move(book)), before_(std::exchange(book_->telemetry, &telemetry)) {}
Accounting::~Accounting() { book_->telemetry = before_; }

struct Pending::State {
  std::shared_ptr<Accounting::Book> book;
  std::vector<MPI_Request> requests;
};

Pending::Pending() noexcept = default;
Pending::Pending(Pending&&) noexcept = default;

Pending& Pending::operator=(Pending&& from) noexcept {
  if (this != &from) {
    Pending finished(std::move(*this));
    state_ = std::move(from.state_);
  }
  return *this;
}

Pending::~Pending() {
  if (state_ == nullptr || unwinding_or_finalized()) return;
  const base::Activity::Waiting waiting(state_->book->activity, kWaitall);
  // An error cannot leave a destructor; whoever cares calls wait().
  MPI_Waitall(static_cast<int>(state_->requests.size()), state_->requests.data(),
              MPI_STATUSES_IGNORE);
}

bool Pending::test() {
  if (state_ == nullptr) return true;
  int done = 0;
  check(MPI_Testall(base::narrow<int>(state_->requests.size()), state_->requests.data(), &done,
                    MPI_STATUSES_IGNORE),
        "MPI_Testall");
  if (done != 0) state_.reset();
  return done != 0;
}

void Pending::wait() {
  if (state_ == nullptr) return;
  const base::Activity::Waiting waiting(state_->book->activity, kWaitall);
  check(MPI_Waitall(base::narrow<int>(state_->requests.size()), state_->requests.data(),
                    MPI_STATUSES_IGNORE),
        kWaitall);
  state_.reset();
}

namespace {

/// A call that waits for other ranks: whoever watches this one sees it there, and the telemetry, if
/// any, has its time and bytes.
class BlockingCall {
 public:
  BlockingCall(Accounting::Book& book, const char* name) : waiting_(book.activity, name) {
    if (book.telemetry != nullptr) scope_.emplace(*book.telemetry, telemetry::Subsystem::kExchange);
  }

 private:
  base::Activity::Waiting waiting_;
  std::optional<telemetry::Scope> scope_;
};

}  // namespace

struct Communicator::State {
  State(MPI_Comm handle, std::shared_ptr<Accounting::Book> book_in)
      : owner(handle), comm(handle), book(std::move(book_in)) {
    check(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
    check(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  }

  /// Opens the account of a blocking call to which this rank gives `bytes`.
  BlockingCall blocking_call(const char* name, std::size_t bytes = 0) const {
    count_sent(bytes);
    return {*book, name};
  }
  void count_sent(std::size_t bytes) const {
    if (book->telemetry == nullptr || size == 1) return;
    book->telemetry->add(telemetry::Counter::kBytesSent, static_cast<std::int64_t>(bytes));
  }

  template <class T>
  void allreduce_sum(std::span<T> data) const {
    const auto call = blocking_call("MPI_Allreduce", data.size_bytes());
    in_pieces(data.size(), kPiece, [&](std::size_t first, int count) {
      check(MPI_Allreduce(MPI_IN_PLACE, data.data() + first, count, datatype(T{}), MPI_SUM, comm),
            "MPI_Allreduce");
    });
  }

  template <class T>
  T allreduce(T value, MPI_Op operation) const {
    const auto call = blocking_call("MPI_Allreduce", sizeof(T));
    check(MPI_Allreduce(MPI_IN_PLACE, &value, 1, datatype(value), operation, comm),
          "MPI_Allreduce");
    return value;
  }

  /// The elements of every rank, in rank order, on root. Goes round by round, each rank sending at
  /// most its part of kGatherPiece, so that no count and no displacement outgrows an int.
  template <class T>
  std::vector<std::vector<T>> gather(std::span<const T> mine, int root) const;

  base::UniqueHandle<CommTraits> owner;
  MPI_Comm comm;
  std::shared_ptr<Accounting::Book> book;
  int rank = 0;
  int size = 1;
};

template <class T>
std::vector<std::vector<T>> Communicator::State::gather(std::span<const T> mine, int root) const {
  const auto call = blocking_call("MPI_Gatherv", mine.size_bytes());
  const auto ranks = static_cast<std::size_t>(size);
  std::vector<std::int64_t> sizes(ranks);
  const auto my_size = static_cast<std::int64_t>(mine.size());
  check(MPI_Allgather(&my_size, 1, datatype(my_size), sizes.data(), 1, datatype(my_size), comm),
        "MPI_Allgather");
  const auto longest = static_cast<std::size_t>(*std::max_element(sizes.begin(), sizes.end()));
  const std::size_t part = std::max<std::size_t>(1, kGatherPiece / ranks);
  const auto count_at = [&](std::size_t r, std::size_t first) {
    const auto all = static_cast<std::size_t>(sizes[r]);
    return first < all ? static_cast<int>(std::min(part, all - first)) : 0;
  };

  std::vector<std::vector<T>> collected(rank == root ? ranks : 0);
  std::vector<int> counts(ranks), places(ranks);
  std::vector<T> round;
  for (std::size_t first = 0; first < longest; first += part) {
    for (std::size_t r = 0; r < ranks; ++r) counts[r] = count_at(r, first);
    std::exclusive_scan(counts.begin(), counts.end(), places.begin(), 0);
    if (rank == root) {
      round.resize(static_cast<std::size_t>(places.back()) +
                   static_cast<std::size_t>(counts.back()));
    }
    const int count = counts[static_cast<std::size_t>(rank)];
    const T* from = count > 0 ? mine.data() + first : nullptr;
    check(MPI_Gatherv(from, count, datatype(T{}), round.data(), counts.data(), places.data(),
                      datatype(T{}), root, comm),
          "MPI_Gatherv");
    for (std::size_t r = 0; r < collected.size(); ++r) {
      const auto begin = round.begin() + places[r];
      collected[r].insert(collected[r].end(), begin, begin + counts[r]);
    }
  }
  return collected;
}

namespace {

template <class T>
std::vector<T> joined(const std::vector<std::vector<T>>& parts) {
  std::vector<T> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace

Communicator::Communicator(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
Communicator::Communicator(Communicator&&) noexcept = default;
Communicator& Communicator::operator=(Communicator&&) noexcept = default;
Communicator::~Communicator() = default;

Communicator Communicator::world() {
  return Communicator(
      std::make_unique<State>(MPI_COMM_WORLD, std::make_shared<Accounting::Book>()));
}

int Communicator::rank() const noexcept { return state_->rank; }
int Communicator::size() const noexcept { return state_->size; }
const void* Communicator::handle() const noexcept {
  return static_cast<const void*>(&state_->comm);
}
base::Activity& Communicator::activity() const noexcept { return state_->book->activity; }

Communicator Communicator::split(int color, int key) const {
  const auto call = state_->blocking_call("MPI_Comm_split");
  MPI_Comm part = MPI_COMM_NULL;
  check(MPI_Comm_split(state_->comm, color < 0 ? MPI_UNDEFINED : color, key, &part),
        "MPI_Comm_split");
  if (part == MPI_COMM_NULL) check(MPI_Comm_dup(MPI_COMM_SELF, &part), "MPI_Comm_dup");
  return Communicator(std::make_unique<State>(part, state_->book));
}

Communicator Communicator::split_node() const {
  const auto call = state_->blocking_call("MPI_Comm_split_type");
  MPI_Comm part = MPI_COMM_NULL;
  check(MPI_Comm_split_type(state_->comm, MPI_COMM_TYPE_SHARED, state_->rank, MPI_INFO_NULL, &part),
        "MPI_Comm_split_type");
  return Communicator(std::make_unique<State>(part, state_->book));
}

Communicator Communicator::duplicate() const {
  const auto call = state_->blocking_call("MPI_Comm_dup");
  MPI_Comm copy = MPI_COMM_NULL;
  check(MPI_Comm_dup(state_->comm, &copy), "MPI_Comm_dup");
  return Communicator(std::make_unique<State>(copy, state_->book));
}

Accounting Communicator::account_to(telemetry::Telemetry& telemetry) const {
  return {state_->book, telemetry};
}

void Communicator::barrier() const {
  const auto call = state_->blocking_call("MPI_Barrier");
  check(MPI_Barrier(state_->comm), "MPI_Barrier");
}

void Communicator::broadcast(std::span<std::byte> data, int root) const {
  const auto call = state_->blocking_call("MPI_Bcast", state_->rank == root ? data.size() : 0);
  in_pieces(data.size(), kPiece * sizeof(float), [&](std::size_t first, int count) {
    check(MPI_Bcast(data.data() + first, count, MPI_BYTE, root, state_->comm), "MPI_Bcast");
  });
}

std::string Communicator::broadcast(const std::string& text, int root) const {
  const auto call = state_->blocking_call("MPI_Bcast");
  auto size = static_cast<std::int64_t>(text.size());
  check(MPI_Bcast(&size, 1, MPI_INT64_T, root, state_->comm), "MPI_Bcast");
  std::string received =
      state_->rank == root ? text : std::string(base::narrow<std::size_t>(size), '\0');
  broadcast(std::as_writable_bytes(std::span<char>(received)), root);
  return received;
}

void Communicator::allreduce_sum(std::span<float> data) const { state_->allreduce_sum(data); }
void Communicator::allreduce_sum(std::span<double> data) const { state_->allreduce_sum(data); }
void Communicator::allreduce_sum(std::span<std::int64_t> data) const {
  state_->allreduce_sum(data);
}

std::int64_t Communicator::allreduce_max(std::int64_t value) const {
  return state_->allreduce(value, MPI_MAX);
}
std::int64_t Communicator::allreduce_min(std::int64_t value) const {
  return state_->allreduce(value, MPI_MIN);
}
double Communicator::allreduce_max(double value) const { return state_->allreduce(value, MPI_MAX); }

Pending Communicator::start_allreduce_sum(std::span<float> data) const {
  state_->count_sent(data.size_bytes());
  Pending pending;
  pending.state_ = std::make_unique<Pending::State>();
  pending.state_->book = state_->book;
  in_pieces(data.size(), kLargestPiece, [&](std::size_t first, int count) {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Iallreduce(MPI_IN_PLACE, data.data() + first, count, MPI_FLOAT, MPI_SUM, state_->comm,
                         &request),
          "MPI_Iallreduce");
    pending.state_->requests.push_back(request);
  });
  return pending;
}

void Communicator::allgather(std::span<const double> mine, std::span<double> all,
                             std::span<const int> counts) const {
  const auto ranks = static_cast<std::size_t>(state_->size);
  std::vector<std::size_t> places(ranks);
  if (counts.size() == ranks) {
    std::transform_exclusive_scan(counts.begin(), counts.end(), places.begin(), std::size_t{0},
                                  std::plus<>(), [](int n) { return static_cast<std::size_t>(n); });
  }
  if (counts.size() != ranks ||
      mine.size() != static_cast<std::size_t>(counts[static_cast<std::size_t>(rank())]) ||
      all.size() != places.back() + static_cast<std::size_t>(counts.back())) {
    throw base::Error(base::ExitCode::kInternal,
                      fmt::format("allgather: {} counts for {} ranks, {} of mine into {}",
                                  counts.size(), ranks, mine.size(), all.size()));
  }
  if (all.size() <= kGatherPiece) {
    const auto call = state_->blocking_call("MPI_Allgatherv", mine.size_bytes());
    const std::vector<int> starts(places.begin(), places.end());
    check(MPI_Allgatherv(mine.data(), base::narrow<int>(mine.size()), MPI_DOUBLE, all.data(),
                         counts.data(), starts.data(), MPI_DOUBLE, state_->comm),
          "MPI_Allgatherv");
    return;
  }
  std::copy(mine.begin(), mine.end(),
            all.begin() + static_cast<std::ptrdiff_t>(places[static_cast<std::size_t>(rank())]));
  for (std::size_t r = 0; r < ranks; ++r) {
    const auto part = all.subspan(places[r], static_cast<std::size_t>(counts[r]));
    broadcast(std::as_writable_bytes(part), static_cast<int>(r));
  }
}

std::vector<std::string> Communicator::gather(const std::string& text, int root) const {
  std::vector<std::string> texts;
  for (const auto& bytes : state_->gather(std::as_bytes(std::span<const char>(text)), root)) {
    texts.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return texts;
}

std::vector<float> Communicator::gather(std::span<const float> mine, int root) const {
  return joined(state_->gather(mine, root));
}
std::vector<std::int64_t> Communicator::gather(std::span<const std::int64_t> mine, int root) const {
  return joined(state_->gather(mine, root));
}

void Communicator::abort(base::ExitCode code, const std::string& message) const {
  std::fflush(nullptr);
  // One write, so that the messages of several ranks do not mix.
  const std::string line = fmt::format("rank {}: {}\n", state_->rank, message);
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
  MPI_Abort(MPI_COMM_WORLD, static_cast<int>(code));
  std::_Exit(static_cast<int>(code));
}

void Communicator::abort_together(base::ExitCode code, const std::string& message) const {
  if (state_->rank == 0) abort(code, message);
  // Rank 0 ends this process within moments; should it be gone already, we end by ourselves.
  std::this_thread::sleep_for(std::chrono::seconds(5));
  std::_Exit(static_cast<int>(code));
}

}  // namespace runner
