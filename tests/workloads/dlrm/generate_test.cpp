// Tests of the generator of click logs: files, determinism, refusals, interrupted runs.
#include "workloads/dlrm/generate.h"

#include <gmock/gmock.h>

#include "staging/dataset/criteo.h"
#include "workloads/dlrm/planted_model.h"
#include "workloads/dlrm/tables.h"
#include "workloads/generate_trial.h"

namespace dlrm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
namespace fs = std::filesystem;

class GenerateClicks : public generate_trial::GenerateTest<GenerateOptions, GenerateResult> {
 protected:
  GenerateClicks() : GenerateTest({generate_clicks, generate_plan, declare_generate}) {}
  GenerateOptions small() const override {
    GenerateOptions options;
    options.samples = 5000;
    options.test_samples = 3000;
    options.validation_samples = 1000;
    return options;
  }
  static std::string file(const GenerateOptions& of, const std::string& name) {
    return base::content(of.output + "/" + name);
  }
};

TEST_F(GenerateClicks, WritesFilesThatTheReaderOpens) {
  const GenerateResult result = generate_clicks(options("a"));
  EXPECT_FALSE(result.already_there);
  EXPECT_EQ(result.samples, 9000);
  EXPECT_EQ(result.bytes, 9000 * 160);
  const std::string folder = options("a").output;
  EXPECT_EQ(dataset::ClickFile(folder + "/test.bin").samples(), 3000);
  EXPECT_EQ(dataset::ClickFile(folder + "/val.bin").samples(), 1000);
  const dataset::ClickFile train(folder + "/train.bin");
  EXPECT_EQ(train.samples(), 5000);
  std::vector<std::int32_t> records(5000 * 40);
  train.read(0, 5000, records);
  dataset::ClickBatch batch;
  // decode_clicks() refuses labels, counts and ids that are out of range.
  EXPECT_NO_THROW(dataset::decode_clicks(train.path(), train.format(), 0, records,
                                         {parse_tables("small"), 0}, 5000, batch));
  EXPECT_FALSE(fs::exists(folder + ".part"));
}

TEST_F(GenerateClicks, WritesTheSamplesOfTheModel) {
  const GenerateOptions options = this->options("a");
  generate_clicks(options);
  const PlantedModel model({options.dense, parse_tables("small"), options.positive_rate, 1}, 1);
  const dataset::ClickFile test(options.output + "/test.bin");
  std::vector<std::int32_t> found(40), drawn(40);
  for (const std::int64_t index : {0, 1234, 2999}) {
    test.read(index, 1, found);
    model.draw(ClickSplit::kTest, index, drawn);
    EXPECT_EQ(found, drawn) << index;
  }
}

TEST_F(GenerateClicks, TellsWhatCanBeReached) {
  GenerateOptions options = this->options("a");
  options.test_samples = 60'000;
  const GenerateResult result = generate_clicks(options);
  EXPECT_NEAR(result.bayes_auc, 0.827, 0.004);
  EXPECT_NEAR(result.entropy_floor, 0.421, 0.004);
  const nlohmann::json found = manifest(options);
  EXPECT_EQ(found["samples"], 5000);
  EXPECT_EQ(found["seed"], 1);
  EXPECT_EQ(found["positive_rate"], 0.25);
  EXPECT_EQ(found["tables"].get<std::vector<std::int64_t>>(), parse_tables("small"));
  EXPECT_EQ(found["bayes_auc"], result.bayes_auc);
  EXPECT_EQ(found["entropy_floor"], result.entropy_floor);
  EXPECT_NEAR(found["bias"].get<double>(), -1.423, 0.012);
  EXPECT_NEAR(found["click_rates"]["test"].get<double>(), 0.25, 0.01);
  const std::string bytes = file(options, "train.bin");
  std::int64_t clicks = 0;
  for (std::size_t at = 0; at < bytes.size(); at += 160) clicks += bytes[at];
  EXPECT_EQ(found["clicks"]["train"], clicks);
}

TEST_F(GenerateClicks, DependsOnTheSeedAndNotOnThreads) {
  expect_files_of_the_seed();
  EXPECT_NE(file(options("one"), "train.bin").substr(0, 160),
            file(options("one"), "test.bin").substr(0, 160));
}

TEST_F(GenerateClicks, BeginsALargerFileLikeASmallerOne) {
  GenerateOptions more = options("more");
  more.samples = 7000;
  generate_clicks(options("a"));
  generate_clicks(more);
  EXPECT_EQ(file(more, "train.bin").substr(0, 5000 * 160), file(options("a"), "train.bin"));
}

TEST_F(GenerateClicks, LeavesAFinishedDatasetAlone) {
  const auto [first, second] = generate_twice();
  EXPECT_EQ(second.bayes_auc, first.bayes_auc);
}

TEST_F(GenerateClicks, ContinuesWhatWasInterrupted) {
  generate_clicks(options("whole"));
  for (const std::int64_t left : {0, 7, 160, 160 * 4097 + 5, 160 * 5000}) {
    // What an interrupted run leaves: truncated files, a manifest without results.
    const std::string part = options("a").output + ".part";
    fs::create_directory(part);
    nlohmann::json begun = manifest(options("whole"));
    for (const char* key :
         {"bytes", "bias", "clicks", "click_rates", "bayes_auc", "entropy_floor"}) {
      ASSERT_EQ(begun.erase(key), 1u);
    }
    folder_.write("a.part/manifest.json", begun.dump());
    // A mark in the first record shows whether it was kept.
    std::string cut = file(options("whole"), "train.bin").substr(0, static_cast<std::size_t>(left));
    if (left >= 160) cut[4] = static_cast<char>(cut[4] + 1);
    folder_.write("a.part/train.bin", cut);
    folder_.write("a.part/test.bin", file(options("whole"), "test.bin").substr(0, 321));

    generate_clicks(options("a"));
    std::string expected = file(options("whole"), "train.bin");
    if (left >= 160) expected[4] = static_cast<char>(expected[4] + 1);
    EXPECT_EQ(file(options("a"), "train.bin"), expected) << left;
    EXPECT_EQ(file(options("a"), "test.bin"), file(options("whole"), "test.bin"));
    EXPECT_EQ(manifest(options("a")), manifest(options("whole"))) << left;
    fs::remove_all(options("a").output);
  }
}

TEST_F(GenerateClicks, StartsOverWhenTheInterruptedRunWasAnother) {
  expect_new_start([](auto& o) { o.seed = 9; });
}

TEST_F(GenerateClicks, RefusesToTouchAnythingElse) {
  expect_untouched([](auto& o) { o.dense = 4; });
}

TEST_F(GenerateClicks, RefusesOptionsOutOfRange) {
  EXPECT_THAT(refusal([](auto& o) { o.samples = 0; }), HasSubstr("--samples: must be 1 to"));
  EXPECT_THAT(refusal([](auto& o) { o.test_samples = 1; }), HasSubstr("--test-samples: must be 2"));
  EXPECT_THAT(refusal([](auto& o) { o.validation_samples = -1; }), HasSubstr("--validation-sam"));
  EXPECT_THAT(refusal([](auto& o) { o.positive_rate = 1.5; }), HasSubstr("--positive-rate: must"));
  EXPECT_THAT(refusal([](auto& o) { o.tables = {3, -1}; }), HasSubstr("--tables: a size must"));
  EXPECT_THAT(refusal([](auto& o) { o.dense = 0; }), HasSubstr("--dense: must be 1 to"));
  EXPECT_THAT(refusal([](auto& o) { o.output = ""; }), HasSubstr("--output"));
}

TEST_F(GenerateClicks, WritesRecordsOfOtherShapes) {
  GenerateOptions few = options("a");
  few.dense = 3;
  few.tables = {3, 5, 2};
  few.validation_samples = 0;
  generate_clicks(few);
  EXPECT_FALSE(fs::exists(few.output + "/val.bin"));
  const dataset::ClickFile train(few.output + "/train.bin", {3, 3});
  EXPECT_EQ(train.samples(), 5000);
  std::vector<std::int32_t> records(5000 * 7);
  train.read(0, 5000, records);
  dataset::ClickBatch batch;
  EXPECT_NO_THROW(dataset::decode_clicks(train.path(), train.format(), 0, records, {{3, 5, 2}, 0},
                                         5000, batch));
  for (const auto& [table, rows] : {std::pair(0, 3), std::pair(1, 5), std::pair(2, 2)}) {
    const auto ids = std::span(batch.ids).subspan(static_cast<std::size_t>(table) * 5000, 5000);
    EXPECT_EQ(*std::max_element(ids.begin(), ids.end()), rows - 1);
    EXPECT_EQ(*std::min_element(ids.begin(), ids.end()), 0);
  }
}

TEST_F(GenerateClicks, PlansWithoutWriting) {
  EXPECT_EQ(planned(options("a")).first["bytes"], 9000 * 160);
}

TEST_F(GenerateClicks, TakesItsOptionsFromTheCommandLine) {
  const std::string output = options("cli").output;
  const nlohmann::json report =
      reported(output + " --samples 30 --test-samples 20 --validation-samples 10 --tables 4,7 " +
               "--dense 2 --positive-rate 0.1 --seed 4 --threads 1");
  EXPECT_EQ(report["bytes"], 60 * 20);
  EXPECT_EQ(dataset::ClickFile(output + "/train.bin", {2, 2}).samples(), 30);
  EXPECT_EQ(manifest(options("cli"))["positive_rate"], 0.1);
}

TEST(ParseTables, KnowsNamesCapsAndLists) {
  EXPECT_THAT(parse_tables("3,5,2"), ElementsAre(3, 5, 2));
  EXPECT_THAT(parse_tables("small"), SizeIs(26));
  const auto criteo = parse_tables("criteo");
  ASSERT_THAT(criteo, SizeIs(26));
  std::int64_t sum = 0;
  for (const std::int64_t rows : criteo) sum += rows;
  EXPECT_EQ(sum, 187'767'399);
  const auto capped = parse_tables("capped:2000");
  for (std::size_t i = 0; i < 26; ++i) {
    EXPECT_EQ(capped[i], std::min<std::int64_t>(criteo[i], 2000));
  }
  for (const char* bad :
       {"", "3,,2", "3,5,", "capped:", "capped:0", "capped:2k", "4x", "-3", "0"}) {
    EXPECT_THAT(base::thrown_message<base::ConfigError>([&] { parse_tables(bad); }),
                HasSubstr(std::string("got '") + bad + "'"));
  }
}

}  // namespace
}  // namespace dlrm
