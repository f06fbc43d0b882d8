// Tests that the program refuses bad click logs and configurations with the right message and exit
// code, on one rank and on two.
#include <gmock/gmock.h>

#include <limits>

#include "staging/h5.h"
#include "workloads/dlrm/click_run.h"
#include "workloads/dlrm/model.h"
#include "workloads/exit_codes.h"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using outside::content;
using outside::Ended;
using outside::kData;
using outside::kTargetMissed;
using outside::kUsage;
using outside::mpirun;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using BadClicks = outside::ClickRun;

TEST_F(BadClicks, IdBeyondItsTable) {
  put(file("train"), 41, kFirstId + 2, 200);
  expect_everywhere(kData, AllOf(HasSubstr("data/train.bin: record 41"), HasSubstr("200")));
}

TEST_F(BadClicks, NegativeIdInTheTestFile) {
  put(file("test"), 20, kFirstId + 4, -1);
  expect_everywhere(kData, AllOf(HasSubstr("data/test.bin: record 20"), HasSubstr("-1")));
}

TEST_F(BadClicks, IdsWithinTheirTablesByARange) {
  put(file("train"), 41, kFirstId + 2, 203);
  const Ended ended = run([](json& c) { c["dataset"]["max_ind_range"] = 3; });
  expect(ended, kTargetMissed, HasSubstr("the target 1.5 was not reached"));
}

TEST_F(BadClicks, LabelThatIsNeitherZeroNorOne) {
  put(file("train"), 0, 0, 2);
  expect_everywhere(
      kData, AllOf(HasSubstr("data/train.bin: record 0"), HasSubstr("label"), HasSubstr("2")));
}

TEST_F(BadClicks, NegativeCount) {
  put(file("train"), 59, 1, -3);
  expect_everywhere(kData, AllOf(HasSubstr("data/train.bin: record 59"), HasSubstr("-3")));
}

TEST_F(BadClicks, FileThatEndsWithinARecord) {
  fs::resize_file(file("train"), fs::file_size(file("train")) - 4);
  expect_everywhere(kData, AllOf(HasSubstr("data/train.bin: "), HasSubstr("44-byte records")));
}

TEST_F(BadClicks, RecordsOfAnotherSize) {
  const auto more = [](json& c) { c["model"]["tables"] = "50,7,200,3,31,9"; };
  expect_everywhere(more, kData, AllOf(HasSubstr("data/test.bin: "), HasSubstr("48-byte records")));
}

TEST_F(BadClicks, EmptyFile) {
  fs::resize_file(file("test"), 0);
  expect_everywhere(kData, HasSubstr("data/test.bin: "));
}

TEST_F(BadClicks, MissingFile) {
  const auto nowhere = [](json& c) { c["dataset"]["test"] = "/nothing/test.bin"; };
  expect_everywhere(nowhere, kData, HasSubstr("/nothing/test.bin: "));
}

TEST_F(BadClicks, FewerSamplesThanConfigured) {
  const auto counted = [](json& c) {
    c["dataset"]["train_samples"] = 61;
    c["dataset"]["test_samples"] = kTestSamples;
  };
  expect_everywhere(
      counted, kData,
      HasSubstr("data/train.bin: /dataset/train_samples: expected 61 samples, found 60"));
}

TEST_F(BadClicks, FileThatLosesItsEndAfterTheStart) {
  // With configured counts, files stay closed until they are needed.
  const auto counted = [](json& c) {
    c["dataset"]["train_samples"] = kTrainSamples;
    c["dataset"]["test_samples"] = kTestSamples;
  };
  fs::resize_file(file("test"), fs::file_size(file("test")) - 44);
  expect_everywhere(
      counted, kData,
      HasSubstr("data/test.bin: /dataset/test_samples: expected 21 samples, found 20"));
}

TEST_F(BadClicks, TestFileWithoutAClick) {
  for (int record = 0; record < kTestSamples; ++record) put(file("test"), record, 0, 0);
  expect_everywhere(kData, AllOf(HasSubstr("data/test.bin: expected samples with and without a "
                                           "click, found 0 with and 21 without"),
                                 Not(HasSubstr("rank 1: "))));
}

TEST_F(BadClicks, TableThatFitsNoRank) {
  // 200 rows of 40 floats are 32,000 bytes; a part has at least 16 columns, 12,800 bytes, or the
  // last 8.
  const auto little = [](json& c) { c["embeddings"]["memory_limit_gib"] = 0.00001; };  // 10,737
  expect_everywhere(
      little, kUsage,
      AllOf(HasSubstr("table placement: table \"emb_l.2.weight\" [200, 40]: "),
            HasSubstr("of 10737 bytes each"), HasSubstr(" lacks "), Not(HasSubstr("rank 1: "))));
}

TEST_F(BadClicks, MoreRanksThanSamplesOfABatch) {
  const Ended ended = run([](json& c) { c["training"]["global_batch_size"] = 2; }, mpirun(3));
  expect(ended, kUsage, AllOf(HasSubstr("got 2 samples for 3 ranks"), Not(HasSubstr("rank 1: "))));
}

/// Five tables of one column are on at most five of eight ranks.
TEST_F(BadClicks, MoreRanksThanColumnsIsNoFault) {
  const auto narrow = [](json& c) {
    c["model"]["embedding_width"] = 1;
    c["model"]["bottom"] = {24, 1};
  };
  const Ended ended = run(narrow, mpirun(8));
  expect(ended, kTargetMissed, HasSubstr("the target 1.5 was not reached"));
  const auto losses = logged("train_loss");
  ASSERT_EQ(run(narrow).status, kTargetMissed);
  const auto of_one = logged("train_loss", 2);
  ASSERT_EQ(losses.size(), 2U);
  for (std::size_t i = 0; i < losses.size(); ++i) {
    EXPECT_NEAR(losses[i], of_one.at(i), 1e-5);
  }
}

TEST_F(BadClicks, RateThatDiverges) {
  for (const std::string& before : {std::string(), mpirun(2)}) {
    const Ended ended = run([](json& c) { c["schedule"]["learning_rate"] = 1e300; }, before);
    expect(ended, kTargetMissed, HasSubstr("the loss is not finite at step "));
    EXPECT_TRUE(all_end());
  }
  EXPECT_THAT(content(result("1.txt")), HasSubstr("\"status\": \"aborted\""));
}

/// Writes a file of weights for the configuration's model, all of them `value`.
std::string write_weights(const json& config, const fs::path& path, float value) {
  const base::ObjectReader reader(config["model"], "test.json");
  const dlrm::ModelConfig model = dlrm::parse_model(reader);
  staging::H5StateWriter writer(path.string());
  const auto write = [&](const std::string& name, const std::vector<std::int64_t>& shape) {
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) count *= extent;
    writer.write(name, shape, std::vector<float>(static_cast<std::size_t>(count), value));
  };
  const nn::Network network = dlrm::build_network(model);
  for (const nn::ParameterSpec& spec : network.parameters()) {
    write(spec.name, spec.shape);
  }
  for (const parallel::TableSpec& spec : dlrm::table_specs(model)) {
    write(spec.name, {spec.rows, spec.width});
  }
  writer.finish();
  return path.string();
}

TEST_F(BadClicks, WeightsThatAreNotNumbers) {
  const std::string weights =
      write_weights(config(), folder_ / "nan.h5", std::numeric_limits<float>::quiet_NaN());
  const std::string outputs = (folder_ / "outputs.h5").string();
  for (const std::string& before : {std::string(), mpirun(2)}) {
    const Ended ended = evaluate(config(), weights, "--outputs " + outputs, before);
    expect(ended, kData,
           AllOf(HasSubstr("nan.h5: with these weights the quality is not finite; the outputs are "
                           "in " +
                           outputs),
                 Not(HasSubstr("rank 1: "))));
    const auto values = staging::H5StateReader(outputs).read("outputs", {kTestSamples, 1});
    EXPECT_TRUE(std::ranges::all_of(values, [](float value) { return std::isnan(value); }));
    fs::remove(outputs);
    EXPECT_TRUE(all_end());
  }
}

TEST_F(BadClicks, WeightsOfOtherTables) {
  json other = config();
  other["model"]["tables"] = "50,7,199,3,31";
  const std::string weights = write_weights(other, folder_ / "other.h5", 0.5F);
  for (const std::string& before : {std::string(), mpirun(2)}) {
    expect(evaluate(config(), weights, "", before), kData,
           HasSubstr("other.h5: emb_l.2.weight: expected floating point of shape [200, 40], found "
                     "float32 of shape [199, 40]"));
    EXPECT_TRUE(all_end());
  }
}

}  // namespace
