// The order of a pass: what comes before what, and how it is sliced.
#include "workloads/nn/pass_plan.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "workloads/nn/residual_network.h"

namespace {

using nn::Network;
using nn::OperationKind;
using nn::PassPlan;
using nn::PassSegment;
using nn::PassStep;
using nn::Slices;
using nn::Work;

Network network() { return residual::test_network({32, 32}, 16, 2); }

bool is_dense(const nn::Operation& operation) {
  return operation.kind == OperationKind::kFullyConnected;
}

nn::PassOptions options(std::int64_t batch, std::int64_t cache_bytes) {
  nn::PassOptions options;
  options.batch = batch;
  options.threads = 2;
  options.cache_bytes = cache_bytes;
  options.takes_all = is_dense;
  return options;
}

PassPlan plan_of(const Network& net, std::int64_t cache_bytes) {
  return {net, options(12, cache_bytes)};
}

/// The position of a step: its segment, and its place within.
struct Position {
  std::size_t segment = 0, place = 0;
  bool is_before(const Position& other) const {
    return segment < other.segment || (segment == other.segment && place < other.place);
  }
};

/// The only such step; the test fails unless there is exactly one.
Position position(const std::vector<PassSegment>& segments, Work work, std::size_t operation) {
  Position found;
  int count = 0;
  for (std::size_t s = 0; s < segments.size(); ++s) {
    for (std::size_t i = 0; i < segments[s].steps.size(); ++i) {
      const PassStep& step = segments[s].steps[i];
      if (step.work != work || step.operation != operation) continue;
      found = {s, i};
      ++count;
    }
  }
  EXPECT_EQ(count, 1) << "operation " << operation;
  return found;
}

/// The position of `work`, which the plan says is in segment `planned`.
Position planned_position(const std::vector<PassSegment>& segments, Work work,
                          std::size_t operation, int planned) {
  const Position found = position(segments, work, operation);
  EXPECT_EQ(static_cast<std::size_t>(planned), found.segment);
  return found;
}

/// Statistics are of all samples: they are gathered after `ready`, and used in a later segment.
void expect_statistics(const Position& ready, const Position& observed, const Position& used) {
  EXPECT_TRUE(ready.is_before(observed));
  EXPECT_LT(observed.segment, used.segment);
}

std::vector<std::size_t> sources(const nn::Operation& operation) {
  std::vector<std::size_t> all = {static_cast<std::size_t>(operation.src)};
  if (operation.residual) all.push_back(static_cast<std::size_t>(*operation.residual));
  return all;
}

TEST(PassPlan, RunsForwardBehindWhatIsRead) {
  const Network net = network();
  const PassPlan plan = plan_of(net, 1 << 20);
  const auto& operations = net.operations();
  for (std::size_t i = 1; i < operations.size(); ++i) {
    const Position here = planned_position(plan.forward(), Work::kRun, i, plan.of(i).forward);
    for (const std::size_t source : sources(operations[i])) {
      if (source == 0) continue;
      EXPECT_TRUE(position(plan.forward(), Work::kRun, source).is_before(here));
    }
    if (operations[i].kind != OperationKind::kBatchNorm) continue;
    expect_statistics(
        position(plan.forward(), Work::kRun, sources(operations[i]).front()),
        planned_position(plan.forward(), Work::kObserve, i, plan.of(i).observed_forward), here);
  }
}

TEST(PassPlan, RunsBackwardOnceAllPartsOfTheGradientAreThere) {
  const Network net = network();
  const PassPlan plan = plan_of(net, 1 << 20);
  const auto& operations = net.operations();
  for (std::size_t i = 1; i < operations.size(); ++i) {
    const Position here = planned_position(plan.backward(), Work::kRun, i, plan.of(i).backward);
    const Position gathered = position(plan.backward(), Work::kGather, i);
    EXPECT_TRUE(gathered.is_before(here));
    for (std::size_t reader = i + 1; reader < operations.size(); ++reader) {
      const auto read = sources(operations[reader]);
      if (std::find(read.begin(), read.end(), i) == read.end()) continue;
      EXPECT_TRUE(position(plan.backward(), Work::kRun, reader).is_before(gathered));
    }
    if (operations[i].kind != OperationKind::kBatchNorm) continue;
    expect_statistics(
        gathered,
        planned_position(plan.backward(), Work::kObserve, i, plan.of(i).observed_backward), here);
  }
}

/// The place of each recompute, -1 for values that are kept.
std::vector<int> places_of_remakes(const PassPlan& plan, std::size_t operations) {
  std::vector<int> places(operations, -1);
  int place = 0;
  for (const PassSegment& segment : plan.backward()) {
    for (const PassStep& step : segment.steps) {
      if (step.work == Work::kRecompute) {
        EXPECT_EQ(places[step.operation], -1) << "made twice: " << step.operation;
        places[step.operation] = place;
      }
      ++place;
    }
  }
  return places;
}

TEST(PassPlan, MakesAgainWhatItsModeNames) {
  const Network net = network();
  const auto made_again = [&](nn::Recompute recompute) {
    nn::PassOptions with = options(12, 1 << 20);
    with.recompute = recompute;
    const PassPlan plan(net, with);
    const std::vector<int> places = places_of_remakes(plan, net.operations().size());
    std::set<std::string> names;
    for (std::size_t i = 0; i < places.size(); ++i) {
      EXPECT_EQ(places[i] >= 0, plan.of(i).recomputed_in >= 0) << i;
      if (places[i] >= 0) names.insert(net.operations()[i].name);
    }
    return names;
  };
  using Names = std::set<std::string>;
  EXPECT_EQ(made_again(nn::Recompute::kNone), Names());
  // The backward pass reads neither bn1, which a pool follows, nor the last block's sum; bnd is
  // deferred.
  const Names normalizations = {"block0.bn1", "block0.bn2", "block0.bn3", "block1.bn1",
                                "block1.bn2"};
  EXPECT_EQ(made_again(nn::Recompute::kNormalizations), normalizations);
  const Names blocks = {"conv1",      "block0.conv1", "block0.bn1",  "block0.conv2",
                        "block0.bn2", "block0.conv3", "block0.down", "block1.conv1",
                        "block1.bn1", "block1.conv2", "block1.bn2",  "block1.conv3"};
  EXPECT_EQ(made_again(nn::Recompute::kBlocks), blocks);
}

TEST(PassPlan, MakesValuesAgainBehindTheirSourcesAndBeforeTheirReaders) {
  const Network net = network();
  for (const auto recompute : {nn::Recompute::kNormalizations, nn::Recompute::kBlocks}) {
    nn::PassOptions with = options(12, 1 << 20);
    with.recompute = recompute;
    const PassPlan plan(net, with);
    for (std::size_t i = 1; i < net.operations().size(); ++i) {
      if (plan.of(i).recomputed_in < 0) continue;
      const Position made =
          planned_position(plan.backward(), Work::kRecompute, i, plan.of(i).recomputed_in);
      EXPECT_TRUE(made.is_before(position(plan.backward(), Work::kRun, i)));
      for (const std::size_t source : sources(net.operations()[i])) {
        if (plan.of(source).recomputed_in < 0) continue;
        EXPECT_TRUE(position(plan.backward(), Work::kRecompute, source).is_before(made));
      }
      bool is_read_later = false;
      for (const std::size_t reader : net.readers(static_cast<nn::ValueId>(i))) {
        if (net.operations()[reader].src != static_cast<nn::ValueId>(i)) continue;
        const Position read = position(plan.backward(), Work::kRun, reader);
        EXPECT_TRUE(made.is_before(read));
        is_read_later = is_read_later || read.segment > made.segment;
      }
      EXPECT_FALSE(is_read_later && plan.of(i).is_transient_recomputed) << i;
    }
  }
}

TEST(PassPlan, LetsValuesPassThatNobodyReadsLater) {
  const Network net = network();
  nn::PassOptions with = options(12, 1 << 20);
  const auto passing = [&] {
    const PassPlan plan(net, with);
    std::set<std::string> names;
    for (std::size_t i = 1; i < net.operations().size(); ++i) {
      if (plan.of(i).passes) names.insert(net.operations()[i].name);
    }
    return names;
  };
  // bn1 is read by a pool alone, in its segment; the others by convolutions, whose gradients need
  // them, unless they are recomputed.
  const std::set<std::string> kept = passing();
  EXPECT_TRUE(kept.contains("bn1"));
  EXPECT_FALSE(kept.contains("block0.bn1"));
  with.recompute = nn::Recompute::kNormalizations;
  EXPECT_TRUE(passing().contains("block0.bn1"));
  EXPECT_TRUE(passing().contains("block1.bn2"));
  EXPECT_FALSE(passing().contains("block0.bn3")) << "a residual of a later segment";
  with.recompute = nn::Recompute::kNone;
  with.training = false;
  EXPECT_TRUE(passing().contains("block0.bn1"));
}

TEST(PassPlan, GivesMatrixProductsAllSamplesAndASegmentOfTheirOwn) {
  const Network net = network();
  nn::PassOptions sample_by_sample = options(12, 1 << 20);
  sample_by_sample.slice_samples = 1;
  const PassPlan plan(net, sample_by_sample);
  for (const auto* segments : {&plan.forward(), &plan.backward()}) {
    const PassSegment& segment =
        (*segments)[position(*segments, Work::kRun, net.operations().size() - 1).segment];
    EXPECT_EQ(segment.slices.count, 1);
    int runs = 0;
    for (const PassStep& step : segment.steps) runs += step.work == Work::kRun ? 1 : 0;
    EXPECT_EQ(runs, 1);
  }
}

TEST(PassPlan, GivesBatchNormsThatGoByChannelsAllSamplesAndNothingToObserve) {
  const Network net = network();
  nn::PassOptions by_channels = options(12, 1);
  by_channels.goes_by_channels = [](const nn::Operation& operation, nn::Pass pass) {
    return operation.name == "block0.bn2" && pass == nn::Pass::kBackward;
  };
  const PassPlan plan(net, by_channels);
  for (std::size_t i = 1; i < net.operations().size(); ++i) {
    if (net.operations()[i].name != "block0.bn2") continue;
    EXPECT_EQ(plan.of(i).observed_backward, -1);
    EXPECT_GE(plan.of(i).observed_forward, 0);
    const Position here = position(plan.backward(), Work::kRun, i);
    EXPECT_EQ(plan.backward()[here.segment].slices.count, 1);
    EXPECT_TRUE(position(plan.backward(), Work::kRun, i + 1).segment < here.segment);
    EXPECT_TRUE(here.segment < position(plan.backward(), Work::kRun, i - 1).segment);
  }
}

TEST(PassPlan, MakesSlicesThatFitTheCache) {
  const Network net = network();
  for (const std::int64_t unlimited : {0, 1 << 30}) {
    const PassPlan plan = plan_of(net, unlimited);
    for (const PassSegment& segment : plan.forward()) EXPECT_EQ(segment.slices.count, 1);
  }
  // The first segment reads 3 and writes 16 channels of 32 x 32 floats for each sample; three
  // quarters of the cache hold four such samples, or five: four divide 12 and the two threads.
  const std::int64_t sample = (3 + 16) * 32 * 32 * 4;
  EXPECT_EQ(plan_of(net, sample * 6).forward().front().slices.count, 3);
  EXPECT_EQ(plan_of(net, sample * 7).forward().front().slices.count, 3);
  EXPECT_EQ(plan_of(net, 1).forward().front().slices.count, 12);
  EXPECT_TRUE(plan_of(net, sample * 6).forward().front().is_cached);
  EXPECT_FALSE(plan_of(net, sample).forward().front().is_cached) << "three quarters of a sample";
  EXPECT_FALSE(plan_of(net, 0).forward().front().is_cached) << "nothing is known of caches";
}

TEST(PassPlan, KeepsSlicesLargeBesideTheWeightsWhoseGradientsTheyAddTo) {
  Network net;
  auto x = net.input({64, {2, 2}});
  x = net.convolution(x, {"conv", 64, 3, 1, nn::uniform_padding(2, 1, 1), residual::kSmall});
  net.convolution(x, {"again", 64, 3, 1, nn::uniform_padding(2, 1, 1), residual::kSmall});
  const PassPlan plan(net, options(512, 1));
  EXPECT_EQ(plan.forward().front().slices.count, 512);
  // Twice 147,456 bytes of weights, over 5 arrays of 1,024 bytes per sample: 57 samples, of which
  // 32 divide the batch.
  EXPECT_EQ(plan.backward().back().slices.count, 16);
}

TEST(Slices, CoverTheBatchInOrderWithSizesThatDifferByOne) {
  for (const std::int64_t batch : {1, 2, 7, 32, 33}) {
    for (std::int64_t count = 1; count <= batch; ++count) {
      const Slices slices = {batch, count};
      std::set<std::int64_t> sizes;
      std::int64_t next = 0;
      for (std::int64_t i = 0; i < count; ++i) {
        EXPECT_EQ(slices.at(i).first, next);
        sizes.insert(slices.at(i).count);
        next += slices.at(i).count;
      }
      EXPECT_EQ(next, batch);
      const auto promised = slices.sizes();
      EXPECT_EQ(sizes, std::set<std::int64_t>(promised.begin(), promised.end()));
    }
  }
}

}  // namespace
