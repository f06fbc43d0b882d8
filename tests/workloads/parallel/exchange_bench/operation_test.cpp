// Tests of the measured collectives on any number of ranks and nodes.
#include "workloads/parallel/exchange_bench/operation.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <span>
#include <string>

#include "runner/base/clock.h"
#include "runner/exact_terms.h"
#include "runner/pretend_nodes.h"
#include "runner/telemetry/telemetry.h"
#include "workloads/parallel/exchange_bench/measure.h"

namespace exchange_bench {
namespace {

class Operations : public testing::Test {
 protected:
  std::int64_t over_ranks(std::int64_t mine) const {
    std::array<std::int64_t, 1> sum = {mine};
    world_.allreduce_sum(std::span<std::int64_t>(sum));
    return sum.front();
  }
  const runner::Communicator world_ = runner::Communicator::world();
  const base::SystemClock clock_;
  telemetry::Telemetry telemetry_{clock_};
};

TEST_F(Operations, GiveEveryElementByTrainingAndByMpi) {
  const int ranks = world_.size();
  for (const int nodes : {1, 2, ranks}) {
    const runner::Topology topology = runner::pretend_nodes(world_, nodes);
    const runner::Surroundings around{world_, topology, telemetry_, 1};
    for (const Kind& kind : kinds()) {
      for (const std::int64_t units : {1, 5, 20'001}) {
        const std::string what = std::string(kind.name) + " of " + std::to_string(units) + " units";
        const auto operation = kind.make(units * kind.unit(ranks), around);
        for (const Side side : {Side::kMpi, Side::kTraining}) {
          operation->fill();
          world_.barrier();
          EXPECT_GT(over_ranks(operation->wrong(side)), 0) << what << " before it ran";
          operation->run(side);
          world_.barrier();
          EXPECT_EQ(over_ranks(operation->wrong(side)), 0) << what;
        }
      }
    }
  }
}

TEST_F(Operations, GiveTheSameBesideWork) {
  const runner::Topology topology = runner::pretend_nodes(world_, 2);
  const runner::Surroundings around{world_, topology, telemetry_, 1};
  for (const Kind& kind : kinds()) {
    if (!kind.hides) continue;
    const auto operation = kind.make(30'000 * kind.unit(world_.size()), around);
    operation->fill();
    world_.barrier();
    int pieces = 0;
    operation->run_beside({9, [&pieces] { ++pieces; }});
    world_.barrier();
    EXPECT_EQ(pieces, 9);
    EXPECT_EQ(over_ranks(operation->wrong(Side::kTraining)), 0) << kind.name;
  }
}

/// Numbers at the beginnings of parts of usual sizes differ, so that swapped parts are noticed.
TEST(ExactTerms, TellRanksAndPlaces) {
  std::set<float> seen;
  for (int rank = 0; rank < 16; ++rank) {
    for (std::size_t place = 0; place < 16 * 4096; place += 4096) {
      seen.insert(runner::ExactTerms::of(rank, place));
    }
  }
  EXPECT_GT(seen.size(), 200u);
  const runner::ExactTerms terms(3);
  for (const std::size_t place : {0u, 5u, 1020u, 1021u, 100'000u}) {
    const float sum = runner::ExactTerms::of(0, place) + runner::ExactTerms::of(1, place) +
                      runner::ExactTerms::of(2, place);
    EXPECT_EQ(terms.sum(place), sum);
  }
}

/// The factor of the bus bandwidth is what the busiest rank sends.
TEST_F(Operations, SendAsManyBytesAsTheirTrafficSays) {
  const int ranks = world_.size();
  const runner::Topology topology = runner::pretend_nodes(world_, ranks);
  const runner::Accounting accounting = world_.account_to(telemetry_);
  const runner::Surroundings around{world_, topology, telemetry_, 1};
  for (const Kind& kind : kinds()) {
    const std::int64_t floats = std::int64_t{1 << 20} / 8 * ranks * kind.unit(ranks);
    const auto operation = kind.make(floats, around);
    const std::int64_t before = telemetry_.count(telemetry::Counter::kBytesSent);
    operation->run(Side::kTraining);
    const std::int64_t sent = telemetry_.count(telemetry::Counter::kBytesSent) - before;
    const double bytes = static_cast<double>(floats) * sizeof(float);
    EXPECT_NEAR(static_cast<double>(world_.allreduce_max(sent)) / bytes, kind.traffic(ranks), 1e-3)
        << kind.name;
  }
}

TEST_F(Operations, AreTimedOnBothSidesAndBesideComputation) {
  const runner::Topology topology = runner::pretend_nodes(world_, 1);
  const runner::Surroundings around{world_, topology, telemetry_, 1};
  Effort effort;
  effort.iterations = 5;
  effort.seconds = 1e9;
  effort.shortest_overlap = 0.0;
  for (const Kind& kind : kinds()) {
    const Row row = measure(kind, 1024 * kind.unit(world_.size()) * 4, effort, around);
    EXPECT_EQ(row.training.seconds.size(), 5u);
    EXPECT_EQ(row.mpi.seconds.size(), 5u);
    EXPECT_EQ(row.mpi.wrong, 0);
    EXPECT_EQ(world_.allreduce_max(row.mpi.median()), row.mpi.median()) << "the same on all ranks";
    ASSERT_EQ(row.overlap.has_value(), kind.hides) << kind.name;
    if (!row.overlap) continue;
    EXPECT_EQ(row.training.wrong, 0) << "beside computation, too";
    EXPECT_GT(row.overlap->computation, 0.0);
    EXPECT_GE(row.overlap->hidden(), 0.0);
  }
}

TEST_F(Operations, AreTimedAFewTimesIfTheyTakeLong) {
  const runner::Topology topology = runner::pretend_nodes(world_, 1);
  Effort effort;
  effort.checks = false;
  effort.seconds = 0.0;
  effort.shortest_overlap = 1e9;
  const Row row = measure(kinds().front(), 64, effort, {world_, topology, telemetry_, 1});
  EXPECT_FALSE(row.mpi.wrong.has_value());
  EXPECT_FALSE(row.overlap.has_value());
  EXPECT_EQ(row.mpi.seconds.size(), static_cast<std::size_t>(Effort::kFewest));
}

}  // namespace
}  // namespace exchange_bench
