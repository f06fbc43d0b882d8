// Tests of universes and climate samples that are read in place from tar archives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "staging/dataset/climate_folder.h"
#include "staging/dataset/climate_statistics.h"
#include "staging/dataset/climates.h"
#include "staging/dataset/compressed.h"
#include "staging/dataset/open_fixture.h"
#include "staging/dataset/universe_folder.h"
#include "staging/dataset/universes.h"

namespace dataset {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class FlatArchive : public testing::Test {
 protected:
  std::string write(const std::string& archive) const { return folder_.write("data.tar", archive); }
  static std::string universe(int number, UniverseFormat format = UniverseFormat::kTfrecord) {
    return text_of(encode_universe(made_universe(kTiny, number), format));
  }
  static std::string scene(int number) {
    return text_of(encode_climate(made_climate(kTinyClimate, number)));
  }
  static std::vector<std::string> names(const Dataset& data) {
    std::vector<std::string> names;
    for (std::int64_t i = 0; i < data.size(); ++i) names.push_back(data.name(i));
    return names;
  }
  const base::TemporaryDirectory folder_;
};

TEST_F(FlatArchive, OfUniversesIsReadByFolder) {
  const std::string path = write(tar_of({{"set/train/b.tfrecord", universe(1)},
                                         {"set/train/.stats", "hidden"},
                                         {"set/validation/a.tfrecord", universe(7)},
                                         {"set/README", "of another folder"},
                                         {"set/train/a.hdf5", universe(0, UniverseFormat::kHdf5)}},
                                        {"set", "set/train"}));
  const Listing listing = list_universes(path + "/set/train/");
  EXPECT_EQ(listing.ignored_files, 1);
  const auto data = open_universes(listing_from_bytes(to_bytes(listing)));
  EXPECT_EQ(data->source(), path);
  EXPECT_THAT(names(*data),
              ElementsAre(path + ": set/train/a.hdf5", path + ": set/train/b.tfrecord"));
  Universe got;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(read_universe(*data, i, kTiny, nullptr, got), data->bytes(i));
    EXPECT_TRUE(same(got, made_universe(kTiny, i)));
    for (const UniverseRegion& region : tiny_regions()) {
      read_universe(*data, i, kTiny, &region, got);
      EXPECT_TRUE(same(got, cut(made_universe(kTiny, i), region)));
    }
  }
  read_universe(*open_universes(path + "/set/validation"), 0, kTiny, nullptr, got);
  EXPECT_TRUE(same(got, made_universe(kTiny, 7)));
}

TEST_F(FlatArchive, OfOneFolderNeedsNoName) {
  for (const std::string prefix : {"", "./", "a/b/", "/data/"}) {
    const std::string path = write(tar_of({{prefix + "1.tfrecord", universe(3)}}));
    Universe got;
    read_universe(*open_universes(path), 0, kTiny, nullptr, got);
    EXPECT_TRUE(same(got, made_universe(kTiny, 3))) << prefix;
  }
}

TEST_F(FlatArchive, OfSeveralFoldersAsksForOne) {
  const std::string path =
      write(tar_of({{"v2/train/1.tfrecord", ""}, {"v2/validation/1.tfrecord", ""}}));
  const auto said = [&](const std::string& below) {
    return data_error([&] { list_universes(path + below); });
  };
  const std::string expected =
      ": expected sample files (.hdf5, .h5, .tfrecord, each also in .gz, .zst, .lz4) and nothing "
      "else, found ";
  const std::string them =
      "them in 'v2/train', 'v2/validation'; name one of these, such as " + path + "/v2/validation";
  EXPECT_EQ(said(""), path + expected + them);
  EXPECT_EQ(said("/v2"), path + "/v2" + expected + them);
  EXPECT_EQ(said("/train"), path + "/train" + expected + them);
}

TEST_F(FlatArchive, RefusesWhatIsNoSample) {
  std::string path = write(tar_of({{"t/1.tfrecord", ""}, {"t/b.txt", ""}, {"t/a.txt", ""}}));
  EXPECT_THAT(data_error([&] { list_universes(path + "/t"); }), HasSubstr("found 'a.txt'"));
  path = write(tar_of({{"t/1.tfrecord", ""}, {"t/1.tfrecord.gz", ""}}));
  EXPECT_THAT(data_error([&] { list_universes(path + "/t"); }),
              HasSubstr("expected each sample once, found '1.tfrecord' and '1.tfrecord.gz'"));
  path = write(tar_of({{"t/1.tfrecord", "a"}, {"t/1.tfrecord", "b"}}));
  EXPECT_THAT(data_error([&] { list_universes(path + "/t"); }),
              HasSubstr("expected each sample once, found '1.tfrecord' and '1.tfrecord'"));
  path = write(tar_of({{"README", ""}}));
  EXPECT_THAT(data_error([&] { list_universes(path + "/t"); }), HasSubstr("found none"));
  path = folder_.write("sample.h5", text_of(encode_climate(made_climate(kTinyClimate))));
  EXPECT_EQ(data_error([&] { list_climate(path); }),
            path + ": expected a plain tar archive, found an HDF5 file");
}

TEST_F(FlatArchive, HasSamplesAtItsTopFirst) {
  const std::string path = write(tar_of({{"1.tfrecord", universe(3)},
                                         {"t/1.tfrecord", universe(4)},
                                         {".cache/1.tfrecord", "hidden"},
                                         {"/other/1.tfrecord", universe(5)}}));
  const auto number = [&](const std::string& below) {
    Universe got;
    read_universe(*open_universes(path + below), 0, kTiny, nullptr, got);
    return got.targets[3];
  };
  EXPECT_EQ(number(""), made_universe(kTiny, 3).targets[3]);
  EXPECT_EQ(number("/t"), made_universe(kTiny, 4).targets[3]);
  EXPECT_EQ(number("/other"), made_universe(kTiny, 5).targets[3]);
  EXPECT_THAT(data_error([&] { list_universes(path + "/none"); }),
              HasSubstr("found them in its top, 'other', 't'; name one of these"));
}

TEST_F(FlatArchive, RefusesLinksInTheFolderThatIsRead) {
  folder_.write("t/data-1.h5", "x");
  folder_.write("u/data-1.h5", "x");
  std::filesystem::create_hard_link(folder_.path() / "t/data-1.h5", folder_.path() / "t/data-2.h5");
  const std::string path = folder_.path().string();
  ASSERT_EQ(std::system(("tar -C " + path + " -cf " + path + "/data.tar t u").c_str()), 0);
  EXPECT_EQ(list_climate(path + "/data.tar/u").samples.size(), 1u);
  EXPECT_THAT(data_error([&] { list_climate(path + "/data.tar/t"); }),
              HasSubstr("is a link or special file; expected the sample itself"));
}

TEST_F(FlatArchive, RefusesSamplesThatAreTooLarge) {
  const std::string path = write(tar_of({{"1.tfrecord", std::string(100, 'x')}}));
  Listing listing = list_universes(path);
  listing.most_bytes = 99;
  EXPECT_THAT(data_error([&] { open_universes(listing); }),
              HasSubstr("offset 512: expected a sample of at most 99 bytes, found 100"));
}

TEST_F(FlatArchive, OfClimateHasItsStatistics) {
  ClimateSummary summary;
  for (auto& channel : summary.channels) channel = {1, 2.0, 3.0, -4.0F, 5.0F};
  const std::string path =
      write(tar_of({{"set/train/data-2.h5", scene(2)},
                    {"set/train/data-1.h5", scene(1)},
                    {"set/stats.h5", text_of(encode_climate_statistics(summary))}}));
  const auto data = open_climate(path + "/set/train");
  ASSERT_EQ(data->size(), 2);
  ClimateSample got;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(read_climate(*data, i, kTinyClimate, got), data->bytes(i));
    EXPECT_TRUE(same(got, made_climate(kTinyClimate, i + 1)));
  }
  EXPECT_EQ(read_climate_statistics(path + "/set/stats.h5").minval[3], -4.0F);
  EXPECT_EQ(data_error([&] { read_climate_statistics(path + "/stats.h5"); }),
            path + "/stats.h5: expected a file in the archive, found none");
}

TEST_F(FlatArchive, StatesWhatCompressedSamplesTakeExpanded) {
  Files files;
  std::vector<std::int64_t> stated;
  const std::vector<std::byte> whole = encode_climate(made_climate(kTinyClimate));
  for (const Compressor& one : compressors()) {
    files.emplace_back(fmt::format("data-{}.h5{}", files.size(), one.ending),
                       text_of(one.compress(whole)));
    const bool states = one.ending != ".ZST" && one.ending != ".LZ4";
    stated.push_back(states ? std::ssize(whole) : 0);
  }
  const auto data = open_climate(write(tar_of(files)));
  ClimateSample got;
  for (std::int64_t i = 0; i < data->size(); ++i) {
    EXPECT_EQ(data->stamp_to_expand(i).bytes, data->bytes(i));
    EXPECT_EQ(data->stamp_to_expand(i).expanded_bytes, stated[static_cast<std::size_t>(i)])
        << data->name(i);
    read_climate(*data, i, kTinyClimate, got);
    EXPECT_TRUE(same(got, made_climate(kTinyClimate)));
  }
  EXPECT_EQ(open_climate(write(tar_of({{"data-1.h5", text_of(whole)}})))
                ->stamp_to_expand(0)
                .expanded_bytes,
            0);
}

class ImagesInAFolderOfAnArchive : public OpenDataset {};

TEST_F(ImagesInAFolderOfAnArchive, AreReadByItsPath) {
  Files files = {{"other/x/1.jpg", "not these"}, {"set/trainer/y/1.jpg", "nor these"}};
  for (const auto& [name, data] : kFiles) files.emplace_back("set/train/" + name, data);
  const std::string path = tar(tar_of(files, {"set", "set/train"}));
  const auto data = open_dataset(path + "/set/train");
  expect_the_files(*data);
  EXPECT_EQ(data->name(3), path + ": set/train/b/2.jpg");
  EXPECT_EQ(message(path + "/set/none"),
            path + "/set/none: expected a folder of images in the archive, found none");
}

}  // namespace
}  // namespace dataset
