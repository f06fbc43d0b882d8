// Tests of the choice of a split: its reason, and its cost.
#include "workloads/cosmoflow/split_plan.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runner/base/error.h"
#include "runner/base/thrown_message.h"
#include "runner/base/units.h"
#include "workloads/cosmoflow/parsed_config.h"
#include "workloads/optimizer/optimizer_config.h"

namespace cosmoflow {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

/// Samples of 16^3 voxels.
json small_samples() {
  return {{"epochs", 1},
          {"dataset", {{"train", "a"}, {"validation", "b"}}},
          {"model", {{"size", 16}, {"channels", {16, 32}}, {"dense", {24, 8}}}},
          {"training", {{"global_batch_size", 2}}}};
}

/// The same with the split left open.
json open() {
  json object = small_samples();
  object["training"]["sample_split"] = {{"auto", true}};
  return object;
}

runner::PlannedRank on(int ranks) { return {.rank = 0, .ranks = ranks, .node_ranks = ranks}; }

/// The choice, after checking that all ranks make the same one.
SplitChoice choice_of(const json& object, int ranks) {
  const base::ObjectReader reader(object, "small.json");
  const auto choice_on = [&](int rank) {
    return choose_split(parse_config(reader), *make_optimizer(reader),
                        {.rank = rank, .ranks = ranks, .node_ranks = ranks});
  };
  const SplitChoice choice = choice_on(0);
  for (int rank = 1; rank < ranks; ++rank) EXPECT_EQ(to_json(choice_on(rank)), to_json(choice));
  return choice;
}

std::string refusal_of_split(const json& object, int ranks) {
  return base::thrown_message<base::ConfigError>([&] { choice_of(object, ranks); });
}

/// Memory of a rank's training with this split, for one group.
std::int64_t bytes_with(const Split& split) {
  json object = small_samples();
  object["training"]["sample_split"] = {{"depth", split.depth}, {"height", split.height}};
  return choice_of(object, static_cast<int>(split.parts())).rank_bytes;
}

TEST(SplitChoice, IsTheConfigurationsWhereThatSaysOne) {
  for (const Split split : {Split{1, 1}, Split{2, 1}, Split{1, 4}}) {
    json object = small_samples();
    object["training"]["sample_split"] = {{"depth", split.depth}, {"height", split.height}};
    const SplitChoice choice = choice_of(object, 2 * static_cast<int>(split.parts()));
    EXPECT_EQ(choice.split.depth, split.depth);
    EXPECT_EQ(choice.split.height, split.height);
    EXPECT_EQ(choice.reason, "as configured");
    EXPECT_EQ(choice.margin_bytes, margin_bytes(parsed(object), split));
    EXPECT_GT(choice.rank_bytes, 0);
  }
}

TEST(SplitChoice, IsWholeSamplesWhereTheyFit) {
  for (const int ranks : {1, 2}) {
    const SplitChoice choice = choice_of(open(), ranks);
    EXPECT_EQ(choice.split.parts(), 1);
    EXPECT_EQ(choice.reason, "whole samples fit every rank");
    EXPECT_EQ(choice.margin_bytes, 0);
  }
}

TEST(SplitChoice, IsTheFewestPartsThatGiveEveryGroupASample) {
  const SplitChoice of_four = choice_of(open(), 4);
  EXPECT_EQ(of_four.split.parts(), 2);
  EXPECT_EQ(of_four.reason, "4 ranks share the 2 samples of a pass");
  // Splitting into four along two axes has less surface than along one.
  const SplitChoice of_eight = choice_of(open(), 8);
  EXPECT_EQ(of_eight.split.depth, 2);
  EXPECT_EQ(of_eight.split.height, 2);
  EXPECT_EQ(of_eight.reason, "8 ranks share the 2 samples of a pass");
  json in_passes = open();
  in_passes["training"]["gradient_accumulation_steps"] = 2;
  EXPECT_EQ(choice_of(in_passes, 4).split.parts(), 4);
}

/// With three samples on two ranks, one rank has two samples, or both have three halves.
TEST(SplitChoice, IsMorePartsWhereMemoryIsShort) {
  json object = open();
  object["training"]["global_batch_size"] = 3;
  const SplitChoice whole = choice_of(object, 2);
  EXPECT_EQ(whole.split.parts(), 1);
  json in_parts = object;
  in_parts["training"]["sample_split"] = {{"depth", 2}};
  const std::int64_t least = choice_of(in_parts, 2).rank_bytes;
  ASSERT_LT(least, whole.rank_bytes);
  object["training"]["memory_limit_gib"] = static_cast<double>(least) / base::kGibibyte;
  const SplitChoice choice = choice_of(object, 2);
  EXPECT_EQ(choice.split.parts(), 2);
  EXPECT_EQ(choice.rank_bytes, least);
  EXPECT_THAT(choice.reason, AllOf(HasSubstr("samples in 1 x 1 parts take "),
                                   HasSubstr(" GiB of a rank, more than ")));
}

/// A part of a sample does not know the mean by which its counts are to be divided.
TEST(SplitChoice, LeavesSamplesWholeThatAreDividedByTheirMean) {
  json object = open();
  object["dataset"]["apply_log"] = false;
  EXPECT_EQ(choice_of(object, 2).split.parts(), 1);
  EXPECT_THAT(refusal_of_split(object, 4), AllOf(HasSubstr("4 ranks share the 2 samples of a pass"),
                                                 HasSubstr("parts need /dataset/apply_log")));
}

TEST(SplitChoice, SaysWhatIsNeededWhereNothingFits) {
  json object = small_samples();
  object["training"]["memory_limit_gib"] = 0.001;
  EXPECT_THAT(refusal_of_split(object, 2),
              AllOf(HasSubstr("/training/memory_limit_gib: a rank needs 0."),
                    HasSubstr("GiB with samples in 1 x 1 parts, expected at most 0.001; more "
                              "parts take less")));
  object = open();
  object["training"]["memory_limit_gib"] = 0.001;
  EXPECT_THAT(refusal_of_split(object, 4),
              AllOf(HasSubstr("/training/sample_split: no number of parts suits 4 ranks and 2 "
                              "samples of a pass: samples in "),
                    HasSubstr("more than 0.001; the least is 0.")));
}

TEST(SplitChoice, RefusesRanksThatCannotShareTheSamples) {
  // 16 voxels cannot be split into three parts of whole pairs.
  EXPECT_THAT(refusal_of_split(open(), 3),
              HasSubstr("/training/sample_split: no number of parts suits 3 ranks and 2 samples of "
                        "a pass: 3 ranks share the 2 samples of a pass"));
  json object = small_samples();
  object["training"]["sample_split"] = {{"depth", 2}};
  EXPECT_THAT(refusal_of_split(object, 3),
              HasSubstr("/training/sample_split: must divide 3 ranks, got 2 parts of a sample"));
}

TEST(SplitChoice, IsToldInNumbersAndWords) {
  const json told = to_json(choice_of(open(), 8));
  EXPECT_EQ(told["depth_parts"], 2);
  EXPECT_EQ(told["height_parts"], 2);
  EXPECT_EQ(told["ranks_per_sample"], 4);
  EXPECT_GT(told["rank_bytes"], 0);
  EXPECT_GT(told["margin_bytes_per_sample"], 0);
  EXPECT_EQ(told["reason"], "8 ranks share the 2 samples of a pass");
}

/// Two faces of C x H x W values, forward and backward, but no gradient of the network's input.
TEST(MarginBytes, OfSlicesAreTwoFacesOfEachVolume) {
  json object = small_samples();
  object["model"] = json::object();  // the benchmark's
  constexpr std::int64_t kSources[][2] = {{4, 128}, {32, 64}, {64, 32}, {128, 16}, {256, 8}};
  std::int64_t forward = 0, backward = 0;
  for (const auto& [channels, extent] : kSources) {
    forward += 2 * channels * extent * extent;
    if (channels != 4) backward += 2 * channels * extent * extent;
  }
  // Four parts are gathered only after the last convolution.
  const Config config = parsed(object);
  for (const Split split : {Split{4, 1}, Split{1, 4}}) {
    EXPECT_EQ(margin_bytes(config, split), 4 * (forward + backward));
  }
  // A part at the end has one neighbour.
  EXPECT_EQ(margin_bytes(config, {2, 1}), 4 * (forward + backward) / 2);
  object["training"]["precision"] = "bf16";  // gradients stay in float
  EXPECT_EQ(margin_bytes(parsed(object), {4, 1}), 2 * forward + 4 * backward);
}

TEST(MarginBytes, EndWherePartsArePutTogether) {
  json object = small_samples();
  object["model"] = json::object();
  // Parts of 16 voxels are gathered after the convolution whose input parts have 2.
  const std::int64_t values =
      2 * (4 * 128 * 128 + 2 * (32 * 64 * 64 + 64 * 32 * 32 + 128 * 16 * 16));
  EXPECT_EQ(margin_bytes(parsed(object), {8, 1}), 4 * values);
}

/// Parts of 8 x 8 x 16 voxels have a neighbour in each direction and one across an edge. After
/// pooling they are 4 x 4 x 8.
TEST(MarginBytes, OfQuartersAreFacesAndAnEdge) {
  constexpr std::int64_t kFloat = 4, kFirst = (8 + 8 + 1) * 16 * 4, kSecond = (4 + 4 + 1) * 8 * 16;
  EXPECT_EQ(margin_bytes(parsed(small_samples()), {2, 2}), kFloat * (kFirst + 2 * kSecond));
  // A part in the middle, of 4 x 4 x 16 voxels, then 2 x 2 x 8, has four faces and four edges.
  constexpr std::int64_t kInner = (4 * 4 + 4) * 16 * 4, kInnerNext = (4 * 2 + 4) * 8 * 16;
  EXPECT_EQ(margin_bytes(parsed(small_samples()), {4, 4}), kFloat * (kInner + 2 * kInnerNext));
  EXPECT_EQ(margin_bytes(parsed(small_samples()), {1, 1}), 0);
}

/// Because of the margins and the gathered volume, a part takes somewhat more than its share.
TEST(Memory, FallsWithTheNumberOfParts) {
  json object = small_samples();
  object["model"] = {{"size", 64}, {"channels", {16, 16, 16, 16}}, {"dense", {8}}};
  const auto activations = [&](const Split& split) {
    object["training"]["sample_split"] = {{"depth", split.depth}, {"height", split.height}};
    const base::ObjectReader reader(object, "small.json");
    const runner::MemoryNeeds needs = memory_of(parse_config(reader), *make_optimizer(reader),
                                                on(static_cast<int>(split.parts())));
    EXPECT_GT(needs.rank.at("input batches"), 0);
    return static_cast<double>(needs.rank.at("activations and scratch"));
  };
  const double whole = activations({1, 1});
  for (const Split split : {Split{2, 1}, Split{1, 2}, Split{2, 2}, Split{4, 1}, Split{4, 2}}) {
    const auto parts = static_cast<double>(split.parts());
    EXPECT_LT(activations(split), 1.4 * whole / parts) << split.depth << " x " << split.height;
    EXPECT_GT(activations(split), whole / parts) << split.depth << " x " << split.height;
  }
  EXPECT_LT(bytes_with({2, 2}), bytes_with({2, 1}));
  EXPECT_LT(bytes_with({2, 1}), bytes_with({1, 1}));
}

TEST(Memory, CountsBatchesAheadAndWhatIsKept) {
  json object = small_samples();
  object["dataset"]["prefetch_batches"] = 3;
  object["dataset"]["cache_bytes"] = 12'345;
  object["cache"]["memory_bytes"] = 6'789;
  const base::ObjectReader reader(object, "small.json");
  const auto needs = memory_of(parse_config(reader), *make_optimizer(reader), on(2));
  // One sample on each of two ranks, four batches, counts of two bytes.
  EXPECT_EQ(needs.rank.at("input batches"), 4 * 16 * 16 * 16 * 4 * 2);
  EXPECT_EQ(needs.rank.at("decoded samples"), 12'345);
  EXPECT_EQ(needs.rank.at("cached samples"), 6'789 / 2);
  EXPECT_EQ(needs.node.at("optimizer state"), needs.node.at("weights"));
}

}  // namespace
}  // namespace cosmoflow
