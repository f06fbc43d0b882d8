// Tests of the keys that several workloads share: defaults, values and refusals.
#include "workloads/parallel/training_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runner/base/thrown_message.h"

namespace parallel {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::Pair;

template <class Parse>
auto parsed(const json& section, const Parse& parse) {
  const base::ObjectReader reader(section, "test.json");
  const auto keys = parse(reader);
  reader.reject_unknown();
  return keys;
}

ReadKeys read_keys(const json& section, const ReadKeys& defaults = {}) {
  return parsed(section, [&](const base::ObjectReader& in) {
    ReadKeys keys = defaults;
    parse_read_keys(in, keys);
    return keys;
  });
}

UpdateKeys update_keys(const json& section) {
  return parsed(section, [](const base::ObjectReader& in) {
    UpdateKeys keys;
    parse_update_keys(in, keys);
    return keys;
  });
}

template <class Call>
std::string refusal(const Call& call) {
  return base::thrown_message<base::ConfigError>([&] { call(); });
}

TEST(ReadKeys, KeepTheDefaultsOfTheWorkload) {
  ReadKeys defaults;
  defaults.prefetch_batches = 4;
  const ReadKeys keys = read_keys(json::object(), defaults);
  EXPECT_EQ(keys.train_samples, 0);
  EXPECT_EQ(keys.validation_samples, 0);
  EXPECT_EQ(keys.shards, 1);
  EXPECT_EQ(keys.decoders(3), 3);
  EXPECT_EQ(keys.prefetch_batches, 4);
  EXPECT_FALSE(keys.counts_known());
}

TEST(ReadKeys, TakeEveryKey) {
  const ReadKeys keys = read_keys({{"train_samples", 9},
                                   {"validation_samples", 5},
                                   {"shards", 4},
                                   {"decode_threads", 2},
                                   {"prefetch_batches", 7}});
  EXPECT_EQ(keys.train_samples, 9);
  EXPECT_EQ(keys.validation_samples, 5);
  EXPECT_EQ(keys.shards, 4);
  EXPECT_EQ(keys.decoders(3), 2);
  EXPECT_EQ(keys.prefetch_batches, 7);
  EXPECT_TRUE(keys.counts_known());
  EXPECT_FALSE(read_keys({{"train_samples", 9}}).counts_known());
  EXPECT_FALSE(read_keys({{"validation_samples", 5}}).counts_known());
}

TEST(ReadKeys, RefuseWhatCannotBe) {
  for (const auto& [key, value] :
       std::initializer_list<std::pair<const char*, json>>{{"train_samples", -1},
                                                           {"validation_samples", 1.5},
                                                           {"shards", 0},
                                                           {"decode_threads", 1025},
                                                           {"prefetch_batches", 0}}) {
    EXPECT_THAT(refusal([&] {
                  read_keys({{key, value}});
                }),
                testing::HasSubstr(std::string("test.json: /") + key));
  }
}

TEST(UpdateKeys, DivideABatchIntoPasses) {
  EXPECT_EQ(update_keys({{"global_batch_size", 12}}).pass_samples(), 12);
  const UpdateKeys keys =
      update_keys({{"global_batch_size", 12}, {"gradient_accumulation_steps", 3}});
  EXPECT_EQ(keys.global_batch_size, 12);
  EXPECT_EQ(keys.gradient_accumulation_steps, 3);
  EXPECT_EQ(keys.pass_samples(), 4);
}

TEST(UpdateKeys, RefuseABatchThatDoesNotDivide) {
  EXPECT_EQ(refusal([] {
              update_keys({{"global_batch_size", 12}, {"gradient_accumulation_steps", 5}});
            }),
            "test.json: /global_batch_size: must divide by 5 gradient accumulation steps, got 12");
  EXPECT_THAT(refusal([] { update_keys(json::object()); }),
              testing::HasSubstr("global_batch_size"));
  EXPECT_THAT(refusal([] {
                update_keys({{"global_batch_size", 12}, {"gradient_accumulation_steps", 0}});
              }),
              testing::HasSubstr("/gradient_accumulation_steps"));
}

TEST(TrainingChoices, AreCalledAsTheirTypesSay) {
  EXPECT_THAT(precisions(),
              ElementsAre(Pair("f32", nn::Precision::kF32), Pair("bf16", nn::Precision::kBf16)));
  for (const auto& [name, one] : precisions()) {
    EXPECT_EQ(parsed({{"precision", name}}, parse_arithmetic).precision, one);
  }
  EXPECT_EQ(parsed(json::object(), parse_arithmetic).precision, nn::Precision::kF32);
  EXPECT_THAT(products(),
              ElementsAre(Pair("auto", nn::Products::kFaster), Pair("pairs", nn::Products::kPairs),
                          Pair("floats", nn::Products::kFloats)));
  for (const auto& [name, one] : products()) {
    EXPECT_EQ(parsed({{"products", name}}, parse_arithmetic).products, one);
  }
  EXPECT_EQ(parsed(json::object(), parse_arithmetic).products, nn::Products::kFaster);
  EXPECT_EQ(recomputes().size(), nn::kAllRecompute.size());
  for (const auto& [name, one] : recomputes()) {
    const auto parse = [](const base::ObjectReader& in) {
      return parse_recompute(in, nn::Recompute::kBlocks);
    };
    EXPECT_EQ(name, nn::to_string(one));
    EXPECT_EQ(parsed({{"recompute", name}}, parse), one);
    EXPECT_EQ(parsed(json::object(), parse), nn::Recompute::kBlocks);
  }
}

TEST(TrainingChoices, AreFoundByNameOrAllTold) {
  EXPECT_EQ(named("bench toy: --precision", "bf16", precisions()), nn::Precision::kBf16);
  EXPECT_EQ(refusal([] { named("bench toy: --precision", "f16", precisions()); }),
            "bench toy: --precision: expected one of f32, bf16, got f16");
}

TEST(BatchOfAnUpdate, IsAtMostTheTrainingSet) {
  const json object = json::object();
  const base::ObjectReader root(object, "test.json");
  EXPECT_NO_THROW(check_batch_fits(root, 8, 0));
  EXPECT_NO_THROW(check_batch_fits(root, 8, 8));
  EXPECT_EQ(refusal([&] { check_batch_fits(root, 8, 7); }),
            "test.json: /training/global_batch_size: expected at most the 7 training samples, "
            "got 8");
}

TEST(TrainingKeys, NameAFileOfMethodsWhereThereAreConvolutions) {
  const json section = {{"methods", "/nowhere/methods.json"}};
  EXPECT_THAT(base::thrown_message<base::ConfigError>(
                  [&] { parsed(section, parse_convolution_arithmetic); }),
              testing::HasSubstr("/nowhere/methods.json: cannot open"));
  EXPECT_THAT(base::thrown_message<base::ConfigError>([&] { parsed(section, parse_arithmetic); }),
              testing::HasSubstr("methods"));
  EXPECT_TRUE(parsed(json::object(), parse_convolution_arithmetic).methods.empty());
}

TEST(GradientTravel, IsLateAndOfF32UnlessTold) {
  const auto travel = [](const json& section) {
    return parsed(section, [](const base::ObjectReader& in) { return parse_gradient_travel(in); });
  };
  EXPECT_EQ(travel(json::object()).payload, GradientPayload::kF32);
  EXPECT_TRUE(travel(json::object()).late_update);
  EXPECT_TRUE(travel(json::object()).error_feedback);
  for (const GradientPayload payload : kGradientPayloads) {
    EXPECT_EQ(travel({{"gradient_payload", to_string(payload)}}).payload, payload);
  }
  EXPECT_FALSE(travel(json::object()).divided_update);
  EXPECT_TRUE(travel({{"divided_update", true}}).divided_update);
  EXPECT_THAT(refusal([&] {
                travel({{"divided_update", true}, {"gradient_payload", "int8"}});
              }),
              testing::HasSubstr("divided_update: needs /training/gradient_payload f32, got int8"));
  EXPECT_TRUE(travel(json::object()).tries_pieces);
  EXPECT_EQ(travel(json::object()).piece_floats, 0);
  EXPECT_FALSE(travel({{"gradient_piece_kib", 48}}).tries_pieces);
  EXPECT_EQ(travel({{"gradient_piece_kib", 48}}).piece_floats, 48 * 256);
  EXPECT_THAT(refusal([&] {
                travel({{"gradient_piece_kib", 40}});
              }),
              testing::HasSubstr("gradient_piece_kib: expected a multiple of 16, got 40"));
  EXPECT_EQ(travel({{"gradient_density", 0.5}}).density, 0.5);
  EXPECT_FALSE(travel({{"error_feedback", false}}).error_feedback);
  EXPECT_FALSE(travel({{"late_update", false}}).late_update);
  for (const json& wrong :
       {json{{"gradient_payload", "int4"}}, json{{"gradient_density", 0.0}},
        json{{"gradient_density", 1.01}}, json{{"error_feedback", 1}}, json{{"late_update", 1}},
        json{{"gradient_piece_kib", -16}}, json{{"gradient_piece_kib", 1 << 21}}}) {
    EXPECT_THAT(refusal([&] { travel(wrong); }), testing::HasSubstr(wrong.begin().key()));
  }
}

}  // namespace
}  // namespace parallel
