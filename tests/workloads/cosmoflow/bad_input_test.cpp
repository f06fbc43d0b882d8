// Tests of user errors with universes: message and exit code of the program, on one rank and on
// two.
#include <gmock/gmock.h>

#include <limits>

#include "workloads/cosmoflow/universe_run.h"
#include "workloads/exit_codes.h"

namespace {

namespace fs = std::filesystem;
using dataset::UniverseFormat;
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

class BadUniverses : public outside::UniverseRun {};

TEST_F(BadUniverses, MissingFolders) {
  for (const char* part : {"train", "validation"}) {
    const auto nowhere = [&](json& c) { c["dataset"][part] = "/nothing/here"; };
    expect_everywhere(nowhere, kData, HasSubstr("/nothing/here: cannot be listed: No such file"));
  }
}

TEST_F(BadUniverses, FolderWithSomethingElse) {
  std::ofstream(set("train") / "readme.txt") << "hello";
  expect_everywhere(
      kData, HasSubstr("data/train: expected sample files (.hdf5, .h5, .tfrecord, "
                       "each also in .gz, .zst, .lz4) and nothing else, found 'readme.txt'"));
}

TEST_F(BadUniverses, FolderWithoutSamples) {
  fs::remove_all(set("validation"));
  fs::create_directories(set("validation"));
  expect_everywhere(kData, AllOf(HasSubstr("data/validation: "), HasSubstr("found none")));
}

TEST_F(BadUniverses, SamplesOfAnotherSize) {
  const auto larger = [](json& c) { c["model"]["size"] = 16; };
  expect_everywhere(larger, kData,
                    HasSubstr(".hdf5: x: expected int16 of shape [16, 16, 16, 4], found int16 of "
                              "shape [8, 8, 8, 4]"));
  const auto fewer = [](json& c) { c["model"]["redshifts"] = 2; };
  expect_everywhere(fewer, kData, HasSubstr("expected int16 of shape [8, 8, 8, 2]"));
}

TEST_F(BadUniverses, OneSampleOfAnotherSize) {
  for (const auto format : {UniverseFormat::kHdf5, UniverseFormat::kTfrecord}) {
    const fs::path path = replace("train", 7, encode_universe(universe(16), format), format);
    expect_in_place(kData, AllOf(HasSubstr(path.string() + ": "), HasSubstr("x: expected ")));
  }
}

TEST_F(BadUniverses, TargetThatIsNoNumber) {
  dataset::Universe bad = universe();
  bad.targets[2] = std::numeric_limits<float>::quiet_NaN();
  for (const auto format : {UniverseFormat::kHdf5, UniverseFormat::kTfrecordGzip}) {
    const fs::path path = replace("validation", 3, encode_universe(bad, format), format);
    expect_everywhere(
        kData, HasSubstr(path.string() + ": target 2: expected a number from -1.5 to 1.5, found "
                                         "nan"));
  }
}

TEST_F(BadUniverses, NegativeCount) {
  dataset::Universe bad = universe();
  bad.counts[1000] = -7;
  const fs::path path = replace("train", 2, encode_universe(bad, UniverseFormat::kTfrecord),
                                UniverseFormat::kTfrecord);
  expect_everywhere(kData, AllOf(HasSubstr(path.string() + ": "), HasSubstr("-7")));
}

TEST_F(BadUniverses, FilesThatEndEarly) {
  for (const auto format :
       {UniverseFormat::kHdf5, UniverseFormat::kTfrecord, UniverseFormat::kTfrecordGzip}) {
    std::vector<std::byte> bytes = encode_universe(universe(), format);
    bytes.resize(bytes.size() / 2);
    const fs::path half = replace("train", 5, bytes, format);
    expect_in_place(kData, HasSubstr(half.string() + ": "));
    const fs::path empty = replace("train", 5, {}, format);
    expect_everywhere(kData, HasSubstr(empty.string() + ": "));
  }
}

TEST_F(BadUniverses, CompressedFileThatIsDamaged) {
  std::vector<std::byte> bytes = encode_universe(universe(), UniverseFormat::kTfrecordGzip);
  bytes[bytes.size() / 2] ^= std::byte{0x10};
  const fs::path path = replace("validation", 0, bytes, UniverseFormat::kTfrecordGzip);
  expect_everywhere(kData, AllOf(HasSubstr(path.string() + ": "), HasSubstr("gzip")));
}

TEST_F(BadUniverses, RecordWhoseChecksumIsAnother) {
  std::vector<std::byte> bytes = encode_universe(universe(), UniverseFormat::kTfrecord);
  bytes[bytes.size() / 2] ^= std::byte{0x10};
  const fs::path path = replace("train", 0, bytes, UniverseFormat::kTfrecord);
  expect_everywhere(kData,
                    AllOf(HasSubstr(path.string() + ": "), HasSubstr("expected the checksum ")));
}

TEST_F(BadUniverses, FewerSamplesThanABatch) {
  const auto large = [](json& c) { c["training"]["global_batch_size"] = 13; };
  expect_everywhere(large, kUsage, HasSubstr("12 samples, fewer than its 13 places in a batch"));
  const auto counted = [](json& c) {
    c["training"]["global_batch_size"] = 13;
    c["dataset"]["train_samples"] = kTrainSamples;
  };
  expect_everywhere(counted, kUsage,
                    HasSubstr("/training/global_batch_size: expected at most the 12 training "
                              "samples, got 13"));
}

TEST_F(BadUniverses, OtherCountsThanConfigured) {
  const auto counts = [](int train, int validation) {
    return [=](json& c) {
      c["dataset"]["train_samples"] = train;
      c["dataset"]["validation_samples"] = validation;
    };
  };
  expect_everywhere(counts(kTrainSamples + 1, kValidationSamples), kData,
                    HasSubstr("data/train: /dataset/train_samples: expected 13 samples, found 12"));
  expect_everywhere(
      counts(kTrainSamples, kValidationSamples - 1), kData,
      HasSubstr("data/validation: /dataset/validation_samples: expected 4 samples, found 5"));
}

TEST_F(BadUniverses, PartsThatAreNoWholePairs) {
  for (const char* axis : {"depth", "height"}) {
    const auto thirds = [&](json& c) { c["training"]["sample_split"] = {{axis, 3}}; };
    expect_everywhere(thirds, kUsage,
                      HasSubstr("/training/sample_split: parts of a sample of 8 must be whole "
                                "pairs of voxels, got "));
  }
}

TEST_F(BadUniverses, PartsThatRanksCannotShare) {
  const auto quarters = [](json& c) { c["training"]["sample_split"] = {{"depth", 4}}; };
  expect_everywhere(
      quarters, kUsage,
      AllOf(HasSubstr("/training/sample_split: must divide "),
            HasSubstr(" ranks, got 4 parts of a sample"), Not(HasSubstr("rank 1: "))));
}

TEST_F(BadUniverses, PartsOfWhatIsDividedByItsMean) {
  const auto means = [](json& c) {
    c["dataset"]["apply_log"] = false;
    c["training"]["sample_split"] = {{"depth", 2}};
  };
  expect_everywhere(means, kUsage,
                    HasSubstr("/training/sample_split: needs /dataset/apply_log, as a part does "
                              "not know the mean"));
}

TEST_F(BadUniverses, MemoryThatIsTooLittle) {
  const auto little = [](json& c) { c["training"]["memory_limit_gib"] = 0.0001; };
  expect_everywhere(little, kUsage,
                    AllOf(HasSubstr("/training/memory_limit_gib: a rank needs "),
                          HasSubstr(" GiB with samples in 1 x 1 parts, expected at most 0.0001"),
                          Not(HasSubstr("rank 1: "))));
  const auto open = [&](json& c) {
    little(c);
    c["training"]["sample_split"] = {{"auto", true}};
  };
  expect_everywhere(
      open, kUsage,
      AllOf(HasSubstr("/training/sample_split: no number of parts suits "),
            HasSubstr(" more than 0.0001; the least is "), Not(HasSubstr("rank 1: "))));
}

TEST_F(BadUniverses, PrecisionThatTheCpuLacks) {
  const auto half = [](json& c) { c["training"]["precision"] = "bf16"; };
  expect_everywhere(half, kUsage,
                    HasSubstr("precision bf16: expected a CPU with avx512_bf16, this one offers "
                              "avx2; f32 runs everywhere"),
                    "TRAINMARK_MAX_ISA=avx2 ");
  const auto odd = [&](json& c) {
    half(c);
    c["model"]["redshifts"] = 3;
  };
  expect_everywhere(odd, kUsage,
                    HasSubstr("/training/precision: bf16 takes an even number of "
                              "/model/redshifts, got 3"));
}

TEST_F(BadUniverses, MoreRanksThanSamplesOfABatch) {
  const Ended ended = run([](json& c) { c["training"]["global_batch_size"] = 2; }, mpirun(3));
  expect(ended, kUsage, AllOf(HasSubstr("got 2 samples for 3 ranks"), Not(HasSubstr("rank 1: "))));
}

TEST_F(BadUniverses, RateThatDiverges) {
  for (const std::string& before : {std::string(), mpirun(2)}) {
    const Ended ended = run([](json& c) { c["schedule"]["learning_rate"] = 1e300; }, before);
    expect(ended, kTargetMissed, HasSubstr("the loss is not finite at step "));
    EXPECT_TRUE(all_end());
    EXPECT_THAT(content(result("1.txt")), HasSubstr("\"status\": \"aborted\""));
    fs::remove_all(folder_ / "results");
  }
}

}  // namespace
