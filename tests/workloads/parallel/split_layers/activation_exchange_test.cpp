// Exchanges of activations against sums and copies of whole values, for each pair of distributions.
#include "workloads/parallel/split_layers/activation_exchange.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "runner/base/clock.h"
#include "runner/communicator.h"
#include "runner/telemetry/telemetry.h"

namespace {

using parallel::ActivationEdge;
using parallel::ActivationExchange;
using parallel::Distribution;
using parallel::Share;

/// Small whole numbers: sums of them are exact.
float value_at(std::int64_t sample, std::int64_t feature, int part) {
  return static_cast<float>((sample * 31 + feature * 7 + part * 5) % 101);
}

/// The distributions that `ranks` ranks can have.
std::vector<Distribution> distributions(int ranks) {
  std::vector<Distribution> all;
  for (int group = 1; group <= ranks; ++group) {
    if (ranks % group != 0) continue;
    all.push_back(parallel::split_by(group));
    if (group > 1) all.push_back({group, false});
  }
  return all;
}

/// Fills a share of a value of which `part` of several partial sums is given; -1: a whole value.
std::vector<float> filled(const Share& share, int part) {
  std::vector<float> values;
  for (std::int64_t s = share.samples.begin; s < share.samples.end; ++s) {
    for (std::int64_t f = share.features.begin; f < share.features.end; ++f) {
      values.push_back(value_at(s, f, part < 0 ? 0 : part));
    }
  }
  return values;
}

void expect_exchange(const runner::Communicator& world, const ActivationEdge& edge) {
  const base::SystemClock clock;
  telemetry::Telemetry telemetry(clock);
  const runner::Accounting accounting = world.account_to(telemetry);
  ActivationExchange exchange(world, telemetry, edge);
  const int part = edge.has_partial_sums ? world.rank() % edge.from.group : -1;
  std::vector<float> wanted(static_cast<std::size_t>(exchange.wanted().count()), -1.0F);
  exchange.forward(filled(exchange.made(), part), wanted);
  std::vector<float> expected;
  for (int one = 0; one < (edge.has_partial_sums ? edge.from.group : 1); ++one) {
    const std::vector<float> values = filled(exchange.wanted(), one);
    expected.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) expected[i] += values[i];
  }
  EXPECT_EQ(wanted, expected);
  std::vector<float> gradient(static_cast<std::size_t>(exchange.made().count()), -1.0F);
  exchange.backward(filled(exchange.wanted(), -1), gradient);
  EXPECT_EQ(gradient, filled(exchange.made(), -1));
  std::int64_t sent = telemetry.count(telemetry::Counter::kBytesSent);
  world.allreduce_sum(std::span(&sent, 1));
  EXPECT_EQ(sent, parallel::activation_bytes(edge, world.size()));
}

TEST(ActivationExchange, GivesSumsAndCopiesForAllDistributions) {
  const runner::Communicator world = runner::Communicator::world();
  const int ranks = world.size();
  // Even, uneven, and with less than a sample or a channel for each rank.
  for (const std::int64_t samples : {16, 13, 3}) {
    for (const parallel::FeatureShape shape :
         {parallel::FeatureShape{16, 1}, {11, 6}, {8, 2}, {3, 1}}) {
      for (const Distribution& from : distributions(ranks)) {
        for (const Distribution& to : distributions(ranks)) {
          SCOPED_TRACE(to_string(from, ranks) + " to " + to_string(to, ranks) + ", " +
                       std::to_string(samples) + " samples of " + std::to_string(shape.count()));
          expect_exchange(world, {from, to, false, samples, shape});
          if (from.splits_features) expect_exchange(world, {from, to, true, samples, shape});
        }
      }
    }
  }
}

/// Sums have the bits of additions in the order of ranks.
TEST(ActivationExchange, AddsInTheOrderOfRanks) {
  const runner::Communicator world = runner::Communicator::world();
  const base::SystemClock clock;
  telemetry::Telemetry telemetry(clock);
  const Distribution all = parallel::split_by(world.size());
  ActivationExchange exchange(world, telemetry, {all, {}, all.splits_features, 9, {10, 1}});
  const auto made_by = [&](int rank) {
    std::vector<float> made(static_cast<std::size_t>(exchange.made().count()));
    for (std::size_t i = 0; i < made.size(); ++i) {
      made[i] = 1.0F / static_cast<float>(1 + i + static_cast<std::size_t>(rank) * 17);
    }
    return made;
  };
  std::vector<float> found(static_cast<std::size_t>(exchange.wanted().count()));
  exchange.forward(made_by(world.rank()), found);
  std::vector<float> expected(found.size());
  const std::size_t first = static_cast<std::size_t>(exchange.wanted().samples.begin) * 10;
  for (int rank = 0; rank < world.size(); ++rank) {
    const std::vector<float> made = made_by(rank);
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += made[first + i];
  }
  EXPECT_EQ(found, expected);
}

}  // namespace
