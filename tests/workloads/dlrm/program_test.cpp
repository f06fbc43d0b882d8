// Tests of whole runs of the program: outputs, resumed runs, the rules for its logs, and tables
// that do not fit one rank.
#include <gmock/gmock.h>

#include "staging/h5.h"
#include "workloads/dlrm/click_run.h"
#include "workloads/exit_codes.h"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using outside::content;
using outside::Ended;
using outside::kData;
using outside::kSystem;
using outside::kTargetMissed;
using outside::kUsage;
using outside::mpirun;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using Dlrm = outside::ClickRun;

TEST_F(Dlrm, WritesOutputsInTheOrderOfTheFileOnAnyNumberOfRanks) {
  ASSERT_EQ(run([](json&) {}).status, kTargetMissed);
  std::vector<std::vector<float>> outputs;
  for (const int ranks : {1, 3}) {
    const std::string path = (folder_ / ("outputs" + std::to_string(ranks) + ".h5")).string();
    const Ended ended =
        evaluate(config(), result("1.weights.h5"), "--outputs " + path, mpirun(ranks));
    ASSERT_EQ(ended.status, 0) << ended.err;
    EXPECT_THAT(ended.out, HasSubstr("RESULT benchmark=dlrm metric=eval_accuracy value=0."));
    outputs.push_back(staging::H5StateReader(path).read("outputs", {kTestSamples, 1}));
  }
  for (std::size_t i = 0; i < outputs[0].size(); ++i) {
    EXPECT_NEAR(outputs[0][i], outputs[1][i], 1e-5F) << "sample " << i;
  }
}

TEST_F(Dlrm, RefusesOptionsOfABenchThatAreAnothersWhateverTheirValue) {
  expect(bench("resnet50 --alltoall alltoall"), kUsage,
         HasSubstr("bench resnet50: --alltoall means nothing here, only to dlrm"));
  expect(bench("resnet50 --config small"), kUsage, HasSubstr("--config means nothing here"));
  expect(bench("dlrm --image-size 224"), kUsage,
         HasSubstr("bench dlrm: --image-size means nothing here, only to resnet50, alexnet"));
  EXPECT_THAT(bench("resnet50 --help").out, HasSubstr("height and width of the input"));
  EXPECT_THAT(bench("dlrm --help").out, HasSubstr("how outputs go between ranks"));
}

TEST_F(Dlrm, TellsWhatAClosedSubmissionMustNotChoose) {
  json closed = config();
  closed["submission"]["division"] = "closed";
  const auto breaks = [&](const json& object) { return plan(object)["rules"]["findings"].dump(); };
  EXPECT_THAT(breaks(closed), HasSubstr("the closed division trains all rows of criteo's tables"));
  closed["submission"]["division"] = "open";
  EXPECT_THAT(breaks(closed), Not(HasSubstr("criteo's tables")));
}

TEST_F(Dlrm, EvaluatesWithoutTheTrainingFile) {
  ASSERT_EQ(run([](json&) {}).status, kTargetMissed);
  const Ended before = evaluate(config(), result("1.weights.h5"), "--json -");
  ASSERT_EQ(before.status, 0) << before.err;
  fs::remove(file("train"));
  const Ended after = evaluate(config(), result("1.weights.h5"), "--json -");
  ASSERT_EQ(after.status, 0) << after.err;
  EXPECT_EQ(json::parse(after.out)["value"], json::parse(before.out)["value"]);
  EXPECT_EQ(json::parse(after.out)["samples"], kTestSamples);
}

/// Evaluates after the second and the fourth step of an epoch, and saves every three steps.
void save_and_evaluate(json& c) {
  c["evaluation"]["per_epoch"] = 2;
  c["checkpoint"] = {{"every_steps", 3}, {"keep_last", 9}};
}

TEST_F(Dlrm, EndsInTheSameBitsWhenResumed) {
  ASSERT_EQ(run(save_and_evaluate, mpirun(2)).status, kTargetMissed);
  const auto evaluations = logged_at("eval_accuracy");
  ASSERT_EQ(evaluations.size(), 4U);
  int number = 1;
  for (const char* name : {"checkpoint_0001_step_3.h5", "checkpoint_0002_step_6.h5"}) {
    const Ended resumed = run(save_and_evaluate, mpirun(2), resume_from(name));
    ASSERT_EQ(resumed.status, kTargetMissed) << resumed.err;
    EXPECT_EQ(content(result(std::to_string(++number) + ".weights.h5")),
              content(result("1.weights.h5")));
    const auto later = logged_at("eval_accuracy", number);
    const auto last = static_cast<std::ptrdiff_t>(later.size());
    EXPECT_EQ(later, std::vector(evaluations.end() - last, evaluations.end()));
    EXPECT_EQ(last, number == 2 ? 3 : 1);
  }
}

TEST_F(Dlrm, GoesOnOnAnotherNumberOfRanks) {
  ASSERT_EQ(run(save_and_evaluate, mpirun(3)).status, kTargetMissed);
  int number = 1;
  for (const int ranks : {1, 4}) {
    const Ended resumed =
        run(save_and_evaluate, mpirun(ranks), resume_from("checkpoint_0001_step_3.h5"));
    ASSERT_EQ(resumed.status, kTargetMissed) << resumed.err;
    EXPECT_THAT(resumed.err, HasSubstr("the last bits will differ"));
    const auto expected = logged("train_loss"), found = logged("train_loss", ++number);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_NEAR(found[i], expected[i], 1e-5);
    }
  }
}

TEST_F(Dlrm, EvaluatesACheckpointOfTablesThatWereCut) {
  ASSERT_EQ(run(save_and_evaluate, mpirun(3)).status, kTargetMissed);
  const Ended ended =
      evaluate(config(), result("1.checkpoints/checkpoint_0002_step_6.h5"), "--json -");
  ASSERT_EQ(ended.status, 0) << ended.err;
  EXPECT_NEAR(json::parse(ended.out)["value"], logged("eval_accuracy")[2], 1e-9);
}

TEST_F(Dlrm, RefusesToResumeWithOtherMathematics) {
  ASSERT_EQ(run(save_and_evaluate).status, kTargetMissed);
  const auto resumed = [this](const json& embeddings) {
    return run(
        [&](json& c) {
          save_and_evaluate(c);
          c["embeddings"] = embeddings;
        },
        "", "--resume");
  };
  expect(resumed({{"storage", "split_bf16"}}), kData,
         HasSubstr("/embeddings/storage: expected \"f32\", found \"split_bf16\""));
  expect(resumed({{"alltoall", "scatter"}, {"memory_limit_gib", 1}}), kTargetMissed,
         Not(HasSubstr("found")));
}

/// A configuration for a submission that follows the rules, except that the model misses the
/// target.
void as_submitted(json& c) {
  c["epochs"] = 1;
  c.erase("target");
  c["submission"] = {{"division", "closed"}, {"org", "someone"}, {"platform", "some machine"}};
  c["evaluation"]["per_epoch"] = 20;
  c["training"]["global_batch_size"] = 3;
  c["model"]["bottom"] = {24, 32, 40};
  c["model"]["top"] = {32, 32, 16, 16, 1};
  c["schedule"] = {{"name", "delayed_polynomial"},
                   {"learning_rate", 0.01},
                   {"warmup_steps", 4},
                   {"decay_start_step", 8},
                   {"decay_steps", 8}};
}

TEST_F(Dlrm, BreaksNoRuleButThatOfTheTarget) {
  ASSERT_EQ(run(as_submitted, mpirun(2)).status, kTargetMissed);
  const auto evaluations = logged_at("eval_accuracy");
  ASSERT_EQ(evaluations.size(), 20U);
  EXPECT_DOUBLE_EQ(evaluations.front().first, 1.05);
  EXPECT_EQ(evaluations.back().first, 2.0);
  for (const char* round : {"training-1.0", "training-1.1", "training-2.0", "training-2.1"}) {
    EXPECT_THAT(broken_rules(round), ElementsAre("closed_dlrm/eval_accuracy/once")) << round;
  }
  EXPECT_THAT(logged("config_filename"), ElementsAre("config.json"));
  EXPECT_THAT(logged("lowest_numerical_precision_in_comm"), ElementsAre("fp32"));
  EXPECT_THAT(logged("tensor_parallelism"), ElementsAre(2));
}

TEST_F(Dlrm, IsValidInTheOpenDivision) {
  const auto open = [](json& c) {
    as_submitted(c);
    c["submission"]["division"] = "open";
    c["target"] = {{"quality", 0.01}};
  };
  ASSERT_EQ(run(open).status, 0);
  const Ended checked =
      shell(std::string(TRAINMARK) + " check --round training-2.1 " + result("1.txt").string());
  EXPECT_EQ(checked.status, 0) << checked.out;
  EXPECT_THAT(checked.out, HasSubstr("1 SUCCESS, 0 FAIL\n"));
  expect_verdict_of_check();
}

TEST_F(Dlrm, TrainsOnTwoRanksWhatOneHasNoRoomFor) {
  const auto limited = [](json& c) {
    c["embeddings"]["memory_limit_gib"] = 30000.0 / (1024.0 * 1024.0 * 1024.0);
  };
  // 291 rows of 40 floats are 46,560 bytes.
  expect(run(limited), kUsage,
         AllOf(HasSubstr("table placement: table \"emb_l."), HasSubstr(" lacks ")));
  EXPECT_FALSE(fs::exists(result("1.txt")));
  expect(run(limited, mpirun(2)), kTargetMissed, HasSubstr("the target 1.5 was not reached"));
}

#ifndef __SANITIZE_ADDRESS__  // which reserves more than any limit
/// 32 tables of 32 MB are a gigabyte; the address space has room for two thirds of it, in addition
/// to the 0.6 GB that the program itself reserves.
TEST_F(Dlrm, TrainsOnTwoRanksWhatTheMemoryOfOneRefuses) {
  constexpr int kLargeTables = 32;
  std::string rows = "125000";
  for (int i = 1; i < kLargeTables; ++i) rows += ",125000";
  const Ended made = generate(
      "large", "--samples 32 --test-samples 16 --validation-samples 0 --dense 5 --tables " + rows);
  ASSERT_EQ(made.status, 0) << made.err;
  json object = config();
  object["dataset"] = {{"train", (folder_ / "large/train.bin").string()},
                       {"test", (folder_ / "large/test.bin").string()}};
  object["model"]["tables"] = rows;
  object["model"]["embedding_width"] = 128;
  object["model"]["bottom"] = {24, 128};
  // The tables take 2,000,000 KiB, half of that on each of two ranks. All else takes 300,000 KiB
  // before them and 700,000 KiB at most; each further arena of malloc, up to one a thread, 65,536.
  const std::string limited =
      "sh -c 'ulimit -v 2000000; exec " TRAINMARK " run " + saved(object) + "'";
  expect(shell(mpirun(1) + limited), kSystem,
         AllOf(HasSubstr("table emb_l."), HasSubstr("125000 rows of 128 columns need 64000000"),
               HasSubstr("memory")));
  EXPECT_TRUE(all_end());
  expect(shell(mpirun(2) + limited), kTargetMissed, HasSubstr("the target 1.5 was not reached"));
}
#endif

}  // namespace
