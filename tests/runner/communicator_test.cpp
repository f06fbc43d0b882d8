// Tests of the communicator, on as many ranks as the launcher gives.
#include "runner/communicator.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>

#include "runner/direct_sum.h"
#include "runner/shared_memory.h"

namespace runner {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::size_t kMoreThanOnePiece = (std::size_t{1} << 20) + 3;

std::int64_t sum_of_ranks(int size) { return std::int64_t{size} * (size - 1) / 2; }

TEST(Communicator, SumsAcrossRanksInPlace) {
  const Communicator world = Communicator::world();
  std::vector<float> floats(5, static_cast<float>(world.rank()));
  std::vector<double> doubles(5, world.rank() + 0.5);
  std::vector<std::int64_t> integers(5, std::int64_t{1} << 40);
  world.allreduce_sum(std::span<float>(floats));
  world.allreduce_sum(std::span<double>(doubles));
  world.allreduce_sum(std::span<std::int64_t>(integers));
  EXPECT_THAT(floats, Each(static_cast<float>(sum_of_ranks(world.size()))));
  EXPECT_THAT(doubles, Each(static_cast<double>(sum_of_ranks(world.size())) + 0.5 * world.size()));
  EXPECT_THAT(integers, Each((std::int64_t{1} << 40) * world.size()));
}

TEST(Communicator, CutsALongSumIntoPiecesAndLosesNone) {
  const Communicator world = Communicator::world();
  std::vector<float> data(kMoreThanOnePiece);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i % 1000);
  world.allreduce_sum(std::span<float>(data));
  for (std::size_t i = 0; i < data.size(); ++i) {
    ASSERT_EQ(data[i], static_cast<float>((i % 1000) * static_cast<std::size_t>(world.size())))
        << i;
  }
}

TEST(Communicator, AcceptsEmptyData) {
  const Communicator world = Communicator::world();
  world.allreduce_sum(std::span<float>());
  EXPECT_EQ(world.broadcast(std::string(), 0), "");
  Pending pending = world.start_allreduce_sum(std::span<float>());
  pending.wait();
  EXPECT_TRUE(pending.test());
}

TEST(Communicator, FindsExtremes) {
  const Communicator world = Communicator::world();
  EXPECT_EQ(world.allreduce_max(std::int64_t{world.rank()}), world.size() - 1);
  EXPECT_EQ(world.allreduce_min(std::int64_t{world.rank()} - 7), -7);
  EXPECT_EQ(world.allreduce_max(0.25 * world.rank()), 0.25 * (world.size() - 1));
}

TEST(Communicator, BroadcastsFromAnyRoot) {
  const Communicator world = Communicator::world();
  for (int root = 0; root < world.size(); ++root) {
    const std::string text = "from " + std::to_string(world.rank());
    EXPECT_EQ(world.broadcast(text, root), "from " + std::to_string(root));
  }
  std::vector<std::byte> bytes(kMoreThanOnePiece * sizeof(float), std::byte{0});
  if (world.rank() == 0) bytes.back() = std::byte{9};
  world.broadcast(std::span(bytes), 0);
  EXPECT_EQ(bytes.back(), std::byte{9});
}

TEST(Communicator, SumsWithoutBlocking) {
  const Communicator world = Communicator::world();
  std::vector<float> first(1000, 1.0F), second(10, 2.0F);
  Pending one = world.start_allreduce_sum(std::span<float>(first));
  Pending two = world.start_allreduce_sum(std::span<float>(second));
  Pending moved = std::move(one);
  while (!moved.test()) {
  }
  two.wait();
  EXPECT_TRUE(two.test());
  EXPECT_THAT(first, Each(1.0F * static_cast<float>(world.size())));
  EXPECT_THAT(second, Each(2.0F * static_cast<float>(world.size())));
}

TEST(Communicator, WaitsForAnOperationThatIsReplaced) {
  const Communicator world = Communicator::world();
  std::vector<float> first(100, 1.0F), second(100, 1.0F);
  Pending pending = world.start_allreduce_sum(std::span<float>(first));
  pending = world.start_allreduce_sum(std::span<float>(second));
  EXPECT_THAT(first, Each(static_cast<float>(world.size())));
  pending.wait();
  EXPECT_THAT(second, Each(static_cast<float>(world.size())));
}

TEST(Communicator, GathersTextsOfUnequalLengthInRankOrder) {
  const Communicator world = Communicator::world();
  const int root = world.size() - 1;
  const auto texts = world.gather(std::string(static_cast<std::size_t>(world.rank()), 'x'), root);
  if (world.rank() != root) {
    EXPECT_TRUE(texts.empty());
    return;
  }
  ASSERT_EQ(texts.size(), static_cast<std::size_t>(world.size()));
  for (std::size_t r = 0; r < texts.size(); ++r) EXPECT_EQ(texts[r], std::string(r, 'x'));
}

TEST(Communicator, GathersNumbersOverSeveralRounds) {
  const Communicator world = Communicator::world();
  // The last rank sends enough to need more than one round, the others little.
  const std::size_t unit = (std::size_t{1} << 22) / static_cast<std::size_t>(world.size());
  const std::size_t size = world.rank() + 1 == world.size() ? unit + 5 : 3;
  std::vector<float> mine(size, static_cast<float>(world.rank()));
  const auto all = world.gather(std::span<const float>(mine), 0);
  if (world.rank() != 0) {
    EXPECT_TRUE(all.empty());
    return;
  }
  ASSERT_EQ(all.size(), 3 * static_cast<std::size_t>(world.size() - 1) + unit + 5);
  for (int r = 0; r + 1 < world.size(); ++r)
    EXPECT_EQ(all[3 * static_cast<std::size_t>(r)], static_cast<float>(r));
  EXPECT_EQ(all.back(), static_cast<float>(world.size() - 1));
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
}

void expect_allgather(const Communicator& world, int smallest) {
  std::vector<int> counts;
  for (int r = 0; r < world.size(); ++r) counts.push_back(r == 1 ? 0 : smallest + r);
  const auto total = static_cast<std::size_t>(std::accumulate(counts.begin(), counts.end(), 0));
  std::vector<double> mine(static_cast<std::size_t>(counts[static_cast<std::size_t>(world.rank())]),
                           world.rank());
  std::vector<double> all(total, -1.0);
  world.allgather(mine, std::span<double>(all), std::span<const int>(counts));
  std::size_t place = 0;
  for (int r = 0; r < world.size(); ++r) {
    for (int i = 0; i < counts[static_cast<std::size_t>(r)]; ++i) ASSERT_EQ(all[place++], r);
  }
}

TEST(Communicator, GathersUnequalPartsOnEveryRank) {
  expect_allgather(Communicator::world(), 2);
  // More than one call collects in total.
  expect_allgather(Communicator::world(), (1 << 22) + 1);
}

TEST(Communicator, RefusesCountsThatDoNotFitTheBuffers) {
  const Communicator world = Communicator::world();
  std::vector<double> mine(2), all(1);
  const std::vector<int> counts(static_cast<std::size_t>(world.size()), 2);
  EXPECT_THROW(world.allgather(mine, std::span<double>(all), counts), base::Error);
}

TEST(Communicator, SplitsByColorAndOrdersByKey) {
  const Communicator world = Communicator::world();
  const Communicator half = world.split(world.rank() % 2, -world.rank());
  const int expected = (world.size() + (world.rank() % 2 == 0 ? 1 : 0)) / 2;
  EXPECT_EQ(half.size(), expected);
  // The highest world rank of the color comes first.
  EXPECT_EQ(half.allreduce_max(std::int64_t{world.rank()}) == world.rank(), half.rank() == 0);
}

TEST(Communicator, LeavesARankOfNegativeColorAlone) {
  const Communicator world = Communicator::world();
  const Communicator part = world.split(world.rank() == 0 ? -1 : 4, 0);
  EXPECT_EQ(part.size(), world.rank() == 0 ? 1 : world.size() - 1);
  EXPECT_EQ(part.allreduce_min(std::int64_t{world.rank()}), world.rank() == 0 ? 0 : 1);
}

TEST(Communicator, DuplicateKeepsRanks) {
  const Communicator world = Communicator::world();
  const Communicator copy = world.duplicate();
  EXPECT_EQ(copy.rank(), world.rank());
  EXPECT_EQ(copy.size(), world.size());
  copy.barrier();
}

TEST(Communicator, AccountsForEveryBlockingCallWhileItIsAsked) {
  const Communicator world = Communicator::world();
  const Communicator copy = world.duplicate();
  const base::SystemClock clock;
  telemetry::Telemetry telemetry(clock);
  const auto scopes = [&] { return telemetry.to_json()["scopes"].get<int>(); };
  std::vector<double> one(1), all(static_cast<std::size_t>(world.size()));
  std::vector<float> floats(2);
  std::vector<std::int64_t> numbers(3);
  const std::vector<int> counts(all.size(), 1);
  const std::vector<std::function<void()>> calls = {
      [&] { world.barrier(); },
      [&] { world.broadcast(std::as_writable_bytes(std::span(one)), 0); },
      [&] { world.broadcast(std::string("abc"), 0); },
      [&] { world.allreduce_sum(std::span<float>(floats)); },
      [&] { world.allreduce_sum(std::span<double>(one)); },
      [&] { world.allreduce_sum(std::span<std::int64_t>(numbers)); },
      [&] { world.allreduce_max(std::int64_t{1}); },
      [&] { world.allreduce_min(std::int64_t{1}); },
      [&] { world.allreduce_max(1.0); },
      [&] { world.allgather(one, all, counts); },
      [&] { world.allgather(std::span<const std::int64_t>(numbers)); },
      [&] { world.gather(std::string("abc"), 0); },
      [&] { world.gather(std::span<const float>(floats), 0); },
      [&] { world.gather(std::span<const std::int64_t>(numbers), 0); },
      [&] { copy.barrier(); }};
  {
    const Accounting accounting = world.account_to(telemetry);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const int before = scopes();
      calls[i]();
      EXPECT_GT(scopes(), before) << "call " << i;
    }
  }
  const double seconds = telemetry.seconds(telemetry::Subsystem::kExchange);
  EXPECT_GT(seconds, 0.0);
  EXPECT_NEAR(static_cast<double>(telemetry.count(telemetry::Counter::kExchangeTotalNs)) * 1e-9,
              seconds, 1e-9);
  const int before = scopes();
  for (const auto& call : calls) call();
  EXPECT_EQ(scopes(), before);
}

TEST(Communicator, CountsTheBytesThatItGivesToOtherRanks) {
  const Communicator world = Communicator::world();
  const base::SystemClock clock;
  telemetry::Telemetry telemetry(clock);
  const Accounting accounting = world.account_to(telemetry);
  std::vector<float> floats(100);
  world.allreduce_sum(std::span<float>(floats));
  world.start_allreduce_sum(std::span<float>(floats)).wait();
  world.broadcast(std::as_writable_bytes(std::span(floats)), 0);
  const std::int64_t direct = sent_for_direct_sum(100, world.size(), world.rank()).bytes;
  std::int64_t expected = direct + (world.rank() == 0 ? 800 : 400);
  if (world.size() == 1) expected = 0;  // there are no other ranks
  EXPECT_EQ(telemetry.count(telemetry::Counter::kBytesSent), expected);
}

/// Those of the last traced step, on all communicators that still live.
TEST(Communicator, RepeatsTheBlockingCallsOfAStep) {
  const Communicator world = Communicator::world();
  if (world.size() == 1) GTEST_SKIP() << "needs two ranks";
  const base::SystemClock clock;
  telemetry::Trace trace({1, 2}), again({1, 1});
  telemetry::Telemetry telemetry(clock);
  telemetry.trace_to(trace);
  std::vector<float> floats(100, 1.0F);
  std::vector<double> one(1, world.rank()), all(static_cast<std::size_t>(world.size()));
  const std::vector<int> counts(all.size(), 1);
  const Communicator pair = world.split(world.rank() % 2, 0);
  {
    const Accounting accounting = world.account_to(telemetry);
    telemetry.begin_step();
    world.broadcast(std::as_writable_bytes(std::span(floats)), 0);
    telemetry.end_step();
    world.allreduce_max(1.0);
    telemetry.begin_step();
    world.allreduce_sum(std::span<float>(floats));
    pair.allreduce_sum(std::span<double>(one));
    world.barrier();
    world.allgather(one, all, counts);
    world.allgather(std::vector<std::int64_t>{1, 2});
    world.allreduce_min(std::int64_t{1});
    world.duplicate().barrier();
    telemetry.end_step();
  }
  const std::vector<float> sums = floats;
  telemetry.trace_to(again);
  for (int repetition = 0; repetition < 2; ++repetition) {
    again.begin_step(1, telemetry.now_ns());
    world.repeat_calls(telemetry);
    again.end_step(telemetry.now_ns());
  }
  EXPECT_EQ(floats, sums);
  std::map<std::string, std::int64_t> calls;
  for (const telemetry::TransferTimes& times : again.transfers()) calls[times.name] = times.count;
  const std::map<std::string, std::int64_t> expected = {{"MPI_Allgather", 2},
                                                        {"MPI_Allgatherv", 2},
                                                        {"MPI_Allreduce", pair.size() > 1 ? 6 : 4},
                                                        {"MPI_Barrier", 2}};
  EXPECT_EQ(calls, expected);
  // Another run, none of whose steps is traced, has no calls.
  { const Accounting accounting = world.account_to(telemetry); }
  telemetry::Trace none({1, 1});
  telemetry.trace_to(none);
  none.begin_step(1, telemetry.now_ns());
  world.repeat_calls(telemetry);
  none.end_step(telemetry.now_ns());
  EXPECT_TRUE(none.transfers().empty());
}

TEST(Communicator, TracesBlockingCallsAsTransfersAndLeavesOthersToWhoStartsThem) {
  const Communicator world = Communicator::world();
  const base::SystemClock clock;
  telemetry::Trace trace({1, 1});
  telemetry::Telemetry telemetry(clock);
  telemetry.trace_to(trace);
  const Accounting accounting = world.account_to(telemetry);
  std::vector<float> floats(100);
  telemetry.begin_step();
  world.allreduce_sum(std::span<float>(floats));
  world.barrier();
  Pending pending = world.start_allreduce_sum(std::span<float>(floats));
  EXPECT_EQ(pending.sent(), sent_for_direct_sum(100, world.size(), world.rank()));
  pending.wait();
  EXPECT_EQ(pending.sent(), SentVolume());
  telemetry.end_step();
  if (world.size() == 1) {
    EXPECT_TRUE(trace.transfers().empty());  // nothing is transferred
    return;
  }
  ASSERT_EQ(trace.transfers().size(), 2U);
  const telemetry::TransferTimes& sum = trace.transfers()[0];
  EXPECT_EQ(sum.name, "MPI_Allreduce");
  EXPECT_EQ(sum.count, 1);
  EXPECT_EQ(sum.bytes, 400);
  EXPECT_EQ(sum.hidden_ns(), 0);
  EXPECT_EQ(trace.transfers()[1].name, "MPI_Barrier");
  EXPECT_LE(trace.all_transfers().in_flight_ns, trace.exchange_ns());
}

TEST(Communicator, SendsTextsFromRankToRankInTheirOrder) {
  const Communicator world = Communicator::world();
  const std::string large(9'000'001, 'x');  // more than one piece
  if (world.rank() > 0) {
    world.send_text("rank " + std::to_string(world.rank()), 0);
    world.send_text("", 0);
    world.send_text(large, 0);
    return;
  }
  for (int rank = world.size() - 1; rank > 0; --rank) {
    EXPECT_EQ(world.receive_text(rank), "rank " + std::to_string(rank));
    EXPECT_EQ(world.receive_text(rank), "");
    EXPECT_TRUE(world.receive_text(rank) == large);
  }
}

TEST(Communicator, TurnsAnMpiErrorIntoASystemErrorNamingTheCall) {
  const Communicator world = Communicator::world();
  try {
    world.broadcast(std::string("x"), world.size());
    FAIL() << "expected a SystemError";
  } catch (const base::SystemError& e) {
    EXPECT_THAT(e.what(), StartsWith("MPI_Bcast: "));
    EXPECT_THAT(e.what(), HasSubstr("root"));
  }
}

TEST(Topology, PutsRanksThatShareMemoryOnOneNode) {
  const Communicator world = Communicator::world();
  const Topology topology = discover_topology(world);
  // The tests run on one machine.
  EXPECT_EQ(topology.node_count, 1);
  EXPECT_EQ(topology.node_index, 0);
  EXPECT_EQ(topology.node.size(), world.size());
  EXPECT_EQ(topology.node_of_rank, std::vector<int>(static_cast<std::size_t>(world.size()), 0));
  EXPECT_EQ(topology.is_node_leader(), world.rank() == 0);
}

TEST(SharedMemory, ShowsThePartOfEachRankToAll) {
  const Communicator world = Communicator::world();
  constexpr std::int64_t kBytes = 5000;
  const SharedMemory memory(world, kBytes * (world.rank() + 1));
  for (int rank = 0; rank < world.size(); ++rank) {
    const auto part = memory.part(rank);
    ASSERT_EQ(part.size(), static_cast<std::size_t>(kBytes * (rank + 1)));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(part.data()) % 64, 0U);
    EXPECT_TRUE(std::ranges::all_of(part, [](std::byte b) { return b == std::byte{0}; }));
  }
  world.barrier();
  std::ranges::fill(memory.part(world.rank()), static_cast<std::byte>(world.rank() + 1));
  world.barrier();
  for (int rank = 0; rank < world.size(); ++rank) {
    const auto value = static_cast<std::byte>(rank + 1);
    EXPECT_TRUE(std::ranges::all_of(memory.part(rank), [&](std::byte b) { return b == value; }));
  }
  world.barrier();
}

TEST(SharedMemory, OfNoUseIsRefusedBeforeRanksWaitForEachOther) {
  const Communicator world = Communicator::world();
  EXPECT_THROW(SharedMemory(world, std::int64_t{1} << 50), base::SystemError);
}

TEST(MpiLibraryVersion, NamesLibraryAndNumberOnOneLine) {
  const std::string version = mpi_library_version();
  EXPECT_THAT(version, testing::ContainsRegex("MPI.*[0-9]+\\.[0-9]+"));
  EXPECT_EQ(version.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace runner
