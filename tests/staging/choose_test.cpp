// Tests of the choice of a mode of staging: times computed by hand, and by plain loops.
#include "staging/choose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace staging {
namespace {

using testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kGigabyte = 1000000000;
constexpr CopyingMode kByNode{StagingMode::kShard, SourceReads::kOncePerNode};
/// A mode that reads once per class, under the name of one that exists.
constexpr CopyingMode kByClass{StagingMode::kFull, SourceReads::kOncePerClass};

/// 4 nodes that each need the same 100 GB and draw a quarter of it in an epoch.
Sizes four_nodes() {
  return {.nodes = 4,
          .sample_bytes = 1e6,
          .needed = 100 * kGigabyte,
          .missing = 100 * kGigabyte,
          .missing_of_all = 400 * kGigabyte,
          .missing_once = 100 * kGigabyte,
          .class_nodes = 4,
          .too_small = ""};
}

Horizon epochs(std::int64_t count) {
  return {.epochs = count,
          .epoch_bytes = 25e9,
          .epoch_bytes_of_all = 100e9,
          .compute_s = 0.0,
          .cache_bytes = 0};
}

Rates rates() {
  return {.source = 1e9,
          .source_of_node = 5e8,
          .source_files = 0.0,
          .network = 1e9,
          .local_write = 1e9,
          .local_read = 2.5e9};
}

double staging_s(const CopyingMode& mode, const Sizes& sizes, const Rates& rates) {
  return predict(mode, sizes, rates, epochs(1)).staging_s;
}

TEST(Predict, WritesAndReadsWhatCopiesHoldExpanded) {
  Sizes sizes = four_nodes();
  sizes.growth = 3.0;
  // 100 GB are read once; each node writes 300 GB, and reads 75 GB of them in an epoch.
  EXPECT_DOUBLE_EQ(staging_s(kByClass, sizes, rates()), 300.0);
  EXPECT_DOUBLE_EQ(staging_s(kByNode, sizes, rates()), 400.0);
  EXPECT_DOUBLE_EQ(predict(kByClass, sizes, rates(), epochs(1)).total_s, 300.0 + 30.0);
  EXPECT_DOUBLE_EQ(predict({StagingMode::kStream, {}}, sizes, rates(), epochs(1)).total_s,
                   predict({StagingMode::kStream, {}}, four_nodes(), rates(), epochs(1)).total_s);
  Horizon cached = epochs(2);
  cached.cache_bytes = 30 * kGigabyte;
  EXPECT_DOUBLE_EQ(miss_share(sizes, cached, 1), 0.75);
  EXPECT_DOUBLE_EQ(miss_share(sizes, cached, 1, sizes.growth), 0.9) << "of 300 GB";
}

TEST(Predict, TakesStagingByTheSlowestOfItsParts) {
  EXPECT_DOUBLE_EQ(staging_s(kByNode, four_nodes(), rates()), 400.0);  // 400 GB at 1 GB/s
  // 100 GB are read once, each node writes 100 GB, and receives 75 GB of them.
  EXPECT_DOUBLE_EQ(staging_s(kByClass, four_nodes(), rates()), 100.0);
  Rates slow_disk = rates();
  slow_disk.local_write = 2e8;
  EXPECT_DOUBLE_EQ(staging_s(kByNode, four_nodes(), slow_disk), 500.0);
  EXPECT_DOUBLE_EQ(staging_s(kByClass, four_nodes(), slow_disk), 500.0);
  Rates slow_network = rates();
  slow_network.network = 1e8;
  EXPECT_DOUBLE_EQ(staging_s(kByNode, four_nodes(), slow_network), 400.0);
  EXPECT_DOUBLE_EQ(staging_s(kByClass, four_nodes(), slow_network), 750.0);
}

TEST(Predict, LetsTheFirstEpochGoOnBesideCopying) {
  const CopyingMode beside{StagingMode::kShard, SourceReads::kOncePerNode, true};
  // 400 s of copying share the source with 50 GB of the epoch; the second reads copies, 10 s.
  EXPECT_DOUBLE_EQ(predict(beside, four_nodes(), rates(), epochs(2)).total_s, 450.0 + 10.0);
  EXPECT_DOUBLE_EQ(predict(beside, four_nodes(), rates(), epochs(2)).staging_s, 400.0);
  EXPECT_DOUBLE_EQ(predict(kByNode, four_nodes(), rates(), epochs(2)).total_s, 400.0 + 20.0);
  Horizon computing = epochs(2);
  computing.compute_s = 500.0;  // as long as everything in the first epoch
  const Prediction hidden = predict(beside, four_nodes(), rates(), computing);
  EXPECT_DOUBLE_EQ(hidden.total_s, 1000.0);
  EXPECT_EQ(hidden.break_even_epochs, 0.0);
  EXPECT_DOUBLE_EQ(predict(kByNode, four_nodes(), rates(), computing).total_s, 1400.0);
  Sizes there = four_nodes();
  there.missing = there.missing_of_all = there.missing_once = 0;
  EXPECT_DOUBLE_EQ(predict(beside, there, rates(), epochs(2)).total_s, 20.0);
}

TEST(Predict, LetsTheFirstEpochGoOnWhileNodesPassOnSamples) {
  const CopyingMode beside = copying_mode(StagingMode::kScatter, true);
  // 100 s to read each sample once share the source with 50 GB of the epoch; then 10 s a copy.
  EXPECT_DOUBLE_EQ(predict(beside, four_nodes(), rates(), epochs(2)).total_s, 150.0 + 10.0);
  const CopyingMode first = copying_mode(StagingMode::kScatter);
  EXPECT_DOUBLE_EQ(predict(first, four_nodes(), rates(), epochs(2)).total_s, 100.0 + 20.0);
}

TEST(Predict, BoundsWhatOneNodeReads) {
  Sizes one_lacks = four_nodes();  // 100 GB, which the others have
  one_lacks.missing_of_all = one_lacks.missing_once = 100 * kGigabyte;
  one_lacks.class_nodes = 1;
  EXPECT_DOUBLE_EQ(staging_s(kByNode, one_lacks, rates()), 200.0);   // 5e8 bytes/s, alone
  EXPECT_DOUBLE_EQ(staging_s(kByClass, one_lacks, rates()), 200.0);  // nobody else needs it
}

TEST(Predict, BoundsFilesPerSecond) {
  Rates by_files = rates();
  by_files.source_files = 100.0;  // of 1 MB: 1e8 bytes/s
  EXPECT_DOUBLE_EQ(staging_s(kByNode, four_nodes(), by_files), 4000.0);
  by_files.source_files = 5000.0;
  EXPECT_DOUBLE_EQ(staging_s(kByNode, four_nodes(), by_files), 400.0);
}

TEST(Predict, AddsUpTheEpochs) {
  // 100 GB at 1 GB/s, or 25 GB at 2.5 GB/s on each node.
  EXPECT_DOUBLE_EQ(predict({StagingMode::kStream, {}}, four_nodes(), rates(), epochs(3)).total_s,
                   300.0);
  EXPECT_DOUBLE_EQ(predict(kByNode, four_nodes(), rates(), epochs(3)).total_s, 430.0);
  EXPECT_DOUBLE_EQ(predict(kByClass, four_nodes(), rates(), epochs(3)).total_s, 130.0);
}

TEST(Predict, HidesReadingBehindComputing) {
  Horizon computing = epochs(2);
  computing.compute_s = 60.0;  // more than 10 s of local reading, less than 100 s of the source
  EXPECT_DOUBLE_EQ(predict({StagingMode::kStream, {}}, four_nodes(), rates(), computing).total_s,
                   200.0);
  EXPECT_DOUBLE_EQ(predict(kByNode, four_nodes(), rates(), computing).total_s, 520.0);
}

TEST(Predict, ReadsWhatIsInMemoryOnce) {
  Horizon all = epochs(2);
  all.cache_bytes = 100 * kGigabyte;
  EXPECT_DOUBLE_EQ(miss_share(four_nodes(), all, 0), 1.0);
  EXPECT_DOUBLE_EQ(miss_share(four_nodes(), all, 1), 0.75);  // a quarter was drawn before
  EXPECT_DOUBLE_EQ(miss_share(four_nodes(), all, 2), 0.5625);
  EXPECT_DOUBLE_EQ(predict({StagingMode::kStream, {}}, four_nodes(), rates(), all).total_s, 175.0);
  EXPECT_DOUBLE_EQ(predict(kByNode, four_nodes(), rates(), all).total_s, 417.5);
  Horizon some = all;
  some.cache_bytes = 10 * kGigabyte;
  EXPECT_DOUBLE_EQ(miss_share(four_nodes(), some, 1), 0.9);
}

TEST(Predict, KnowsNoTimeWithoutARate) {
  Rates unknown = rates();
  unknown.local_read = 0.0;
  EXPECT_EQ(predict(kByNode, four_nodes(), unknown, epochs(2)).total_s, kInfinity);
  EXPECT_FALSE(predict(kByNode, four_nodes(), unknown, epochs(2)).break_even_epochs);
  EXPECT_EQ(predict({StagingMode::kStream, {}}, four_nodes(), Rates(), epochs(2)).total_s,
            kInfinity);
  unknown = rates();
  unknown.network = 0.0;
  EXPECT_EQ(staging_s(kByClass, four_nodes(), unknown), kInfinity);
  EXPECT_EQ(staging_s(kByNode, four_nodes(), unknown), 400.0);
}

// 400 s / (100 s - 10 s) an epoch: T_stage / (t_remote - t_local).
TEST(BreakEven, IsStagingDividedByTheGainOfAnEpoch) {
  EXPECT_DOUBLE_EQ(*predict(kByNode, four_nodes(), rates(), epochs(1)).break_even_epochs,
                   400.0 / 90.0);
  EXPECT_DOUBLE_EQ(*predict(kByClass, four_nodes(), rates(), epochs(1)).break_even_epochs,
                   100.0 / 90.0);
  Sizes there = four_nodes();
  there.missing = there.missing_of_all = there.missing_once = 0;
  EXPECT_EQ(predict(kByNode, there, rates(), epochs(1)).break_even_epochs, 0.0);
}

TEST(BreakEven, IsNeverWhereCopiesAreNotFaster) {
  Rates slow_disk = rates();
  slow_disk.local_read = 2.5e8;
  EXPECT_FALSE(predict(kByNode, four_nodes(), slow_disk, epochs(9)).break_even_epochs);
  Horizon computing = epochs(9);
  computing.compute_s = 1000.0;
  EXPECT_FALSE(predict(kByNode, four_nodes(), rates(), computing).break_even_epochs);
}

TEST(BreakEven, LiesBeyondTheEpochsThatAreSummed) {
  Rates alike = rates();
  alike.local_read = 25e9 / 99.999;  // gains 1 ms of the 100 s of an epoch
  EXPECT_NEAR(*predict(kByNode, four_nodes(), alike, epochs(9)).break_even_epochs, 400000.0, 1.0);
}

/// Seconds of `epoch` if the source is read, or the copy.
double plain_epoch(const Rates& rates, const Horizon& horizon, const Sizes& sizes, int epoch,
                   bool is_local) {
  double unseen = 1.0;
  for (int i = 0; i < epoch; ++i) {
    unseen *= 1.0 - horizon.epoch_bytes / static_cast<double>(sizes.needed);
  }
  const double kept = static_cast<double>(horizon.cache_bytes) / static_cast<double>(sizes.needed);
  const double missed = std::max(unseen, 1.0 - kept);
  const double seconds = is_local ? horizon.epoch_bytes * missed / rates.local_read
                                  : std::max(horizon.epoch_bytes_of_all * missed / rates.source,
                                             horizon.epoch_bytes * missed / rates.source_of_node);
  return std::max(seconds, horizon.compute_s);
}

TEST(BreakEven, AgreesWithAPlainLoop) {
  int found = 0;
  for (const double compute_s : {0.0, 12.0, 60.0}) {
    for (const std::int64_t cached : {0, 10, 60, 100}) {
      for (const double read : {3e8, 2.5e9}) {
        Horizon horizon = epochs(1);
        horizon.compute_s = compute_s;
        horizon.cache_bytes = cached * kGigabyte;
        Rates measured = rates();
        measured.local_read = read;
        const Prediction predicted = predict(kByClass, four_nodes(), measured, horizon);
        double streamed = 0.0, copied = predicted.staging_s;
        int epoch = 0;
        while (copied > streamed && epoch < 5000) {
          streamed += plain_epoch(measured, horizon, four_nodes(), epoch, false);
          copied += plain_epoch(measured, horizon, four_nodes(), epoch, true);
          ++epoch;
        }
        SCOPED_TRACE(testing::Message() << compute_s << " " << cached << " " << read);
        ASSERT_EQ(predicted.break_even_epochs.has_value(), copied <= streamed);
        if (!predicted.break_even_epochs) continue;
        ++found;
        EXPECT_EQ(std::ceil(*predicted.break_even_epochs), epoch);
      }
    }
  }
  EXPECT_GE(found, 10);
}

/// A case of the choice between streaming and copying by node or by class.
struct Case {
  const char* what;
  std::int64_t epochs;
  Sizes sizes;
  Rates rates;
  StagingMode chosen;
  const char* reason;
};

Sizes with_too_small(Sizes sizes) {
  sizes.too_small = "node 2 (n2): 100 GB are needed, 1 GB is free";
  return sizes;
}

Rates with_network(double network) {
  Rates measured = rates();
  measured.network = network;
  return measured;
}

TEST(Choose, TakesTheLeastTime) {
  const Case cases[] = {
      {"one epoch", 1, four_nodes(), rates(), StagingMode::kStream,
       "stream takes 100 s for 1 epoch, and full 110 s, 100 s of it staging, which is not 5 % "
       "less"},
      {"two epochs", 2, four_nodes(), rates(), StagingMode::kFull,
       "full takes 120 s for 2 epochs, 100 s of it staging, and stream 200 s, so that it pays off "
       "after 1.11 epochs; 4 nodes together read 953.7 MiB/s from the source"},
      {"no network", 4, four_nodes(), with_network(0.0), StagingMode::kStream,
       "stream takes 400 s for 4 epochs, and shard 440 s, 400 s of it staging"},
      {"no network, many epochs", 9, four_nodes(), with_network(0.0), StagingMode::kShard,
       "pays off after 4.44 epochs"},
      {"slow network", 9, four_nodes(), with_network(1.5e8), StagingMode::kShard,
       "shard takes 490"},
      {"no room", 9, with_too_small(four_nodes()), rates(), StagingMode::kStream,
       "a copy has no room on node 2 (n2): 100 GB are needed, 1 GB is free"},
      {"nothing known", 9, four_nodes(), Rates(), StagingMode::kStream,
       "the time of shard is not known"},
  };
  for (const Case& one : cases) {
    const Choice choice =
        choose({kByNode, kByClass}, one.sizes, one.rates, epochs(one.epochs), Wish::kFastest);
    EXPECT_EQ(choice.mode, one.chosen) << one.what;
    EXPECT_THAT(choice.reason, HasSubstr(one.reason)) << one.what;
    ASSERT_EQ(choice.predictions.size(), 3U) << one.what;
    EXPECT_EQ(choice.predicted()->mode, one.chosen) << one.what;
  }
}

TEST(Choose, WantsAGainOfFivePercent) {
  // Staging of 100 s and epochs of 10 s against 100 s: 100 + 10 E against 0.95 * 100 E.
  const auto chosen = [](double local_read) {
    Rates measured = rates();
    measured.local_read = local_read;
    return choose({kByClass}, four_nodes(), measured, epochs(10), Wish::kFastest).mode;
  };
  EXPECT_EQ(chosen(25e9 / 84.9), StagingMode::kFull);  // 949 s of 1000 s
  EXPECT_EQ(chosen(25e9 / 85.1), StagingMode::kStream);
}

TEST(Choose, TakesTheFirstOfEqualModes) {
  Sizes alone = four_nodes();
  alone.nodes = alone.class_nodes = 1;
  alone.missing_of_all = alone.missing;
  EXPECT_EQ(choose({kByNode, kByClass}, alone, rates(), epochs(90), Wish::kFastest).mode,
            StagingMode::kShard);
  EXPECT_EQ(choose({kByClass, kByNode}, alone, rates(), epochs(90), Wish::kFastest).mode,
            StagingMode::kFull);
}

TEST(Choose, CopiesWhereACopyIsWanted) {
  const Choice choice =
      choose({kByNode, kByClass}, with_too_small(four_nodes()), rates(), epochs(1), Wish::kCopy);
  EXPECT_EQ(choice.mode, StagingMode::kFull);
  EXPECT_EQ(choice.reason,
            "a copy is to be kept, and of the modes that copy full takes the least time, 100 s");
}

TEST(Choose, SaysWhetherComputingWasKnown) {
  const char* unknown = "the compute time of an epoch is not known";
  Horizon horizon = epochs(9);
  EXPECT_THAT(choose({kByNode}, four_nodes(), rates(), horizon, Wish::kFastest).reason,
              HasSubstr(unknown));
  horizon.compute_s = 1.0;
  EXPECT_THAT(choose({kByNode}, four_nodes(), rates(), horizon, Wish::kFastest).reason,
              testing::Not(HasSubstr(unknown)));
}

TEST(ChooseBySize, StreamsWhatACopyWouldReadAsOften) {
  // After 4 epochs each node has read 1 - 0.75^4 of its 100 GB, which stay in memory.
  Horizon horizon = epochs(4);
  horizon.cache_bytes = 100 * kGigabyte;
  const auto choice =
      choose_by_size({kByNode}, four_nodes(), horizon, Wish::kFastest, RatesAre::kUnknown);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->mode, StagingMode::kStream);
  EXPECT_EQ(
      choice->reason,
      "stream reads 254.7 GiB from the source in 4 epochs, and a copy would read 372.5 GiB as "
      "well; 93.1 GiB of memory keep what a node has read");
  // With any rates it would be the choice, too.
  EXPECT_EQ(choose({kByNode}, four_nodes(), rates(), horizon, Wish::kFastest).mode,
            StagingMode::kStream);
  // A mode that reads once for all nodes reads less.
  EXPECT_FALSE(choose_by_size({kByNode, kByClass}, four_nodes(), horizon, Wish::kFastest,
                              RatesAre::kUnknown));
  horizon.epochs = 5;
  horizon.cache_bytes = 0;
  EXPECT_FALSE(
      choose_by_size({kByNode}, four_nodes(), horizon, Wish::kFastest, RatesAre::kUnknown));
  EXPECT_FALSE(choose_by_size({kByNode}, four_nodes(), horizon, Wish::kCopy, RatesAre::kUnknown));
}

TEST(ChooseBySize, StreamsWhatIsTooLittle) {
  Sizes small = four_nodes();
  small.needed = small.missing = small.missing_once = 8 << 20;
  small.missing_of_all = 4 * small.missing;
  Horizon horizon{.epochs = 8, .epoch_bytes = 8 << 20, .epoch_bytes_of_all = 32 << 20};
  const auto choice =
      choose_by_size({kByNode, kByClass}, small, horizon, Wish::kFastest, RatesAre::kUnknown);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->mode, StagingMode::kStream);
  EXPECT_EQ(choice->reason,
            "stream reads 256.0 MiB from the source in 8 epochs, too little for a measurement of "
            "rates to pay");
  EXPECT_EQ(choose_by_size({kByClass}, small, horizon, Wish::kCopy, RatesAre::kUnknown)->mode,
            StagingMode::kFull);
  for (const Wish wish : {Wish::kFastest, Wish::kCopy}) {  // no measurement is needed
    EXPECT_FALSE(choose_by_size({kByNode, kByClass}, small, horizon, wish, RatesAre::kKnown));
  }
  horizon.epochs = 9;
  EXPECT_FALSE(
      choose_by_size({kByNode, kByClass}, small, horizon, Wish::kFastest, RatesAre::kUnknown));
}

TEST(ChooseBySize, UsesCopiesThatAreThere) {
  Sizes there = four_nodes();
  there.missing = there.missing_of_all = there.missing_once = 0;
  for (const Wish wish : {Wish::kFastest, Wish::kCopy}) {
    const auto choice =
        choose_by_size({kByNode, kByClass}, there, epochs(1), wish, RatesAre::kUnknown);
    ASSERT_TRUE(choice);
    EXPECT_EQ(choice->mode, StagingMode::kShard);
    EXPECT_EQ(choice->reason, "every node has a copy of what its ranks need");
  }
}

TEST(ChooseBySize, EndsForAnyNumberOfEpochs) {
  EXPECT_FALSE(choose_by_size({kByNode}, four_nodes(),
                              epochs(std::numeric_limits<std::int64_t>::max()), Wish::kFastest,
                              RatesAre::kUnknown));
}

TEST(ChooseBySize, StreamsWhereNoModeCopies) {
  EXPECT_EQ(choose_by_size({}, four_nodes(), epochs(9), Wish::kFastest, RatesAre::kUnknown)->mode,
            StagingMode::kStream);
  EXPECT_EQ(choose({}, four_nodes(), rates(), epochs(9), Wish::kFastest).mode,
            StagingMode::kStream);
}

}  // namespace
}  // namespace staging
