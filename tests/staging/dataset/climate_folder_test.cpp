// Tests of folders of climate samples: listing, reading, and statistics.
#include "staging/dataset/climate_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "runner/base/temporary_directory.h"
#include "staging/dataset/climate_statistics.h"
#include "staging/dataset/climates.h"
#include "staging/dataset/dataset_without_paths.h"
#include "staging/dataset/file.h"
#include "staging/dataset/universes.h"

namespace dataset {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
namespace fs = std::filesystem;

class ClimateFolder : public testing::Test {
 protected:
  std::string path() const { return folder_.path().string(); }
  std::string write(const std::string& name, const ClimateSample& sample) const {
    return folder_.write(name, text_of(encode_climate(sample)));
  }
  const base::TemporaryDirectory folder_;
};

TEST_F(ClimateFolder, ListsSamplesInByteOrderOfTheirNames) {
  for (const char* name :
       {"data-2.h5", "data-10.h5", "data-1996-06-03-01-1.h5", "stats.h5", "DATA-1.h5",
        "data-1.hdf5", "data-.h5", ".data-1.h5", "README", "data-3.h5~"}) {
    folder_.write(name, name);
  }
  folder_.write("data-folder.h5/data-1.h5", "");
  const auto data = open_climate(path());
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < data->size(); ++i) {
    names.push_back(fs::path(data->name(i)).filename().string());
  }
  EXPECT_THAT(names, ElementsAre("data-.h5", "data-10.h5", "data-1996-06-03-01-1.h5", "data-2.h5"));
  EXPECT_EQ(list_climate(path()).ignored_files, 7);
}

TEST_F(ClimateFolder, RefusesFoldersWithoutSamples) {
  folder_.write("stats.h5", "");
  EXPECT_EQ(data_error([&] { list_climate(path()); }),
            path() + ": expected sample files (data-*.h5, also in .gz, .zst, .lz4), found none");
  EXPECT_THAT(data_error([&] { list_climate(path() + "/none"); }),
              HasSubstr("/none: cannot be listed: No such file"));
}

TEST_F(ClimateFolder, ReadsSamplesAndCountsTheirBytes) {
  constexpr ClimateShape kShape{32, 48};
  for (int i = 0; i < 3; ++i) {
    write("data-" + std::to_string(i) + ".h5", made_climate(kShape, i));
  }
  const auto data = open_climate(listing_from_bytes(to_bytes(list_climate(path()))));
  ASSERT_EQ(data->size(), 3);
  ClimateSample got;
  for (int i = 2; i >= 0; --i) {
    const std::int64_t bytes = read_climate(*data, i, kShape, got);
    EXPECT_TRUE(same(got, made_climate(kShape, i)));
    // Blocks that contain headers may be read together with values.
    EXPECT_GE(bytes, 32 * 48 * (16 * 4 + 8));
    EXPECT_LE(bytes, data->bytes(i) + 16384);
  }
}

TEST_F(ClimateFolder, ReadsThroughACopyThatHasNoFiles) {
  write("data-1.h5", made_climate(kTinyClimate, 4));
  const auto data = open_climate(path());
  ClimateSample got;
  EXPECT_EQ(read_climate(DatasetWithoutPaths(*data), 0, kTinyClimate, got), data->bytes(0));
  EXPECT_TRUE(same(got, made_climate(kTinyClimate, 4)));
}

TEST_F(ClimateFolder, NamesTheFileThatIsDamaged) {
  const std::string whole = text_of(encode_climate(made_climate(kTinyClimate)));
  folder_.write("data-1.h5", whole.substr(0, whole.size() - 40));
  folder_.write("data-2.h5", "");
  folder_.write("data-3.h5", std::string(20000, 'x'));
  const auto data = open_climate(path());
  ClimateSample got;
  for (std::int64_t i = 0; i < 3; ++i) {
    EXPECT_THAT(data_error([&] { read_climate(*data, i, kTinyClimate, got); }),
                testing::StartsWith(data->path(i) + ": "));
    EXPECT_THAT(data_error([&] { read_climate(DatasetWithoutPaths(*data), i, kTinyClimate, got); }),
                testing::StartsWith(data->path(i) + ": "));
  }
}

class StatisticsOfClimate : public ClimateFolder {
 protected:
  using Sixteen = std::array<double, 16>;
  /// Writes a file like the benchmark's, with all values of `type`.
  std::string write_statistics(const Sixteen& low, const Sixteen& high,
                               hid_t type = H5T_IEEE_F64LE) const {
    const std::string file = (folder_.path() / "stats.h5").string();
    const hid_t made = H5Fcreate(file.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    H5Gclose(H5Gcreate2(made, "climate", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    const hsize_t dims = low.size();
    const hid_t space = H5Screate_simple(1, &dims, nullptr);
    for (const auto& [name, values] :
         {std::pair("climate/minval", &low), {"climate/maxval", &high}}) {
      const hid_t set = H5Dcreate2(made, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
      H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values->data());
      H5Dclose(set);
    }
    H5Sclose(space);
    H5Fclose(made);
    return file;
  }
};

TEST_F(StatisticsOfClimate, AreThoseOfPlainLoops) {
  constexpr ClimateShape kShape{7, 9};
  ClimateSummary summary;
  std::vector<ClimateSample> samples;
  for (int i = 0; i < 3; ++i) {
    samples.push_back(made_climate(kShape, 100 * i));
    merge(summary, summarize(samples.back()));
  }
  const std::string file = folder_.write("stats.h5", text_of(encode_climate_statistics(summary)));
  const ClimateStatistics read = read_climate_statistics(file);
  const hid_t made = H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const auto of = [&](const char* name) {
    std::array<double, 16> values{};
    const hid_t set = H5Dopen2(made, name, H5P_DEFAULT);
    EXPECT_GE(H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
    H5Dclose(set);
    return values;
  };
  const auto count = of("climate/count"), mean = of("climate/mean"), squares = of("climate/sqmean"),
             low = of("climate/minval"), high = of("climate/maxval");
  H5Fclose(made);
  for (std::size_t channel = 0; channel < 16; ++channel) {
    std::vector<double> values;
    for (const ClimateSample& sample : samples) {
      for (std::size_t at = channel; at < sample.values.size(); at += 16) {
        values.push_back(static_cast<double>(sample.values[at]));
      }
    }
    double sum = 0.0, of_squares = 0.0;
    for (const double value : values) {
      sum += value;
      of_squares += value * value;
    }
    const auto all = static_cast<double>(values.size());
    EXPECT_EQ(count[channel], all);
    EXPECT_NEAR(mean[channel], sum / all, 1e-9);
    EXPECT_NEAR(squares[channel] / (of_squares / all), 1.0, 1e-12);
    EXPECT_EQ(low[channel], *std::min_element(values.begin(), values.end()));
    EXPECT_EQ(high[channel], *std::max_element(values.begin(), values.end()));
    EXPECT_EQ(static_cast<double>(read.minval[channel]), low[channel]);
    EXPECT_EQ(static_cast<double>(read.maxval[channel]), high[channel]);
  }
}

TEST_F(StatisticsOfClimate, AreReadInEitherPrecisionAndByteOrder) {
  Sixteen low{}, high{};
  for (std::size_t i = 0; i < low.size(); ++i) {
    low[i] = -static_cast<double>(i);
    high[i] = 0.5 + static_cast<double>(i);
  }
  for (const hid_t type : {H5T_IEEE_F32LE, H5T_IEEE_F32BE, H5T_IEEE_F64LE, H5T_IEEE_F64BE}) {
    const ClimateStatistics read = read_climate_statistics(write_statistics(low, high, type));
    for (std::size_t i = 0; i < low.size(); ++i) {
      EXPECT_EQ(static_cast<double>(read.minval[i]), low[i]);
      EXPECT_EQ(static_cast<double>(read.maxval[i]), high[i]);
    }
  }
}

TEST_F(StatisticsOfClimate, RefuseWhatNothingCanBeDividedBy) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Sixteen low{}, high{};
  high.fill(1.0);
  for (const auto& [bad_low, bad_high] : {std::pair(2.0, 2.0),
                                          {3.0, -1.0},
                                          {std::nan(""), 1.0},
                                          {0.0, kInfinity},
                                          {-kInfinity, 0.0},
                                          {-3e38, 3e38}}) {
    Sixteen other_low = low, other_high = high;
    other_low[11] = bad_low;
    other_high[11] = bad_high;
    const std::string file = write_statistics(other_low, other_high);
    EXPECT_THAT(data_error([&] { read_climate_statistics(file); }),
                testing::StartsWith(file + ": channel 11: expected a finite maximum above a finite "
                                           "minimum, found "));
  }
}

TEST_F(StatisticsOfClimate, RefuseOtherFiles) {
  const auto said = [&](const std::string& file) {
    return data_error([&] { read_climate_statistics(file); });
  };
  EXPECT_THAT(said(path() + "/none.h5"), HasSubstr("none.h5: cannot be opened"));
  EXPECT_THAT(said(folder_.write("text.h5", std::string(9000, 't'))),
              HasSubstr("text.h5: expected an HDF5 file"));
  EXPECT_THAT(said(write("data-1.h5", made_climate(kTinyClimate))),
              EndsWith("data-1.h5: climate/minval: expected a dataset, found none"));
  Sixteen low{}, high{};
  EXPECT_THAT(said(write_statistics(low, high, H5T_STD_I32LE)),
              EndsWith("expected 16 values of float32 or float64, found 16 int32"));
}

TEST_F(StatisticsOfClimate, NeedSixteenChannels) {
  EXPECT_THROW(summarize(made_climate({2, 2, 3})), base::ShapeError);
}

}  // namespace
}  // namespace dataset
