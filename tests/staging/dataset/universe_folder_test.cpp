// Tests of folders of universes: listing, and the bytes read for a part of a sample.
#include "staging/dataset/universe_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "runner/base/temporary_directory.h"
#include "staging/dataset/dataset_without_paths.h"
#include "staging/dataset/file.h"
#include "staging/dataset/universes.h"

namespace dataset {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
namespace fs = std::filesystem;

/// Large enough that a region takes more than a page.
constexpr UniverseShape kSmall{{16, 16, 16}, 4};
constexpr std::int64_t kPlane = 16 * 16 * 4 * 2;

class UniverseFolder : public testing::Test {
 protected:
  std::string path() const { return folder_.path().string(); }
  void write(const std::string& name, const Universe& universe, UniverseFormat format) const {
    folder_.write(name, text_of(encode_universe(universe, format)));
  }
  std::vector<std::string> names() const {
    const auto data = open_universes(path());
    std::vector<std::string> names;
    for (std::int64_t i = 0; i < data->size(); ++i) {
      names.push_back(fs::path(data->name(i)).filename().string());
    }
    return names;
  }
  const base::TemporaryDirectory folder_;
};

TEST_F(UniverseFolder, ListsSamplesInByteOrderOfTheirNames) {
  for (const char* name : {"b.tfrecord", "a_010.hdf5", "a_009.h5", "B.TFRECORD", "a.tfrecord",
                           ".hidden.hdf5", ".stats", "a-1.hdf5"}) {
    folder_.write(name, name);
  }
  EXPECT_THAT(names(), ElementsAre("B.TFRECORD", "a-1.hdf5", "a.tfrecord", "a_009.h5", "a_010.hdf5",
                                   "b.tfrecord"));
  EXPECT_EQ(list_universes(path()).ignored_files, 2);
}

TEST_F(UniverseFolder, IsADatasetOfOneClass) {
  const std::string file = folder_.write("a.tfrecord", "12345");
  const auto data = open_universes(path());
  EXPECT_EQ(data->size(), 1);
  EXPECT_THAT(data->class_names(), ElementsAre(""));
  EXPECT_EQ(data->label(0), 0);
  EXPECT_EQ(data->bytes(0), 5);
  EXPECT_EQ(data->name(0), file);
  EXPECT_EQ(data->path(0), file);
  EXPECT_EQ(data->source(), path());
  EXPECT_EQ(data->stamp(0).bytes, 5);
  EXPECT_EQ(data->stamp(0).mtime_ns, stamp_of(file).mtime_ns);
  std::vector<std::byte> bytes;
  data->read(0, bytes);
  EXPECT_EQ(text_of(bytes), "12345");
}

TEST_F(UniverseFolder, CanBeListedByOneRankForAll) {
  for (int i = 0; i < 3; ++i) {
    write(std::to_string(i) + ".tfrecord", made_universe(kTiny, i), UniverseFormat::kTfrecord);
  }
  const std::string told = to_bytes(list_universes(path()));
  EXPECT_LT(told.size(), 3 * 48 + 256u);
  const auto data = open_universes(listing_from_bytes(told));
  ASSERT_EQ(data->size(), 3);
  Universe got;
  read_universe(*data, 2, kTiny, nullptr, got);
  EXPECT_TRUE(same(got, made_universe(kTiny, 2)));
}

TEST_F(UniverseFolder, RefusesFoldersOfOtherThings) {
  const auto said = [&] { return data_error([&] { list_universes(path()); }); };
  const std::string expected = path() +
                               ": expected sample files (.hdf5, .h5, .tfrecord, each also in .gz, "
                               ".zst, .lz4) and nothing else, found ";
  EXPECT_EQ(said(), expected + "none");
  folder_.write("a.hdf5", "");
  folder_.write("b.txt", "");
  folder_.write("README", "");
  EXPECT_EQ(said(), expected + "'README'");
  fs::remove(folder_.path() / "README");
  fs::remove(folder_.path() / "b.txt");
  folder_.write("train.hdf5/a.hdf5", "");
  EXPECT_EQ(said(), expected + "'train.hdf5'");
  EXPECT_THAT(data_error([&] { list_universes(path() + "/none"); }),
              HasSubstr("/none: cannot be listed: No such file"));
  EXPECT_THAT(data_error([&] { list_universes(path() + "/a.hdf5"); }),
              HasSubstr("a.hdf5: expected a plain tar archive, found an empty file"));
}

TEST_F(UniverseFolder, ReadsWholeSamplesOfEveryFormat) {
  write("0.hdf5", made_universe(kSmall, 0), UniverseFormat::kHdf5);
  write("1.tfrecord", made_universe(kSmall, 1), UniverseFormat::kTfrecord);
  write("2.tfrecord", made_universe(kSmall, 2), UniverseFormat::kTfrecordGzip);
  const auto data = open_universes(path());
  Universe got;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(read_universe(*data, i, kSmall, nullptr, got), data->bytes(i));
    EXPECT_TRUE(same(got, made_universe(kSmall, i)));
  }
}

TEST_F(UniverseFolder, ReadsRegionsBehindAUserBlock) {
  const Universe universe = made_universe(kTiny);
  for (const hsize_t block : {1024, 16384}) {
    write_h5(folder_.path() / "0.h5",
             {{"x", H5T_STD_I16LE, H5T_NATIVE_INT16, {3, 4, 5, 2}, {}, universe.counts.data()},
              {"y", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, {4}, {}, universe.targets.data()}},
             block);
    const auto data = open_universes(path());
    Universe got;
    for (const UniverseRegion& region : tiny_regions()) {
      read_universe(*data, 0, kTiny, &region, got);
      EXPECT_TRUE(same(got, cut(universe, region)));
    }
  }
}

TEST_F(UniverseFolder, ReadsRegionsThatEqualTheCutOfTheWhole) {
  for (int i = 0; i < 3; ++i) {
    write(std::to_string(i) + ".h5", made_universe(kTiny, i), kFormats[i]);
  }
  const auto data = open_universes(path());
  Universe got;
  for (const UniverseRegion& region : tiny_regions()) {
    for (int i = 0; i < 3; ++i) {
      read_universe(*data, i, kTiny, &region, got);
      EXPECT_TRUE(same(got, cut(made_universe(kTiny, i), region)));
    }
  }
}

TEST_F(UniverseFolder, ReadsLittleMoreThanARegionOfHdf5) {
  const Universe universe = made_universe({{64, 64, 64}, 4});
  const UniverseShape shape{universe.extents, universe.channels};
  write("a.hdf5", universe, UniverseFormat::kHdf5);
  const auto data = open_universes(path());
  constexpr std::int64_t kHead = 8192;
  Universe got;
  for (const UniverseRegion& region :
       std::vector<UniverseRegion>{{{16, 0, 0}, {32, 64, 64}}, {{0, 32, 0}, {64, 32, 64}}}) {
    const std::int64_t region_bytes = 64 * 64 * 64 * 4 * 2 / 2;
    EXPECT_EQ(read_universe(*data, 0, shape, &region, got), kHead + region_bytes);
    EXPECT_TRUE(same(got, cut(universe, region)));
  }
  // Rows smaller than a page are read with the gaps between them, but no other planes are read.
  const UniverseRegion box{{8, 8, 8}, {16, 16, 16}};
  const std::int64_t bytes = read_universe(*data, 0, shape, &box, got);
  EXPECT_TRUE(same(got, cut(universe, box)));
  EXPECT_LE(bytes, kHead + 16 * 16 * 64 * 4 * 2);
}

TEST_F(UniverseFolder, ReadsAllOfWhatDoesNotLieInOnePiece) {
  const Universe universe = made_universe(kSmall);
  write("a.tfrecord", universe, UniverseFormat::kTfrecord);
  write_h5(folder_.path() / "b.hdf5",
           {{"x",
             H5T_STD_I16LE,
             H5T_NATIVE_INT16,
             {16, 16, 16, 4},
             {8, 8, 8, 4},
             universe.counts.data()},
            {"y", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, {4}, {}, universe.targets.data()}});
  const auto data = open_universes(path());
  const UniverseRegion region{{4, 0, 0}, {4, 16, 16}};
  Universe got;
  for (int i = 0; i < 2; ++i) {
    EXPECT_GE(read_universe(*data, i, kSmall, &region, got), data->bytes(i));
    EXPECT_TRUE(same(got, cut(universe, region)));
  }
}

TEST_F(UniverseFolder, ReadsRegionsThroughACopyThatGivesWholeSamples) {
  write("a.hdf5", made_universe(kSmall), UniverseFormat::kHdf5);
  const auto data = open_universes(path());
  const UniverseRegion region{{4, 0, 0}, {4, 16, 16}};
  Universe got;
  EXPECT_EQ(read_universe(DatasetWithoutPaths(*data), 0, kSmall, &region, got), data->bytes(0));
  EXPECT_TRUE(same(got, cut(made_universe(kSmall), region)));
}

TEST_F(UniverseFolder, ReadsTargetsThatLieBehindTheCounts) {
  const Universe universe = made_universe(kSmall);
  write_h5(folder_.path() / "a.hdf5",
           {{"x", H5T_STD_I16LE, H5T_NATIVE_INT16, {16, 16, 16, 4}, {}, universe.counts.data()},
            {"y", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, {4}, {}, universe.targets.data()}});
  const auto data = open_universes(path());
  const UniverseRegion region{{0, 0, 0}, {1, 16, 16}};
  Universe got;
  EXPECT_LT(read_universe(*data, 0, kSmall, &region, got), data->bytes(0));
  EXPECT_TRUE(same(got, cut(universe, region)));
}

TEST_F(UniverseFolder, NamesTheFileThatIsDamaged) {
  Universe universe = made_universe(kSmall);
  universe.counts[2 * kPlane / 2] = -1;
  const std::string whole = text_of(encode_universe(universe, UniverseFormat::kHdf5));
  folder_.write("a.hdf5", whole);
  folder_.write("b.hdf5", whole.substr(0, whole.size() / 2));
  folder_.write("c.hdf5", "");
  const auto data = open_universes(path());
  const UniverseRegion bad{{2, 0, 0}, {1, 16, 16}}, good{{3, 0, 0}, {1, 16, 16}};
  Universe got;
  const auto said = [&](std::int64_t index, const UniverseRegion* region) {
    return data_error([&] { read_universe(*data, index, kSmall, region, got); });
  };
  EXPECT_EQ(said(0, &bad),
            data->path(0) + ": expected counts of at least 0, found -1 at [2, 0, 0, 0]");
  EXPECT_EQ(said(0, nullptr), said(0, &bad));
  EXPECT_NO_THROW(read_universe(*data, 0, kSmall, &good, got));
  for (const UniverseRegion* region : {static_cast<const UniverseRegion*>(nullptr), &good}) {
    EXPECT_THAT(said(1, region), HasSubstr("b.hdf5: "));
    EXPECT_THAT(said(2, region),
                EndsWith("c.hdf5: expected a sample in HDF5 or TFRecord, found an empty file"));
  }
  const UniverseRegion outside{{16, 0, 0}, {1, 16, 16}};
  EXPECT_THROW(read_universe(*data, 0, kSmall, &outside, got), base::ShapeError);
}

TEST_F(UniverseFolder, IsReadByManyThreadsAtOnce) {
  for (int i = 0; i < 6; ++i) {
    write(std::to_string(i) + ".h5", made_universe(kSmall, i), kFormats[i % 3]);
  }
  const auto data = open_universes(path());
  std::array<int, 4> right{};
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < right.size(); ++t) {
    threads.emplace_back([&, t] {
      Universe got;
      for (int k = 0; k < 60; ++k) {
        const int i = (static_cast<int>(t) + k) % 6;
        const UniverseRegion region{{k % 8, k % 3, 0}, {8, 13, 16}};
        read_universe(*data, i, kSmall, k % 2 == 0 ? &region : nullptr, got);
        const Universe whole = made_universe(kSmall, i);
        right[t] += same(got, k % 2 == 0 ? cut(whole, region) : whole) ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(right, testing::Each(60));
}

}  // namespace
}  // namespace dataset
