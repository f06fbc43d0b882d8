// MPI calls behind Communicator: error codes become exceptions, counts are split to fit MPI's int,
// and no collective call runs while an exception unwinds.
#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <thread>
#include <utility>

#include "runner/base/narrow.h"
#include "runner/base/printable.h"
#include "runner/communicator.h"
#include "runner/communicator_state.h"
#include "runner/mpi_calls.h"

namespace runner {
namespace {

/// Elements per blocking call. Far below INT_MAX, because Open MPI's shared-memory allreduce is
/// several times slower for one call over 64 MB than for pieces of a few MB.
constexpr std::size_t kPiece = std::size_t{1} << 20;
/// Elements per nonblocking call: callers split their buckets themselves, so only the int limit
/// matters.
constexpr std::size_t kLargestPiece = std::size_t{1} << 30;

constexpr std::size_t kPieceBytes = kPiece * sizeof(float);
/// One tag is enough: messages between two ranks arrive in the order sent.
constexpr int kTag = 0;

/// Tags of sums. More are never under way at the same time.
constexpr int kFirstSumTag = 1000;
constexpr std::int64_t kSumTags = 20'000;

constexpr const char* kWaitall = "MPI_Waitall";

/// Calls use(first, count) for consecutive pieces of `size` elements; `size` must be the same on
/// every rank.
template <class Use>
void in_pieces(std::size_t size, std::size_t piece, Use use) {
  for (std::size_t first = 0; first < size; first += piece) {
    use(first, static_cast<int>(std::min(piece, size - first)));
  }
}

}  // namespace

Accounting::Accounting(std::shared_ptr<Book> book, telemetry::Telemetry& telemetry)
    : book_(std::move(book)), before_(std::exchange(book_->telemetry, &telemetry)) {
  book_->noted.clear();
}
Accounting::~Accounting() { book_->telemetry = before_; }

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
  try {
    wait();
  } catch (const std::exception&) {
    // A destructor cannot throw; callers that must see errors call wait().
  }
}

bool Pending::look() {
  if (state_ == nullptr) return true;
  Operation& operation = state_->operation;
  if (!operation.is_done) {
    const auto lock = state_->book->try_lock();
    if (!lock) return false;
    operation.look();
    if (!operation.is_done) return false;
  }
  state_.reset();
  return true;
}

bool Pending::test() {
  if (state_ == nullptr) return true;
  if (!state_->operation.is_done) {
    const auto lock = state_->book->try_lock();
    // Without it, the progress thread goes on at this moment.
    if (!lock) return false;
    state_->book->go_on();
  }
  return look();
}

void Pending::wait() {
  if (state_ == nullptr) return;
  Accounting::Book& book = *state_->book;
  const base::Activity::Waiting waiting(book.activity, kWaitall);
  Operation& operation = state_->operation;
  if (!book.has_thread && operation.sums.empty() && book.sums.empty()) {
    check(MPI_Waitall(base::narrow<int>(operation.requests.size()), operation.requests.data(),
                      MPI_STATUSES_IGNORE),
          kWaitall);
    state_.reset();
    return;
  }
  // Ranks that share a CPU must let each other go on.
  while (!test()) std::this_thread::yield();
}

SentVolume Pending::sent() const noexcept {
  return state_ == nullptr ? SentVolume() : state_->sent;
}

template <class T>
void Communicator::State::allreduce_sum(std::span<T> data) const {
  note([this, count = data.size()] {
    std::vector<T> other(count);
    allreduce_sum(std::span<T>(other));
  });
  const auto call = blocking_call("MPI_Allreduce", data.size_bytes());
  in_pieces(data.size(), kPiece, [&](std::size_t first, int count) {
    check(MPI_Allreduce(MPI_IN_PLACE, data.data() + first, count, datatype(T{}), MPI_SUM, comm),
          "MPI_Allreduce");
  });
}

template <class T>
T Communicator::State::allreduce(T value, MPI_Op operation) const {
  note([this, operation] { allreduce(T{}, operation); });
  const auto call = blocking_call("MPI_Allreduce", sizeof(T));
  check(MPI_Allreduce(MPI_IN_PLACE, &value, 1, datatype(value), operation, comm), "MPI_Allreduce");
  return value;
}

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
const std::shared_ptr<Accounting::Book>& Communicator::book() const noexcept {
  return state_->book;
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

void Communicator::State::barrier() const {
  note([this] { barrier(); });
  const auto call = blocking_call("MPI_Barrier");
  check(MPI_Barrier(comm), "MPI_Barrier");
}
void Communicator::barrier() const { state_->barrier(); }

void Communicator::State::broadcast(std::span<std::byte> data, int root) const {
  note([this, root, bytes = data.size()] {
    std::vector<std::byte> other(bytes);
    broadcast(other, root);
  });
  const auto call = blocking_call("MPI_Bcast", rank == root ? data.size() : 0);
  in_pieces(data.size(), kPieceBytes, [&](std::size_t first, int count) {
    check(MPI_Bcast(data.data() + first, count, MPI_BYTE, root, comm), "MPI_Bcast");
  });
}
void Communicator::broadcast(std::span<std::byte> data, int root) const {
  state_->broadcast(data, root);
}

void Communicator::repeat_calls(telemetry::Telemetry& telemetry) const {
  const std::vector<Accounting::Book::Noted> noted = std::move(state_->book->noted);
  const Accounting accounting = account_to(telemetry);
  for (const auto& call : noted) call.again();
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

Pending Communicator::start_allreduce_sum(std::span<float> data, std::int64_t priority) const {
  const CallLock lock = state_->book->lock();
  SentVolume sent;
  in_pieces(data.size(), kLargestPiece, [&](std::size_t, int count) {
    sent += sent_for_direct_sum(count, state_->size, state_->rank);
  });
  Pending pending = state_->pending(sent);
  in_pieces(data.size(), kLargestPiece, [&](std::size_t first, int count) {
    const int tag = kFirstSumTag + static_cast<int>(state_->sums_begun++ % kSumTags);
    auto& sum = pending.state_->operation.sums.emplace_back(
        std::make_unique<DirectSum>(data.subspan(first, static_cast<std::size_t>(count)),
                                    state_->comm, state_->rank, state_->size, tag, priority));
    state_->book->add(*sum, state_->comm);
  });
  state_->book->go_on();
  return pending;
}

void Communicator::go_on() const {
  // Without the lock, the progress thread goes on at this moment.
  if (const auto lock = state_->book->try_lock()) state_->book->go_on();
}

void Communicator::send(std::span<const std::byte> data, int to) const {
  const auto call = state_->blocking_call("MPI_Send", data.size());
  in_pieces(data.size(), kPieceBytes, [&](std::size_t first, int count) {
    check(MPI_Send(data.data() + first, count, MPI_BYTE, to, kTag, state_->comm), "MPI_Send");
  });
}

void Communicator::receive(std::span<std::byte> data, int from) const {
  const auto call = state_->blocking_call("MPI_Recv");
  in_pieces(data.size(), kPieceBytes, [&](std::size_t first, int count) {
    check(
        MPI_Recv(data.data() + first, count, MPI_BYTE, from, kTag, state_->comm, MPI_STATUS_IGNORE),
        "MPI_Recv");
  });
}

void Communicator::send_text(const std::string& text, int to) const {
  const auto size = static_cast<std::int64_t>(text.size());
  send(std::as_bytes(std::span(&size, 1)), to);
  send(std::as_bytes(std::span(text)), to);
}

std::string Communicator::receive_text(int from) const {
  std::int64_t size = 0;
  receive(std::as_writable_bytes(std::span(&size, 1)), from);
  std::string text(base::narrow<std::size_t>(size), '\0');
  receive(std::as_writable_bytes(std::span(text)), from);
  return text;
}

void Communicator::abort(base::ExitCode code, const std::string& message) const {
  std::fflush(nullptr);
  // A single write, so that messages of several ranks do not interleave.
  const std::string line = fmt::format("rank {}: {}\n", state_->rank, base::printable(message));
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
  // The launcher ends the others when a rank exits with an error.
  const CallLock lock = state_->book->lock();
  if (!does_abort_wait()) MPI_Abort(MPI_COMM_WORLD, static_cast<int>(code));
  std::_Exit(static_cast<int>(code));
}

void Communicator::abort_together(base::ExitCode code, const std::string& message) const {
  if (state_->rank == 0) abort(code, message);
  // Rank 0 ends this process within moments. If it is gone already, exit here.
  std::this_thread::sleep_for(std::chrono::seconds(5));
  std::_Exit(static_cast<int>(code));
}

}  // namespace runner
