// Tests of exchanges in which each rank passes a part of a size of its own.
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "runner/base/ceil_div.h"
#include "runner/communicator.h"

namespace runner {
namespace {

using testing::Each;

TEST(Parts, GathersAsManyNumbersOfEachOnEveryRank) {
  const Communicator world = Communicator::world();
  const std::vector<std::int64_t> mine = {world.rank(), std::int64_t{1} << 40};
  const std::vector<std::int64_t> all = world.allgather(std::span<const std::int64_t>(mine));
  ASSERT_EQ(all.size(), 2 * static_cast<std::size_t>(world.size()));
  for (std::size_t r = 0; 2 * r < all.size(); ++r) {
    EXPECT_EQ(all[2 * r], static_cast<std::int64_t>(r));
    EXPECT_EQ(all[2 * r + 1], std::int64_t{1} << 40);
  }
}

/// Bytes from rank `from` to rank `to`; 0 for some pairs.
std::int64_t part_size(int from, int to) { return (3 * from + 5 * to) % 7; }
std::byte part_value(int from, int to) { return static_cast<std::byte>(16 * from + to + 1); }

using SizeOfRank = std::function<std::int64_t(int)>;

/// Parts in rank order with a gap of one byte between neighbours.
RankParts parts_apart(const Communicator& world, const SizeOfRank& size) {
  std::vector<std::int64_t> apart;
  for (int r = 0; r < world.size(); ++r) apart.push_back(size(r) + 1);
  RankParts parts = consecutive_parts(apart);
  for (std::int64_t& count : parts.counts) --count;
  return parts;
}

std::vector<std::byte> buffer_for(const RankParts& parts) {
  return std::vector<std::byte>(static_cast<std::size_t>(parts.places.back() + parts.counts.back()),
                                std::byte{0xEE});
}

using ValueOfRank = std::function<std::byte(int)>;

void fill_parts(std::vector<std::byte>& buffer, const RankParts& parts, const ValueOfRank& value) {
  for (std::size_t r = 0; r < parts.counts.size(); ++r) {
    std::fill_n(buffer.begin() + parts.places[r], parts.counts[r], value(static_cast<int>(r)));
  }
}

TEST(Parts, SendsPartsOfAnySizeFromAllToAll) {
  const Communicator world = Communicator::world();
  const int me = world.rank();
  const RankParts sent = parts_apart(world, [&](int to) { return part_size(me, to); });
  const RankParts received = parts_apart(world, [&](int from) { return part_size(from, me); });
  std::vector<std::byte> send = buffer_for(sent), receive = buffer_for(received);
  fill_parts(send, sent, [&](int to) { return part_value(me, to); });
  Pending pending = world.start_alltoall(send, sent, receive, received);
  while (!pending.test()) {
  }
  std::vector<std::byte> expected = buffer_for(received);  // gaps stay unchanged
  fill_parts(expected, received, [&](int from) { return part_value(from, me); });
  EXPECT_EQ(receive, expected);
}

TEST(Parts, ScattersAndGathersPartsFromAnyRoot) {
  const Communicator world = Communicator::world();
  const int me = world.rank();
  // All operations are in flight at once.
  std::vector<std::vector<std::byte>> sends, receives, scattered, gathered;
  std::vector<Pending> pending;
  for (int root = 0; root < world.size(); ++root) {
    const RankParts parts = parts_apart(world, [&](int r) { return part_size(root, r); });
    sends.push_back(buffer_for(parts));
    fill_parts(sends.back(), parts, [&](int r) { return part_value(root, r); });
    receives.push_back(buffer_for(parts));
    const auto mine = static_cast<std::size_t>(part_size(root, me));
    scattered.emplace_back(mine, std::byte{0});
    gathered.emplace_back(mine, part_value(me, root));
    const bool is_root = me == root;
    pending.push_back(
        world.start_scatter(is_root ? std::span(sends.back()) : std::span<std::byte>(),
                            is_root ? parts : RankParts(), scattered.back(), root));
    pending.push_back(world.start_gather(gathered.back(), receives.back(), parts, root));
  }
  for (Pending& one : pending) one.wait();
  for (int root = 0; root < world.size(); ++root) {
    const auto i = static_cast<std::size_t>(root);
    EXPECT_THAT(scattered[i], Each(root == me ? std::byte{0} : part_value(root, me)));
    if (root != me) continue;
    const RankParts parts = parts_apart(world, [&](int r) { return part_size(root, r); });
    std::vector<std::byte> expected = buffer_for(parts);
    fill_parts(expected, parts, [&](int r) { return part_value(r, root); });
    std::fill_n(expected.begin() + parts.places[i], parts.counts[i], std::byte{0xEE});
    EXPECT_EQ(receives[i], expected);
  }
}

/// A large address range that maps the same few pages repeatedly, except for its end.
class Repeated {
 public:
  static constexpr std::size_t kPeriod = std::size_t{1} << 25;
  explicit Repeated(std::size_t periods)
      : bytes_((periods + 1) * kPeriod), file_(::memfd_create("repeated", 0)) {
    EXPECT_EQ(::ftruncate(file_, 2 * kPeriod), 0);
    void* begin = ::mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(begin, MAP_FAILED);
    begin_ = static_cast<std::byte*>(begin);
    for (std::size_t i = 0; i <= periods; ++i) {
      const off_t place = i == periods ? static_cast<off_t>(kPeriod) : 0;
      EXPECT_NE(::mmap(begin_ + i * kPeriod, kPeriod, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_FIXED, file_, place),
                MAP_FAILED);
    }
  }
  ~Repeated() {
    ::munmap(begin_, bytes_);
    ::close(file_);
  }
  Repeated(const Repeated&) = delete;
  Repeated& operator=(const Repeated&) = delete;
  std::span<std::byte> all() const { return {begin_, bytes_}; }
  /// Mapped by all periods but the last.
  std::span<std::byte> first() const { return {begin_, kPeriod}; }
  std::span<std::byte> last() const { return {begin_ + bytes_ - kPeriod, kPeriod}; }

 private:
  std::size_t bytes_;
  int file_;
  std::byte* begin_ = nullptr;
};

/// Rank 0 sends more bytes than an int can count to the last rank, after a few bytes for each other
/// rank.
class LongParts : public testing::Test {
 protected:
  static constexpr std::size_t kPeriods = 65;  // of 32 MiB: more than 2 GiB
  static constexpr std::int64_t kShort = 8;
  LongParts() {
    if (world_.size() < 2) return;
    const std::int64_t behind = kShort * (world_.size() - 1);
    std::vector<std::int64_t> counts(static_cast<std::size_t>(world_.size()), kShort);
    counts.back() = static_cast<std::int64_t>((kPeriods + 1) * Repeated::kPeriod) - behind;
    parts_ = consecutive_parts(counts);
    if (world_.rank() == 0 || is_last()) long_.emplace(kPeriods);
    if (world_.rank() == 0) {
      std::ranges::fill(long_->first(), std::byte{7});
      std::ranges::fill(long_->last(), std::byte{9});
    }
  }
  bool is_last() const { return world_.rank() + 1 == world_.size(); }
  std::span<std::byte> part_here() {
    if (!is_last()) return short_;
    return long_->all().first(static_cast<std::size_t>(parts_.counts.back()));
  }
  void expect_part_here() {
    if (world_.rank() == 0) return;
    const auto part = part_here();
    EXPECT_EQ(part.front(), std::byte{7});
    EXPECT_EQ(part.back(), is_last() ? std::byte{9} : std::byte{7});
    if (!is_last()) return;
    const auto behind = static_cast<std::size_t>(parts_.places.back());
    EXPECT_EQ(long_->last()[Repeated::kPeriod - behind - 1], std::byte{9});
    EXPECT_EQ(long_->last()[Repeated::kPeriod - behind], std::byte{0});
  }

  Communicator world_ = Communicator::world();
  RankParts parts_;
  std::optional<Repeated> long_;
  std::vector<std::byte> short_ = std::vector<std::byte>(kShort);
};

TEST_F(LongParts, GoFromAllToAll) {
  if (world_.size() != 2) return;  // one pair of ranks is enough
  // Rank 1 sends nothing.
  const RankParts none{{0, 0}, {0, 0}};
  RankParts received{{parts_.counts[1], 0}, {0, 0}};
  Pending pending =
      world_.rank() == 0
          ? world_.start_alltoall(long_->all(), {{0, parts_.counts[1]}, parts_.places}, {}, none)
          : world_.start_alltoall({}, none, part_here(), received);
  pending.wait();
  expect_part_here();
}

TEST_F(LongParts, AreScatteredAndGathered) {
  if (world_.size() != 3) return;  // one rank of each kind is enough
  world_
      .start_scatter(world_.rank() == 0 ? long_->all() : std::span<std::byte>(), parts_,
                     part_here(), 0)
      .wait();
  expect_part_here();
  // And back, into cleared pages.
  if (world_.rank() == 0) {
    std::ranges::fill(long_->first(), std::byte{0});
    std::ranges::fill(long_->last(), std::byte{0});
  }
  world_
      .start_gather(part_here(), world_.rank() == 0 ? long_->all() : std::span<std::byte>(), parts_,
                    0)
      .wait();
  if (world_.rank() != 0) return;
  EXPECT_EQ(long_->all()[static_cast<std::size_t>(parts_.places.back())], std::byte{7});
  EXPECT_EQ(long_->last().back(), std::byte{9});
}

TEST(Shift, PassesBytesOfAnySizeRoundTheRanks) {
  const Communicator world = Communicator::world();
  if (world.size() == 1) {
    EXPECT_THROW(world.start_shift({}, 0, {}, 0), base::Error);
    return;
  }
  constexpr std::int64_t kPiece = 1 << 20;
  const int right = (world.rank() + 1) % world.size();
  const int left = (world.rank() + world.size() - 1) % world.size();
  const auto size_of = [](int rank, std::int64_t bytes) {
    return static_cast<std::size_t>(bytes == 0 ? 0 : bytes + rank);
  };
  for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{1}, kPiece - 1, 3 * kPiece + 7}) {
    const std::vector<std::byte> sent(size_of(world.rank(), bytes),
                                      static_cast<std::byte>(world.rank() + 1));
    std::vector<std::byte> received(size_of(left, bytes));
    Pending pending = world.start_shift(sent, right, received, left);
    const SentVolume expected = {std::ssize(sent), base::ceil_div(std::ssize(sent), kPiece)};
    EXPECT_EQ(pending.sent(), expected);
    pending.wait();
    EXPECT_THAT(received, Each(static_cast<std::byte>(left + 1)));
  }
}

TEST(Parts, RefusesPartsThatDoNotFitTheBuffers) {
  const Communicator world = Communicator::world();
  const auto ranks = static_cast<std::size_t>(world.size());
  std::vector<std::byte> buffer(ranks);
  const RankParts good = consecutive_parts(std::vector<std::int64_t>(ranks, 1));
  for (const auto& [count, place] :
       {std::pair<std::int64_t, std::int64_t>{2, world.size() - 1}, {-1, 0}, {1, -1}}) {
    RankParts bad = good;
    bad.counts.back() = count;
    bad.places.back() = place;
    EXPECT_THROW(world.start_alltoall(buffer, bad, buffer, good), base::Error);
    EXPECT_THROW(world.start_alltoall(buffer, good, buffer, bad), base::Error);
    EXPECT_THROW(world.start_scatter(buffer, bad, {}, world.rank()), base::Error);
    EXPECT_THROW(world.start_gather({}, buffer, bad, world.rank()), base::Error);
  }
  const RankParts many = consecutive_parts(std::vector<std::int64_t>(ranks + 1, 0));
  EXPECT_THROW(world.start_alltoall(buffer, many, buffer, good), base::Error);
}

TEST(Parts, CountsOfPartsOnlyThoseForOtherRanks) {
  const Communicator world = Communicator::world();
  const base::SystemClock clock;
  telemetry::Telemetry telemetry(clock);
  const Accounting accounting = world.account_to(telemetry);
  const auto ranks = static_cast<std::size_t>(world.size());
  const RankParts parts = consecutive_parts(std::vector<std::int64_t>(ranks, 10));
  std::vector<std::byte> from(10 * ranks), to(10 * ranks), mine(10);
  const auto sent = [&] { return telemetry.count(telemetry::Counter::kBytesSent); };
  const std::int64_t to_others = 10 * std::int64_t{world.size() - 1};
  const std::int64_t to_root = world.size() == 1 || world.rank() == 0 ? 0 : 10;
  world.start_alltoall(from, parts, to, parts).wait();
  EXPECT_EQ(sent(), to_others);
  world.start_scatter(from, parts, mine, 0).wait();
  EXPECT_EQ(sent(), world.rank() == 0 ? 2 * to_others : to_others);
  const std::int64_t before = sent();
  world.start_gather(mine, to, parts, 0).wait();
  EXPECT_EQ(sent() - before, to_root);
}

}  // namespace
}  // namespace runner
