// Tests of universes in every format: round trips, regions, damage, threads.
#include "staging/dataset/universe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <thread>

#include "runner/base/temporary_directory.h"
#include "staging/dataset/example.h"
#include "staging/dataset/expand.h"
#include "staging/dataset/gzip.h"
#include "staging/dataset/tfrecord.h"
#include "staging/dataset/universes.h"

/// HDF5 leaks what it has read of a file with damaged headers.
extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5"; }

namespace dataset {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using Bytes = std::vector<std::byte>;

TEST(Universe, ComesBackFromEveryFormat) {
  const Universe universe = made_universe(kTiny, 7);
  for (const UniverseFormat format : kFormats) {
    EXPECT_TRUE(same(decode_universe(encode_universe(universe, format), kTiny, "u"), universe));
  }
}

TEST(Universe, IsToldByItsFirstBytes) {
  const Universe universe = made_universe(kTiny);
  EXPECT_EQ(text_of(encode_universe(universe, UniverseFormat::kHdf5)).substr(0, 8),
            "\x89HDF\r\n\x1a\n");
  EXPECT_EQ(compression_of(encode_universe(universe, UniverseFormat::kTfrecordGzip)),
            Compression::kGzip);
  EXPECT_EQ(universe_extension(UniverseFormat::kHdf5), ".hdf5");
  EXPECT_EQ(universe_extension(UniverseFormat::kTfrecord), ".tfrecord");
  EXPECT_EQ(universe_extension(UniverseFormat::kTfrecordGzip), ".tfrecord");
}

TEST(Universe, GivesTheSameBytesEachTime) {
  for (const UniverseFormat format : kFormats) {
    const Bytes first = encode_universe(made_universe(kTiny, 3), format);
    EXPECT_NE(encode_universe(made_universe(kTiny, 4), format), first);
    EXPECT_EQ(encode_universe(made_universe(kTiny, 3), format), first);
  }
}

TEST(Universe, HasLittleEndianCountsInTheOrderOfChannelsLast) {
  Universe universe = made_universe({{1, 1, 2}, 2});
  universe.counts = {1, 258, 3, 4};
  const Bytes file = encode_universe(universe, UniverseFormat::kTfrecord);
  EXPECT_THAT(text_of(file), HasSubstr(std::string("\1\0\2\1\3\0\4\0", 8)));
  EXPECT_THAT(text_of(encode_universe(universe, UniverseFormat::kHdf5)),
              HasSubstr(std::string("\1\0\2\1\3\0\4\0", 8)));
}

TEST(Universe, GivesRegionsThatEqualTheCutOfTheWhole) {
  const Universe universe = made_universe(kTiny, 1);
  for (const UniverseFormat format : kFormats) {
    const Bytes file = encode_universe(universe, format);
    for (const UniverseRegion& region : tiny_regions()) {
      EXPECT_TRUE(same(decode_universe_region(file, kTiny, region, "u"), cut(universe, region)));
    }
  }
}

TEST(Universe, RefusesRegionsThatAreNotInside) {
  const Bytes file = encode_universe(made_universe(kTiny), UniverseFormat::kTfrecord);
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (const UniverseRegion& region : std::vector<UniverseRegion>{{{0, 0, 0}, {3, 4, 6}},
                                                                  {{0, 0, 0}, {3, 0, 5}},
                                                                  {{-1, 0, 0}, {1, 1, 1}},
                                                                  {{3, 0, 0}, {1, 1, 1}},
                                                                  {{kMost, 0, 0}, {kMost, 1, 1}}}) {
    EXPECT_THROW(decode_universe_region(file, kTiny, region, "u"), base::ShapeError);
  }
}

TEST(Universe, RefusesShapesThatNoSampleHas) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (const UniverseShape& shape :
       std::vector<UniverseShape>{{{0, 1, 1}, 1}, {{1, 1, 1}, -4}, {{kMost, kMost, 2}, 4}}) {
    EXPECT_THROW(decode_universe({}, shape, "u"), base::ShapeError);
  }
  Universe universe = made_universe(kTiny);
  universe.counts.pop_back();
  EXPECT_THROW(encode_universe(universe, UniverseFormat::kHdf5), base::ShapeError);
}

TEST(Universe, RefusesAnotherShape) {
  const UniverseShape other{{3, 4, 5}, 4};
  const Universe universe = made_universe(kTiny);
  EXPECT_EQ(universe_refusal(encode_universe(universe, UniverseFormat::kHdf5), other),
            "u.file: x: expected int16 of shape [3, 4, 5, 4], found int16 of shape [3, 4, 5, 2]");
  EXPECT_EQ(universe_refusal(encode_universe(universe, UniverseFormat::kTfrecord), other),
            "u.file: x: expected 480 bytes, found 240");
  EXPECT_EQ(universe_refusal(encode_universe(universe, UniverseFormat::kTfrecordGzip), other),
            "u.file (expanded): x: expected 480 bytes, found 240");
}

TEST(Universe, RefusesNegativeCountsAndNamesTheirPlace) {
  Universe universe = made_universe(kTiny);
  universe.counts[((1 * 4 + 2) * 5 + 3) * 2 + 1] = -9;
  for (const UniverseFormat format : kFormats) {
    const Bytes file = encode_universe(universe, format);
    EXPECT_EQ(universe_refusal(file),
              "u.file: expected counts of at least 0, found -9 at [1, 2, 3, 1]");
    EXPECT_EQ(data_error([&] {
                decode_universe_region(file, kTiny, {{1, 1, 1}, {2, 2, 3}}, "u.file");
              }),
              "u.file: expected counts of at least 0, found -9 at [1, 2, 3, 1]");
  }
}

TEST(Universe, RefusesTargetsThatAreNoneOrTooFar) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(),
                          -std::numeric_limits<float>::infinity(), 1.51F, -70.0F}) {
    Universe universe = made_universe(kTiny);
    universe.targets[2] = bad;
    for (const UniverseFormat format : kFormats) {
      EXPECT_THAT(universe_refusal(encode_universe(universe, format)),
                  StartsWith("u.file: target 2: expected a number from -1.5 to 1.5, found "));
    }
  }
  Universe universe = made_universe(kTiny);
  universe.targets = {1.5F, -1.5F, 0.0F, -0.0F};
  const Bytes file = encode_universe(universe, UniverseFormat::kTfrecord);
  EXPECT_TRUE(same(decode_universe(file, kTiny, "u"), universe));
}

TEST(Universe, IsRefusedWhenCutAnywhere) {
  for (const UniverseFormat format : kFormats) {
    const Bytes file = encode_universe(made_universe(kTiny), format);
    for (std::size_t size = 0; size < file.size(); ++size) {
      const Bytes part(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_THAT(universe_refusal(part), StartsWith("u.file: ")) << size;
    }
  }
}

TEST(Universe, IsRefusedOrHasCountsInRangeWhateverByteIsDamaged) {
  for (const UniverseFormat format : kFormats) {
    expect_no_crash(encode_universe(made_universe(kTiny), format), Flipped::kEveryByte);
  }
}

Bytes record_of(const Example& example) {
  Bytes file;
  append_record(file, serialise_example(example));
  return file;
}

TEST(UniverseInTfrecord, RefusesFeaturesThatDoNotFit) {
  const Bytes counts(240);
  const FloatList targets(4);
  const BytesList x{counts};
  EXPECT_EQ(universe_refusal(record_of({{"x", x}})), "u.file: expected a feature 'y'");
  EXPECT_EQ(universe_refusal(record_of({{"y", targets}})), "u.file: expected a feature 'x'");
  EXPECT_EQ(universe_refusal(record_of({{"x", targets}, {"y", targets}})),
            "u.file: x: expected a list of bytes, found another kind of values");
  EXPECT_EQ(universe_refusal(record_of({{"x", BytesList{counts, counts}}, {"y", targets}})),
            "u.file: x: expected a list of bytes of 1 values, found 2");
  EXPECT_EQ(universe_refusal(record_of({{"x", x}, {"y", FloatList(3)}})),
            "u.file: y: expected a list of floats of 4 values, found 3");
  EXPECT_EQ(universe_refusal(record_of({{"x", x}, {"y", Int64List(4)}})),
            "u.file: y: expected a list of floats, found another kind of values");
}

TEST(UniverseInTfrecord, IsOneRecord) {
  Bytes file = encode_universe(made_universe(kTiny), UniverseFormat::kTfrecord);
  const std::size_t size = file.size();
  file.insert(file.end(), file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));
  EXPECT_EQ(universe_refusal(file), "u.file: offset " + std::to_string(size) +
                                        ": expected one record, found more than that");
  EXPECT_EQ(universe_refusal({}),
            "u.file: expected a sample in HDF5 or TFRecord, found an empty file");
}

TEST(UniverseInTfrecord, ExpandsNoFurtherThanASampleCanBe) {
  EXPECT_THAT(universe_refusal(gzip(Bytes(80'000'000))),
              AllOf(StartsWith("u.file: offset "), HasSubstr("the content is longer than")));
}

TEST(Universe, IsDecodedByManyThreadsAtOnce) {
  const base::TemporaryDirectory folder;
  std::vector<Universe> universes;
  std::vector<Bytes> files;
  for (int i = 0; i < 6; ++i) {
    universes.push_back(made_universe(kTiny, i));
    files.push_back(encode_universe(universes.back(), kFormats[i % 3]));
  }
  universes.push_back(made_universe(kTiny, 6));
  files.push_back(read_bytes(
      write_h5(folder.path() / "chunked.h5",
               {{"x",
                 H5T_STD_I16LE,
                 H5T_NATIVE_INT16,
                 {3, 4, 5, 2},
                 {1, 4, 5, 2},
                 universes[6].counts.data()},
                {"y", H5T_IEEE_F64LE, H5T_NATIVE_FLOAT, {4}, {}, universes[6].targets.data()}})));
  std::vector<std::thread> threads;
  std::array<int, 8> right{};
  for (std::size_t t = 0; t < right.size(); ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t k = 0; k < 200; ++k) {
        const std::size_t i = (t + k) % files.size();
        right[t] += same(decode_universe(files[i], kTiny, "u"), universes[i]) ? 1 : 0;
        if (k % 20 == 0) encode_universe(universes[i], UniverseFormat::kHdf5);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(right, testing::Each(200));
}

}  // namespace
}  // namespace dataset
