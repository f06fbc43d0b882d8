// Tests of what ranks ask of each other's caches: what arrives, who may ask, and what a rank does
// about servers that fail or answer wrongly.
#include "staging/cache/peers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>

#include "runner/base/random.h"
#include "staging/cache/made_sample.h"
#include "staging/cache/server.h"
#include "staging/hash.h"

namespace cache {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int kRank = 1;
constexpr std::int64_t kSamples = 1000, kMostBytes = 1 << 20;
constexpr Secret kSecret = {7, 9};

std::vector<std::string> remarks_of(Peers& peers) {
  std::vector<std::string> remarks;
  peers.take_remarks_into(remarks);
  return remarks;
}

/// The peers of rank 0, of which rank 1 listens at `port`.
Peers peers_at(std::uint16_t port, const Secret& secret = kSecret) {
  return {{{}, {port, {"none such", kThisHost}, "node1"}},
          secret,
          kMostBytes,
          std::chrono::milliseconds(200)};
}

class PeerTrial : public testing::Test {
 protected:
  Store store_{{.memory_bytes = kMostBytes}, Policy::kNextUse, nullptr};
  Server server_{store_, kRank, kSecret, Reach::kThisHost, {kSamples, kMostBytes}};
  std::vector<std::byte> bytes_;
  base::Descriptor connect() const {
    base::Descriptor socket =
        connect_to(kThisHost, server_.port(), std::chrono::milliseconds(1000));
    limit_patience(socket, kPatience);
    return socket;
  }
  /// Whether the server ends a connection on which `bytes` arrive.
  bool is_refused(std::span<const std::byte> bytes, bool is_greeted) const {
    const base::Descriptor socket = connect();
    Hello hello = {.secret = kSecret, .rank = kRank};
    if (is_greeted) {
      EXPECT_TRUE(send_all(socket, bytes_of(hello)) && receive_all(socket, bytes_of(hello)));
    }
    if (!send_all(socket, bytes)) return true;
    ::shutdown(socket.get(), SHUT_WR);
    std::byte any{};
    return !receive_all(socket, std::span(&any, 1));
  }
  bool serves() {
    Peers peers = peers_at(server_.port());
    peers.put(kRank, 5, sample(5, 10), 50);
    return peers.get(kRank, 5, 60, bytes_) == Peers::Answer::kHere && bytes_ == sample(5, 10);
  }
};

TEST_F(PeerTrial, GivesWhatItHasAndTakesWhatItWants) {
  Peers peers = peers_at(server_.port());
  EXPECT_EQ(peers.get(kRank, 3, 40, bytes_), Peers::Answer::kWanted);
  peers.put(kRank, 3, sample(3, 500'000), 40);
  EXPECT_EQ(peers.get(kRank, 3, 80, bytes_), Peers::Answer::kHere);
  EXPECT_EQ(bytes_, sample(3, 500'000));
  peers.put(kRank, 4, sample(4, 500'000), 70);
  EXPECT_EQ(peers.get(kRank, 4, 70, bytes_), Peers::Answer::kHere);
  EXPECT_EQ(peers.get(kRank, 5, 90, bytes_), Peers::Answer::kAbsent) << "all it has is used sooner";
  peers.put(kRank, 6, sample(6, 500'000), 75);
  EXPECT_EQ(peers.get(kRank, 3, 60, bytes_), Peers::Answer::kWanted) << "6 was used before it";
  EXPECT_EQ(peers.get(kRank, 6, 90, bytes_), Peers::Answer::kHere);
  EXPECT_EQ(bytes_, sample(6, 500'000));
  EXPECT_THAT(remarks_of(peers), IsEmpty());
}

TEST_F(PeerTrial, ServesManyThreadsOfManyRanks) {
  std::vector<std::unique_ptr<Peers>> ranks;
  for (int i = 0; i < 3; ++i) {
    ranks.push_back(std::make_unique<Peers>(
        std::vector<PeerAddress>{{}, {server_.port(), {kThisHost}, ""}}, kSecret, kMostBytes));
  }
  std::vector<std::thread> threads;
  std::atomic<int> hits{0};
  for (int thread = 0; thread < 6; ++thread) {
    threads.emplace_back([&, thread] {
      Peers& peers = *ranks[static_cast<std::size_t>(thread % 3)];
      std::vector<std::byte> bytes;
      for (int i = 0; i < 300; ++i) {
        const std::int64_t index = (i * 7 + thread) % 20;
        const auto answer = peers.get(kRank, index, 1000, bytes);
        if (answer == Peers::Answer::kWanted) peers.put(kRank, index, sample(index, 3000), 1000);
        if (answer != Peers::Answer::kHere) continue;
        ++hits;
        EXPECT_EQ(bytes, sample(index, 3000));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(hits, 6 * 300 - 6 * 20 - 1);
  for (const auto& peers : ranks) EXPECT_THAT(remarks_of(*peers), IsEmpty());
}

TEST_F(PeerTrial, AnswersNobodyWithoutTheSecret) {
  EXPECT_TRUE(store_.put(3, sample(3, 10), 40));
  Peers others = peers_at(server_.port(), {7, 8});
  EXPECT_EQ(others.get(kRank, 3, 40, bytes_), Peers::Answer::kAbsent);
  EXPECT_THAT(remarks_of(others),
              ElementsAre(HasSubstr("rank 1 on node1 does not answer as expected")));
  const Hello of_another = {.secret = kSecret, .rank = kRank + 1};
  EXPECT_TRUE(is_refused(bytes_of(of_another), false));
  EXPECT_TRUE(serves());
}

TEST_F(PeerTrial, RefusesWhatBreaksTheRules) {
  const std::vector<std::byte> put = sample(1, 10);
  const std::uint64_t hash = staging::hash_of(put);
  for (const Message& message :
       {Message{.kind = Kind::kGet, .index = -1}, Message{.kind = Kind::kGet, .index = kSamples},
        Message{.kind = Kind::kHere, .index = 1}, Message{.kind = Kind{0}, .index = 1},
        Message{Kind::kPut, 1, 5, -1, hash}, Message{Kind::kPut, 1, 5, 0, hash},
        Message{Kind::kPut, 1, 5, kMostBytes + 1, hash}, Message{Kind::kPut, 1, 5, 10, hash + 1},
        Message{Kind::kPut, -1, 5, 10, hash}}) {
    std::vector<std::byte> sent(bytes_of(message).begin(), bytes_of(message).end());
    sent.insert(sent.end(), put.begin(), put.end());
    EXPECT_TRUE(is_refused(sent, true)) << static_cast<std::uint64_t>(message.kind) << ", "
                                        << message.index << ", " << message.size;
  }
  EXPECT_EQ(store_.samples(), 0);
  EXPECT_TRUE(serves());
}

TEST_F(PeerTrial, OutlivesRandomBytes) {
  base::RandomStream random(1, base::Purpose::kGenerate, 0, 0);
  for (int i = 0; i < 200; ++i) {
    std::vector<std::byte> noise(random.below(300));
    for (std::byte& byte : noise) byte = static_cast<std::byte>(random.next_u32());
    const bool is_greeted = i % 2 == 0;
    // Else the first message would hardly ever be one.
    if (is_greeted && noise.size() >= sizeof(Message)) {
      const std::uint64_t kind = random.below(7), index = random.below(kSamples + 2);
      std::memcpy(noise.data(), &kind, sizeof kind);
      std::memcpy(noise.data() + sizeof kind, &index, sizeof index);
    }
    const base::Descriptor socket = connect();
    const Hello hello = {.secret = kSecret, .rank = kRank};
    if (is_greeted) send_all(socket, bytes_of(hello));
    send_all(socket, noise);
  }
  EXPECT_TRUE(serves());
}

/// A server of one connection, which behaves as `behave` does.
class FakeServer {
 public:
  explicit FakeServer(std::function<void(const base::Descriptor& socket)> behave)
      : listener_(listen_anywhere(Reach::kThisHost, port)),
        thread_([this, behave = std::move(behave)] {
          pollfd wait = {listener_.get(), POLLIN, 0};
          if (::poll(&wait, 1, 10'000) != 1) return;
          const base::Descriptor socket(::accept(listener_.get(), nullptr, nullptr));
          limit_patience(socket, kPatience);
          Hello hello;
          if (receive_all(socket, bytes_of(hello))) behave(socket);
        }) {}
  ~FakeServer() { thread_.join(); }
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;
  std::uint16_t port = 0;

 private:
  const base::Descriptor listener_;
  std::thread thread_;
};

/// Greets, and answers the first message with `told` and some bytes.
void answer(const base::Descriptor& socket, const Message& told,
            std::span<const std::byte> bytes = {}) {
  const Hello hello = {.rank = kRank};
  Message asked;
  send_all(socket, bytes_of(hello));
  receive_all(socket, bytes_of(asked));
  send_all(socket, bytes_of(told));
  send_all(socket, bytes);
  std::byte any{};
  receive_all(socket, std::span(&any, 1));  // until the other end closes
}

TEST(Peers, DoNotAskAgainWhoAnswersWrongly) {
  const std::vector<std::byte> some = sample(3, 10);
  const std::uint64_t hash = staging::hash_of(some);
  const std::vector<std::function<void(const base::Descriptor&)>> behaviours = {
      [](const base::Descriptor&) {},  // closes
      [](const base::Descriptor& socket) {
        const Hello another = {.rank = kRank + 1};
        send_all(socket, bytes_of(another));
      },
      [&](const base::Descriptor& socket) {
        answer(socket, {Kind::kHere, 4, 0, 10, hash}, some);  // another sample
      },
      [&](const base::Descriptor& socket) {
        answer(socket, {Kind::kHere, 3, 0, 10, hash + 1}, some);
      },
      [&](const base::Descriptor& socket) {
        answer(socket, {Kind::kHere, 3, 0, kMostBytes + 1, hash}, some);
      },
      [&](const base::Descriptor& socket) {
        answer(socket, {Kind::kHere, 3, 0, -1, hash});
      },
      [&](const base::Descriptor& socket) {
        answer(socket, {Kind::kPut, 3, 0, 10, hash}, some);
      },
      [&](const base::Descriptor& socket) {
        answer(socket, {Kind::kAbsent, 3, 0, 10, hash});
      },
      [&](const base::Descriptor& socket) {
        answer(socket, {Kind::kHere, 3, 0, 20, hash}, some);  // and then stands still
      }};
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < behaviours.size(); ++i) {
    const FakeServer server(behaviours[i]);
    Peers peers = peers_at(server.port);
    EXPECT_EQ(peers.get(kRank, 3, 40, bytes), Peers::Answer::kAbsent) << i;
    EXPECT_EQ(peers.get(kRank, 3, 40, bytes), Peers::Answer::kAbsent) << i;
    peers.put(kRank, 3, some, 40);
    EXPECT_THAT(remarks_of(peers), ElementsAre(HasSubstr("rank 1 on node1"))) << i;
  }
}

TEST(Peers, DoWithoutAServer) {
  std::uint16_t port = 0;
  listen_anywhere(Reach::kThisHost, port).reset();
  Peers peers = peers_at(port);
  std::vector<std::byte> bytes;
  peers.put(kRank, 3, sample(3, 10), 40);
  EXPECT_EQ(peers.get(kRank, 3, 40, bytes), Peers::Answer::kAbsent);
  EXPECT_THAT(remarks_of(peers), ElementsAre(HasSubstr("read from the source")));
}

TEST(Peers, AreNotTriedWhereTheFirstCannotBeReached) {
  Store store({.memory_bytes = kMostBytes}, Policy::kNextUse, nullptr);
  EXPECT_TRUE(store.put(3, sample(3, 10), 40));
  constexpr int kLast = Peers::kTries + 1;
  const Server server(store, kLast, kSecret, Reach::kThisHost, {kSamples, kMostBytes});
  std::uint16_t none = 0;
  listen_anywhere(Reach::kThisHost, none).reset();
  std::vector<PeerAddress> addresses(kLast, PeerAddress{none, {kThisHost}, "node1"});
  addresses.push_back({server.port(), {kThisHost}, "node2"});
  std::vector<std::byte> bytes;
  Peers some(addresses, kSecret, kMostBytes), all(addresses, kSecret, kMostBytes);
  EXPECT_EQ(all.get(kLast, 3, 40, bytes), Peers::Answer::kHere);
  for (int rank = 0; rank < Peers::kTries; ++rank) {
    for (Peers* const peers : {&some, &all}) {
      EXPECT_EQ(peers->get(rank, 3, 40, bytes), Peers::Answer::kAbsent);
    }
  }
  EXPECT_EQ(some.get(kLast, 3, 40, bytes), Peers::Answer::kAbsent);
  EXPECT_EQ(all.get(kLast, 3, 40, bytes), Peers::Answer::kHere);
}

TEST(Peers, OpenAnotherConnectionWhenTheServerHasClosedOne) {
  Store store({.memory_bytes = kMostBytes}, Policy::kNextUse, nullptr);
  std::vector<std::byte> bytes;
  EXPECT_TRUE(store.put(3, sample(3, 10), 40));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  few.rlim_cur = 32;  // of which connections get the least, 8
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  const Server server(store, kRank, kSecret, Reach::kThisHost, {kSamples, kMostBytes});
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  std::vector<std::unique_ptr<Peers>> ranks;
  for (int i = 0; i < 20; ++i) {
    ranks.push_back(std::make_unique<Peers>(
        std::vector<PeerAddress>{{}, {server.port(), {kThisHost}, ""}}, kSecret, kMostBytes));
  }
  for (int round = 0; round < 3; ++round) {
    for (const auto& peers : ranks) {
      EXPECT_EQ(peers->get(kRank, 3, 40, bytes), Peers::Answer::kHere);
      EXPECT_THAT(remarks_of(*peers), IsEmpty());
    }
  }
}

TEST(Wire, HasAddressesOfOtherHostsAlone) {
  for (const std::string& address : network_addresses()) {
    EXPECT_NE(address, kThisHost);
    EXPECT_NE(address, "::1");
  }
  EXPECT_NE(random_secret(), random_secret());
  EXPECT_FALSE(connect_to("no address", 1, std::chrono::milliseconds(1)));
}

}  // namespace
}  // namespace cache
