// Gives other ranks what this rank's store has.
#include "staging/cache/server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <list>
#include <thread>
#include <utility>
#include <vector>

#include "runner/base/error.h"
#include "staging/hash.h"

namespace cache {
namespace {

using Clock = std::chrono::steady_clock;

/// Of the process's files, those that connections may take.
constexpr rlim_t kPartOfFiles = 4;
constexpr std::size_t kFewest = 8, kMost = 4096;
/// Of samples that are being received; one larger sample is received by itself.
constexpr std::int64_t kMostArriving = std::int64_t{64} << 20;

std::size_t most_connections() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return kFewest;
  return std::clamp<std::size_t>(files.rlim_cur / kPartOfFiles, kFewest, kMost);
}

}  // namespace

class Server::Loop {
 public:
  Loop(Store& store, int rank, const Secret& secret, Reach reach, const Limits& limits)
      : store_(store),
        rank_(rank),
        secret_(secret),
        limits_(limits),
        listener_(listen_anywhere(reach, port)),
        wake_(::eventfd(0, EFD_CLOEXEC)) {
    if (!wake_) throw base::system_error("cache: no event file", errno);
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error& error) {
      throw base::thread_error("the cache's server", error);
    }
  }
  ~Loop() {
    const std::uint64_t one = 1;
    // It cannot fail: the counter is far from its limit.
    [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
    thread_.join();
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  std::uint16_t port = 0;

 private:
  struct Connection {
    explicit Connection(int raw) : socket(raw), last_active(Clock::now()) {}
    base::Descriptor socket;
    Clock::time_point last_active;
    bool is_greeted = false;
    std::size_t have = 0;  ///< bytes of `hello`, then of each `head`, then of its sample
    Hello hello;
    Message head;
    bool has_head = false;
    std::vector<std::byte> sample;  ///< that is put
  };

  void run() {
    std::vector<pollfd> waits;
    for (;;) {
      const auto accepts = static_cast<short>(std::exchange(lacks_files_, false) ? 0 : POLLIN);
      waits.assign({{wake_.get(), POLLIN, 0}, {listener_.get(), accepts, 0}});
      for (const Connection& one : connections_) {
        waits.push_back({one.socket.get(), static_cast<short>(may_receive(one) ? POLLIN : 0), 0});
      }
      constexpr int kLookMs = 1'000;  // for connections that stand still
      if (::poll(waits.data(), waits.size(), kLookMs) < 0 && errno != EINTR) return;
      if (waits[0].revents != 0) return;
      std::size_t next = 2;
      for (auto one = connections_.begin(); one != connections_.end();) {
        const bool is_ready = waits[next++].revents != 0;
        const bool stays = is_ready ? go_on_safely(*one) : !is_stuck(*one);
        if (!stays) arriving_ -= std::ssize(one->sample);
        one = stays ? std::next(one) : connections_.erase(one);
      }
      if (waits[1].revents != 0) accept_one();
    }
  }

  void accept_one() {
    const int raw = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
    lacks_files_ = raw < 0 && (errno == EMFILE || errno == ENFILE);
    if (raw >= 0) {
      connections_.emplace_back(raw);
      limit_patience(connections_.back().socket, kPatience);
    }
    if (lacks_files_ || connections_.size() > most_) close_least_active();
  }

  /// Its owner opens another when it needs one.
  void close_least_active() {
    const auto least = std::min_element(
        connections_.begin(), connections_.end(),
        [](const auto& a, const auto& b) { return a.last_active < b.last_active; });
    if (least == connections_.end()) return;
    arriving_ -= std::ssize(least->sample);
    connections_.erase(least);
  }

  bool is_stuck(const Connection& one) const {
    const bool is_between = one.is_greeted && one.have == 0 && !one.has_head;
    return !is_between && may_receive(one) && Clock::now() - one.last_active > kPatience;
  }

  /// Whether there is memory for the sample whose head has arrived.
  bool may_receive(const Connection& one) const {
    if (!one.has_head || !one.sample.empty()) return true;
    return arriving_ == 0 || arriving_ + one.head.size <= kMostArriving;
  }

  /// Receives what is there, up to the end of `into`. False if the connection ends.
  static bool receive_more(Connection& one, std::span<std::byte> into) {
    const auto rest = into.subspan(one.have);
    const ssize_t got = ::recv(one.socket.get(), rest.data(), rest.size(), MSG_DONTWAIT);
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    one.have += static_cast<std::size_t>(got);
    one.last_active = Clock::now();
    return got > 0;
  }

  /// A connection for which memory is missing ends; the run goes on.
  bool go_on_safely(Connection& one) {
    try {
      return go_on(one);
    } catch (const std::exception&) {
      return false;
    }
  }

  /// Returns whether the connection stays.
  bool go_on(Connection& one) {
    if (one.has_head) return receive_sample(one);
    const auto into = one.is_greeted ? bytes_of(one.head) : bytes_of(one.hello);
    if (!receive_more(one, into)) return false;
    if (one.have < into.size()) return true;
    one.have = 0;
    return one.is_greeted ? obey(one) : greet(one);
  }

  bool greet(Connection& one) const {
    const std::uint64_t difference =
        (one.hello.secret[0] ^ secret_[0]) | (one.hello.secret[1] ^ secret_[1]);
    if (one.hello.magic != Hello::kMagic || difference != 0 || one.hello.rank != rank_) {
      return false;
    }
    one.is_greeted = true;
    Hello answer;
    answer.rank = rank_;
    return send_all(one.socket, bytes_of(answer));
  }

  bool obey(Connection& one) {
    const Message& asked = one.head;
    if (asked.index < 0 || asked.index >= limits_.samples) return false;
    if (asked.kind == Kind::kGet) return answer(one);
    if (asked.kind != Kind::kPut) return false;
    one.has_head = true;
    return asked.size > 0 && asked.size <= limits_.sample_bytes;
  }

  bool answer(const Connection& one) {
    Message told = one.head;
    told.size = 0;
    if (const auto found = store_.get(told.index, told.next_use, found_)) {
      told.kind = Kind::kHere;
      told.size = std::ssize(found_);
      told.hash = found->hash;
    } else {
      found_.clear();
      told.kind = store_.wants(told.next_use) ? Kind::kWanted : Kind::kAbsent;
    }
    return send_all(one.socket, bytes_of(std::as_const(told))) && send_all(one.socket, found_);
  }

  bool receive_sample(Connection& one) {
    if (one.sample.empty()) {
      one.sample.resize(static_cast<std::size_t>(one.head.size));
      arriving_ += one.head.size;
    }
    if (!receive_more(one, one.sample)) return false;
    if (one.have < one.sample.size()) return true;
    const bool is_whole = staging::hash_of(one.sample) == one.head.hash;
    if (is_whole) store_.put(one.head.index, one.sample, one.head.next_use);
    arriving_ -= std::ssize(one.sample);
    one.sample = {};
    one.has_head = false;
    one.have = 0;
    return is_whole;
  }

  Store& store_;
  const std::int64_t rank_;
  const Secret secret_;
  const Limits limits_;
  const std::size_t most_ = most_connections();
  const base::Descriptor listener_, wake_;
  std::list<Connection> connections_;
  bool lacks_files_ = false;   ///< for another connection, just now
  std::int64_t arriving_ = 0;  ///< bytes of samples that are being received
  std::vector<std::byte> found_;
  std::thread thread_;
};

Server::Server(Store& store, int rank, const Secret& secret, Reach reach, const Limits& limits)
    : loop_(std::make_unique<Loop>(store, rank, secret, reach, limits)) {}

Server::~Server() = default;

std::uint16_t Server::port() const { return loop_->port; }

}  // namespace cache
