// Tests of samples in compressed files: the same as plain ones, in the same order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runner/base/temporary_directory.h"
#include "staging/dataset/climate_folder.h"
#include "staging/dataset/climates.h"
#include "staging/dataset/compressed.h"
#include "staging/dataset/universe_folder.h"
#include "staging/dataset/universes.h"

namespace dataset {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class CompressedSamples : public testing::Test {
 protected:
  std::string path() const { return folder_.path().string(); }
  void write(const std::string& name, const std::vector<std::byte>& bytes) const {
    folder_.write(name, text_of(bytes));
  }
  const base::TemporaryDirectory folder_;
};

TEST_F(CompressedSamples, OfUniversesAreReadWholeAndInPart) {
  int number = 0;
  for (const UniverseFormat format : kFormats) {
    for (const Compressor& one : compressors()) {
      if (format == UniverseFormat::kTfrecordGzip) continue;
      write(std::to_string(10 + number) + std::string(universe_extension(format)) + one.ending,
            one.compress(encode_universe(made_universe(kTiny, number), format)));
      ++number;
    }
  }
  const auto data = open_universes(path());
  ASSERT_EQ(data->size(), number);
  Universe got;
  for (int i = 0; i < number; ++i) {
    EXPECT_EQ(read_universe(*data, i, kTiny, nullptr, got), data->bytes(i));
    EXPECT_TRUE(same(got, made_universe(kTiny, i))) << data->name(i);
    for (const UniverseRegion& region : tiny_regions()) {
      EXPECT_EQ(read_universe(*data, i, kTiny, &region, got), data->bytes(i));
      EXPECT_TRUE(same(got, cut(made_universe(kTiny, i), region))) << data->name(i);
    }
  }
}

TEST_F(CompressedSamples, OfClimateAreRead) {
  int number = 0;
  for (const Compressor& one : compressors()) {
    write("data-" + std::to_string(number) + ".h5" + one.ending,
          one.compress(encode_climate(made_climate(kTinyClimate, number))));
    ++number;
  }
  const auto data = open_climate(path());
  ASSERT_EQ(data->size(), number);
  ClimateSample got;
  for (int i = 0; i < number; ++i) {
    EXPECT_EQ(read_climate(*data, i, kTinyClimate, got), data->bytes(i));
    EXPECT_TRUE(same(got, made_climate(kTinyClimate, i))) << data->name(i);
  }
}

TEST_F(CompressedSamples, AreRecognisedByContentNotByName) {
  write("data-0.h5", zstd(encode_climate(made_climate(kTinyClimate, 0))));
  write("data-1.h5.lz4", encode_climate(made_climate(kTinyClimate, 1)));
  write("data-2.h5.gz", lz4(encode_climate(made_climate(kTinyClimate, 2))));
  const auto data = open_climate(path());
  ClimateSample got;
  for (int i = 0; i < 3; ++i) {
    read_climate(*data, i, kTinyClimate, got);
    EXPECT_TRUE(same(got, made_climate(kTinyClimate, i))) << data->name(i);
  }
}

TEST_F(CompressedSamples, StateWhatTheyTakeExpanded) {
  const auto bytes = encode_climate(made_climate(kTinyClimate));
  for (const char* name : {"data-0.h5", "data-5.h5"}) write(name, bytes);
  write("data-1.h5.gz", gzip(bytes));
  write("data-2.h5.zst", zstd(bytes));
  write("data-3.h5.lz4", lz4(bytes, Stated::kNothing));
  write("data-4.h5.zst", bytes);
  write("data-6.h5", zstd(bytes));  // a file of this name is not looked into
  const auto data = open_climate(path());
  const std::int64_t expanded = std::ssize(bytes);
  const std::vector<std::int64_t> expected = {0, expanded, expanded, 0, 0, 0, 0};
  for (std::int64_t i = 0; i < data->size(); ++i) {
    const auto found = data->stamp_to_expand(i), plain = data->stamp(i);
    EXPECT_EQ(found.expanded_bytes, expected[static_cast<std::size_t>(i)]) << i;
    EXPECT_EQ(found.bytes, plain.bytes);
    EXPECT_EQ(found.mtime_ns, plain.mtime_ns);
    EXPECT_EQ(found.name_hash, plain.name_hash);
  }
  EXPECT_GE(data->most_expanded_bytes(), expanded);
}

TEST_F(CompressedSamples, HaveTheOrderOfPlainOnes) {
  for (const char* name : {"data-1.h5.zst", "data-1.h5-a.h5.zst", "data-10.h5.gz", "data-2.h5"}) {
    write(name, {});
  }
  const auto data = open_climate(path());
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < data->size(); ++i) {
    names.push_back(std::filesystem::path(data->name(i)).filename().string());
  }
  // As data-1.h5 < data-1.h5-a.h5.
  EXPECT_THAT(names, testing::ElementsAre("data-1.h5.zst", "data-1.h5-a.h5.zst", "data-10.h5.gz",
                                          "data-2.h5"));
}

TEST_F(CompressedSamples, AreRefusedBesideThePlainOnes) {
  for (const char* name :
       {"data-1.h5", "data-1.h5-a.h5", "data-2.h5.zst", "data-1.h5.zst", "data-1.h5.gz"}) {
    write(name, {});
  }
  EXPECT_EQ(
      data_error([&] { list_climate(path()); }),
      path() + ": expected each sample once, found 'data-1.h5' and 'data-1.h5.gz'; remove one");
  write("u/a.tfrecord.lz4", {});
  write("u/a.tfrecord.gz", {});
  EXPECT_EQ(
      data_error([&] { list_universes(path() + "/u"); }),
      path() +
          "/u: expected each sample once, found 'a.tfrecord.gz' and 'a.tfrecord.lz4'; remove one");
}

TEST_F(CompressedSamples, NameWhatIsWrong) {
  const auto universe = encode_universe(made_universe(kTiny), UniverseFormat::kHdf5);
  for (const Compressor& one : compressors()) {
    auto damaged = one.compress(universe);
    damaged[damaged.size() / 2] ^= std::byte{0x10};
    EXPECT_THAT(universe_refusal(damaged), StartsWith("u.file: offset "));
    EXPECT_THAT(universe_refusal(one.compress(bytes_of("other bytes"))),
                StartsWith("u.file (expanded): expected a sample in HDF5 or TFRecord, found text"));
    EXPECT_THAT(
        universe_refusal(one.compress(one.compress(universe))),
        AllOf(StartsWith("u.file (expanded): expected a sample in HDF5 or TFRecord, found "),
              HasSubstr(" file")))
        << "one layer";
    EXPECT_THAT(universe_refusal(one.compress(std::vector<std::byte>(80'000'000))),
                HasSubstr("the content is longer than"));
    ClimateSample sample;
    EXPECT_THAT(
        data_error([&] { decode_climate_into(one.compress(universe), kTinyClimate, "c", sample); }),
        StartsWith("c (expanded)"));
  }
}

}  // namespace
}  // namespace dataset
