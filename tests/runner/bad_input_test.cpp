// User errors, each with its message and exit code, given to the program itself. (Damaged logs and
// archives byte by byte: tests/fuzz.)
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "launch_with_faults.h"
#include "runner/small_run.h"
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
using testing::HasSubstr;
using testing::Not;

using BadInput = outside::SmallRun;

TEST_F(BadInput, MissingPath) {
  for (const std::string& before : {std::string(), mpirun(2)}) {
    const Ended ended = run([](json& c) { c["dataset"]["train"] = "/nothing/here"; }, before);
    expect(ended, kData,
           HasSubstr("/nothing/here: expected a folder or tar archive, found nothing"));
    expect(run([](json& c) { c["dataset"]["train"] = "/nothing/here"; }, before, "--rules off"),
           kData, HasSubstr("/nothing/here: expected a folder or tar archive, found nothing"));
    EXPECT_FALSE(fs::exists(folder_ / "results")) << "no log is begun";
  }
  expect(shell(TRAINMARK " run /nothing/run.json"), kUsage,
         HasSubstr("trainmark: /nothing/run.json: cannot"));
}

TEST_F(BadInput, EmptyClassFolder) {
  fs::create_directory(folder_ / "data/train/empty");
  const Ended ended = run([](json& c) { c["model"]["classes"] = 3; });
  expect(ended, kData, HasSubstr("data/train: class folder 'empty' has no images"));
}

TEST_F(BadInput, TruncatedJpeg) {
  const fs::path image = an_image();
  fs::resize_file(image, fs::file_size(image) / 2);
  expect(run([](json&) {}), kData, HasSubstr(image.filename().string() + ": "));
  const Ended skipping = run([](json& c) { c["dataset"]["on_corrupt"] = "skip"; });
  expect(skipping, kTargetMissed, HasSubstr("the target 0.759 was not reached"));
  const json telemetry = json::parse(content(result("2.telemetry.json")));
  EXPECT_EQ(telemetry["ranks"][0]["counters"]["skipped_samples"], 1) << telemetry;
}

TEST_F(BadInput, AnOddImageCountsOnceInThreeEpochs) {
  const fs::path cut = an_image();
  fs::resize_file(cut, fs::file_size(cut) / 2);
  const fs::path flawed = last_image("data/validation");
  std::string bytes = content(flawed);
  bytes.insert(bytes.size() - 2, std::string(245, '\x11'));
  std::ofstream(flawed, std::ios::binary) << bytes;
  const Ended ended = run([](json& c) {
    c["dataset"]["on_corrupt"] = "skip";
    c["epochs"] = 3;
  });
  expect(ended, kTargetMissed,
         AllOf(HasSubstr("no pixel is missing"), Not(HasSubstr("more such"))));
  const json telemetry = json::parse(content(result("1.telemetry.json")));
  EXPECT_EQ(telemetry["ranks"][0]["counters"]["skipped_samples"], 1);
  EXPECT_EQ(telemetry["ranks"][0]["counters"]["flawed_samples"], 1);
}

TEST_F(BadInput, StrayBytesBeforeTheEndMarkAreReported) {
  const fs::path image = an_image();
  std::string bytes = content(image);
  bytes.insert(bytes.size() - 2, std::string(245, '\x11'));
  std::ofstream(image, std::ios::binary) << bytes;
  expect(run([](json&) {}), kTargetMissed,
         AllOf(HasSubstr("WARNING: "), HasSubstr(image.filename().string() + ": "),
               HasSubstr("extraneous bytes before marker 0xd9; no pixel is missing")));
  const json telemetry = json::parse(content(result("1.telemetry.json")));
  EXPECT_EQ(telemetry["ranks"][0]["counters"]["flawed_samples"], 1) << telemetry;
  EXPECT_EQ(telemetry["ranks"][0]["counters"]["skipped_samples"], 0);
  EXPECT_THAT(telemetry["provenance"]["remarks"][0].get<std::string>(),
              HasSubstr("no pixel is missing"));
}

TEST_F(BadInput, DamagedStagedCopyIsReplacedByItsSource) {
  const auto keeps = [](json& c) { c["staging"]["keep"] = true; };
  json config_that_keeps = config();
  keeps(config_that_keeps);
  ASSERT_EQ(shell(TRAINMARK " stage " + saved(config_that_keeps)).status, 0);
  for (const auto& entry : fs::recursive_directory_iterator(folder_ / "near")) {
    if (entry.path().filename() != "pack-00000000") continue;
    std::fstream(entry.path(), std::ios::in | std::ios::out | std::ios::binary).put('?');
  }
  const Ended ended = run(keeps);
  expect(ended, kTargetMissed,
         AllOf(HasSubstr("pack-00000000: offset 0: "), HasSubstr("differ from what was staged"),
               HasSubstr("; repaired from ")));
  // No reader ever got the damaged bytes.
  fs::remove_all(folder_ / "near");
  expect(run(keeps), kTargetMissed, Not(HasSubstr("differ")));
  EXPECT_EQ(content(result("1.weights.h5")), content(result("2.weights.h5")));
}

TEST_F(BadInput, StageVerifiesTheCopiesThatAreThere) {
  const std::string stage = TRAINMARK " stage " + saved(config());
  ASSERT_EQ(shell(stage).status, 0);
  EXPECT_EQ(shell(stage + " --verify").status, 0);
  fs::path part;
  for (const auto& entry : fs::recursive_directory_iterator(folder_ / "near")) {
    if (entry.path().filename() == "pack-00000000") part = entry.path();
  }
  const auto flip = [&] {
    std::fstream(part, std::ios::in | std::ios::out | std::ios::binary).put('?');
  };
  flip();
  const Ended verified = shell(stage + " --verify");
  EXPECT_EQ(verified.status, kData) << verified.err;
  EXPECT_THAT(verified.out, HasSubstr("DAMAGED: " + part.string() + ": offset 0: "));
  ASSERT_EQ(shell(stage).status, 0);
  EXPECT_EQ(shell(stage + " --verify").status, 0);
  flip();
  const Ended again = shell(stage + " --json -");
  expect(again, 0, AllOf(HasSubstr("pack-00000000: offset 0: "), HasSubstr("; copied anew")));
  EXPECT_EQ(shell(stage + " --verify").status, 0);
}

TEST_F(BadInput, AFailedRunLeavesNoCopy) {
  const fs::path image = an_image();
  fs::resize_file(image, fs::file_size(image) / 2);
  expect(run([](json&) {}), kData, HasSubstr("damaged JPEG"));
  EXPECT_TRUE(fs::is_empty(folder_ / "near"));
}

TEST_F(BadInput, PipeInsteadOfAnImageOrOfWeights) {
  const fs::path image = an_image();
  fs::remove(image);
  ASSERT_EQ(::mkfifo(image.c_str(), 0600), 0);
  for (const std::string mode : {"stream", "shard"}) {
    expect(run([&](json& c) { c["staging"]["mode"] = mode; }), kData,
           HasSubstr(image.filename().string() + ": expected a regular file"));
  }
  const fs::path weights = folder_ / "weights.h5";
  ASSERT_EQ(::mkfifo(weights.c_str(), 0600), 0);
  expect(evaluate(config(), weights), kData, HasSubstr("weights.h5: expected a regular file"));
}

TEST_F(BadInput, TarCutInTheMiddle) {
  ASSERT_EQ(generate("tars", images(6) + " --tar").status, 0);
  const fs::path tar = folder_ / "tars/train.tar";
  fs::resize_file(tar, fs::file_size(tar) / 2 + 100);
  const Ended ended = run([&](json& c) { c["dataset"]["train"] = tar.string(); }, mpirun(2));
  expect(ended, kData, AllOf(HasSubstr("tars/train.tar: offset "), Not(HasSubstr("rank 1: "))));
}

TEST_F(BadInput, ConfigTypoAndWrongType) {
  expect(run([](json& c) { c["training"]["global_batchsize"] = 4; }), kUsage,
         AllOf(HasSubstr("/training/global_batchsize"), HasSubstr("global_batch_size")));
  expect(run([](json& c) { c["epochs"] = "ten"; }), kUsage,
         AllOf(HasSubstr("config.json: /epochs: must be an integer"), HasSubstr("ten")));
  expect(run([](json& c) { c["epochs"] = 1.5; }), kUsage, HasSubstr("1.5"));
  std::ofstream(folder_ / "cut.json") << R"({"workload": "resnet50", )";
  expect(shell(TRAINMARK " run " + (folder_ / "cut.json").string()), kUsage, HasSubstr("cut.json"));
  EXPECT_FALSE(fs::exists(folder_ / "results"));
}

TEST_F(BadInput, BatchThatDoesNotFitTheRanks) {
  const auto two = [](json& c) {
    c["training"] = {{"global_batch_size", 2}, {"bn_group_samples", 2}};
  };
  const Ended ended = run(two, mpirun(3));
  expect(ended, kUsage,
         AllOf(HasSubstr("rank 0: "), HasSubstr("got 2 samples for 3 ranks"),
               Not(HasSubstr("rank 1: "))));
}

TEST_F(BadInput, MoreRanksThanSamples) {
  ASSERT_EQ(generate("few", images(1)).status, 0);
  const auto few = [this](json& c) { c["dataset"]["train"] = (folder_ / "few/train").string(); };
  expect(run(few, mpirun(4)), kUsage,
         HasSubstr("has 2 samples, fewer than its 4 places in a batch of 4"));
}

TEST_F(BadInput, WeightsOfAnotherModel) {
  ASSERT_EQ(run([](json& c) { c["target"] = {{"quality", 0.001}}; }).status % kTargetMissed, 0);
  expect(evaluate(config(), an_image()), kData, HasSubstr("expected an HDF5 file"));
  json wider = config();
  wider["model"]["width"] = 16;
  expect(
      evaluate(wider, result("1.weights.h5")), kData,
      AllOf(HasSubstr("result_1.weights.h5: "), HasSubstr(": expected floating point of shape ["),
            HasSubstr("], found float32 of shape [")));
}

/// The only step's loss is finite; the weights after it are not.
TEST_F(BadInput, OneStepThatDiverges) {
  for (const std::string& before : {std::string(), mpirun(2)}) {
    const Ended ended = run(
        [](json& c) {
          c["training"]["global_batch_size"] = 12;
          c["schedule"]["learning_rate"] = 1e38;
        },
        before);
    expect(ended, kTargetMissed, HasSubstr("the quality is not finite after epoch 1/1"));
    EXPECT_THAT(ended.out, HasSubstr("value=none unit=s status=diverged quality=nan"));
    fs::remove_all(folder_ / "results");
  }
}

TEST_F(BadInput, LabelOutOfRange) {
  const fs::path flat = folder_ / "flat";
  fs::create_directory(flat);
  for (const char* name : {"a.jpg", "b.jpg"}) fs::copy(an_image(), flat / name);
  std::ofstream(folder_ / "labels.txt") << "1\n2\n";
  const Ended ended = run([&](json& c) {
    c["dataset"]["validation"] = flat.string();
    c["dataset"]["validation_labels"] = (folder_ / "labels.txt").string();
  });
  expect(ended, kData, HasSubstr("labels.txt: line 2: expected a label of 0 to 1, found 2"));
}

#ifndef __SANITIZE_ADDRESS__  // which reserves more than any limit
TEST_F(BadInput, ModelThatDoesNotFitTheMemoryOfOneRank) {
  json large = config();
  large["model"] = {{"depth", 152}, {"width", 256}, {"image_size", 32}, {"classes", 2}};
  // One command for both ranks: Open MPI 5.0.7's mpirun crashes on two that are joined by a colon.
  const Ended ended =
      shell(mpirun(2) +
            "sh -c 'test $" MPIEXEC_RANK " = 0 || ulimit -v 3000000; exec " TRAINMARK " run " +
            saved(large) + "'");
  expect(ended, kSystem,
         testing::ContainsRegex("rank 1: .*memory.*(Cannot allocate memory|refused)"));
  EXPECT_TRUE(all_end());
}
#endif

}  // namespace
