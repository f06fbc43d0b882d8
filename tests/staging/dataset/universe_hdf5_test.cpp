// Tests of universes in HDF5 as other programs write them: links, filters, user blocks, damage.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "runner/base/temporary_directory.h"
#include "staging/dataset/universe.h"
#include "staging/dataset/universes.h"

namespace dataset {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using Bytes = std::vector<std::byte>;

class UniverseInHdf5 : public testing::Test {
 protected:
  Bytes written(const std::vector<H5Array>& arrays) {
    return read_bytes(write_h5(folder_.path() / "u.h5", arrays));
  }
  H5Array x() const {
    return {"x", H5T_STD_I16LE, H5T_NATIVE_INT16, {3, 4, 5, 2}, {}, universe_.counts.data()};
  }
  H5Array y() const {
    return {"y", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, {4}, {}, universe_.targets.data()};
  }
  static H5Array with(H5Array array, hid_t stored) {
    array.stored = stored;
    return array;
  }
  static H5Array named(H5Array array, const std::string& name) {
    array.name = name;
    return array;
  }
  void expect_same(const Bytes& bytes) {
    EXPECT_TRUE(same(decode_universe(bytes, kTiny, "u"), universe_));
    for (const UniverseRegion& region : tiny_regions()) {
      EXPECT_TRUE(same(decode_universe_region(bytes, kTiny, region, "u"), cut(universe_, region)));
    }
  }
  const base::TemporaryDirectory folder_;
  const Universe universe_ = made_universe(kTiny, 5);
};

TEST_F(UniverseInHdf5, IsReadFromFilesOfOtherPrograms) {
  expect_same(written({x(), y()}));
  expect_same(written({with(x(), H5T_STD_I16BE), with(y(), H5T_IEEE_F64BE)}));
  H5Array chunked = x();
  chunked.chunk = {2, 2, 2, 2};
  expect_same(written({chunked, y()}));
}

TEST_F(UniverseInHdf5, IsReadBehindAUserBlock) {
  H5Array chunked = x();
  chunked.chunk = {2, 2, 2, 2};
  for (const hsize_t block : {512, 1024, 16384}) {
    for (const H5Array& counts : {x(), chunked}) {
      const std::string path = write_h5(folder_.path() / "u.h5", {counts, y()}, block);
      std::fstream(path, std::ios::in | std::ios::out | std::ios::binary) << "no HDF5 here";
      expect_same(read_bytes(path));
    }
  }
}

/// Adds soft links to a file.
std::string with_links(const std::string& path,
                       const std::vector<std::pair<std::string, std::string>>& links) {
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  for (const auto& [name, target] : links) {
    H5Lcreate_soft(target.c_str(), file, name.c_str(), H5P_DEFAULT, H5P_DEFAULT);
  }
  H5Fclose(file);
  return path;
}

TEST_F(UniverseInHdf5, IsReadBehindSoftLinks) {
  const std::string path =
      write_h5(folder_.path() / "u.h5", {named(x(), "counts"), named(y(), "targets")});
  expect_same(
      read_bytes(with_links(path, {{"x", "/again"}, {"again", "counts"}, {"y", "targets"}})));
}

TEST_F(UniverseInHdf5, NamesLinksThatLeadNowhere) {
  const std::string path = write_h5(folder_.path() / "u.h5", {y()});
  EXPECT_EQ(
      universe_refusal(read_bytes(with_links(path, {{"x", "/nothing"}}))),
      "u.file: expected datasets 'x' and 'y', found no 'x' ('x' is a link that leads nowhere)");
  const std::string round = write_h5(folder_.path() / "round.h5", {y()});
  EXPECT_THAT(universe_refusal(read_bytes(with_links(round, {{"x", "x"}}))),
              HasSubstr("'x' is a link that leads nowhere"));
}

/// All of HDF5's own filters but szip, alone and together.
const std::vector<std::function<void(hid_t)>>& own_filters() {
  static const std::vector<std::function<void(hid_t)>> all = {
      [](hid_t layout) { H5Pset_shuffle(layout); },
      [](hid_t layout) { H5Pset_fletcher32(layout); },
      [](hid_t layout) { H5Pset_nbit(layout); },
      [](hid_t layout) { H5Pset_scaleoffset(layout, H5Z_SO_INT, H5Z_SO_INT_MINBITS_DEFAULT); },
      [](hid_t layout) {
        H5Pset_shuffle(layout);
        H5Pset_deflate(layout, 9);
        H5Pset_fletcher32(layout);
      },
      [](hid_t layout) {
        H5Pset_fletcher32(layout);
        H5Pset_deflate(layout, 1);
      },
      [](hid_t layout) {
        H5Pset_scaleoffset(layout, H5Z_SO_INT, H5Z_SO_INT_MINBITS_DEFAULT);
        H5Pset_deflate(layout, 1);
      }};
  return all;
}

TEST_F(UniverseInHdf5, IsReadThroughHdf5sOwnFilters) {
  std::vector<std::int16_t> small;
  for (std::size_t i = 0; i < universe_.counts.size(); ++i) {
    small.push_back(static_cast<std::int16_t>(100 + i % 7));
  }
  const std::vector<std::int16_t> equal(small.size(), 12), zeros(small.size());
  for (const auto& filters : own_filters()) {
    for (const auto& counts : {universe_.counts, small, equal, zeros}) {
      for (const hid_t stored : {H5T_STD_I16LE, H5T_STD_I16BE}) {
        H5Array chunked = with(x(), stored);
        chunked.chunk = {2, 4, 3, 2};
        chunked.data = counts.data();
        chunked.filters = filters;
        EXPECT_EQ(decode_universe(written({chunked, y()}), kTiny, "u").counts, counts);
      }
    }
  }
}

TEST_F(UniverseInHdf5, HasScaledTargetsAsHdf5GivesThem) {
  for (const hid_t stored : {H5T_IEEE_F32LE, H5T_IEEE_F64LE, H5T_IEEE_F64BE}) {
    H5Array scaled = with(y(), stored);
    scaled.chunk = {4};
    scaled.filters = [](hid_t layout) { H5Pset_scaleoffset(layout, H5Z_SO_FLOAT_DSCALE, 2); };
    const std::string path = write_h5(folder_.path() / "u.h5", {x(), scaled});
    const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t set = H5Dopen2(file, "y", H5P_DEFAULT);
    std::array<float, 4> expected{};
    H5Dread(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, expected.data());
    H5Dclose(set);
    H5Fclose(file);
    EXPECT_EQ(decode_universe(read_bytes(path), kTiny, "u").targets, expected);
  }
}

TEST_F(UniverseInHdf5, NamesFiltersThatItDoesNotUndo) {
  struct Foreign {
    H5Z_filter_t number;
    const char* name;
  };
  for (const Foreign& foreign : {Foreign{32000, "LZF"}, Foreign{32015, "Zstandard"}}) {
    H5Array chunked = x();
    chunked.chunk = chunked.dims;
    chunked.filters = [&](hid_t layout) {  // HDF5 leaves out what it lacks
      H5Pset_filter(layout, foreign.number, H5Z_FLAG_OPTIONAL, 0, nullptr);
    };
    EXPECT_THAT(universe_refusal(written({chunked, y()})),
                AllOf(StartsWith("u.file: x: expected data that are plain or filtered by deflate"),
                      HasSubstr(std::string("found the filter ") + foreign.name + " (" +
                                std::to_string(foreign.number) + ")"),
                      HasSubstr("h5repack")));
  }
}

TEST_F(UniverseInHdf5, RefusesAWrongChecksum) {
  H5Array chunked = x();
  chunked.chunk = chunked.dims;
  chunked.filters = [](hid_t layout) { H5Pset_fletcher32(layout); };
  Bytes file = written({chunked, y()});
  const std::string counts(reinterpret_cast<const char*>(universe_.counts.data()), 240);
  const std::size_t at = text_of(file).find(counts);
  ASSERT_NE(at, std::string::npos);
  file[at + 100] ^= std::byte{1};
  EXPECT_THAT(
      universe_refusal(file),
      AllOf(HasSubstr("expected a chunk of 240 bytes, the checksum"), HasSubstr("(Fletcher-32)")));
}

TEST_F(UniverseInHdf5, DoesNotTellWhenItWasWritten) {
  const Bytes bytes = encode_universe(universe_, UniverseFormat::kHdf5);
  const std::string path = folder_.write("encoded.h5", text_of(bytes));
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  for (const char* name : {"/", "x", "y"}) {
    H5O_info_t info{};
    ASSERT_GE(H5Oget_info_by_name2(file, name, &info, H5O_INFO_TIME, H5P_DEFAULT), 0);
    EXPECT_EQ(info.mtime, 0) << name;
  }
  H5Fclose(file);
}

TEST_F(UniverseInHdf5, IsReadUnderTheNamesOfRawUniverses) {
  expect_same(written(
      {named(x(), "full"), named(with(y(), H5T_IEEE_F64LE), "unitPar"), named(y(), "physPar")}));
}

TEST_F(UniverseInHdf5, RefusesMissingDatasets) {
  EXPECT_EQ(universe_refusal(written({x()})),
            "u.file: expected datasets 'x' and 'y', found no 'y' among 'x'");
  EXPECT_EQ(universe_refusal(written({y()})),
            "u.file: expected datasets 'x' and 'y', found no 'x' among 'y'");
  EXPECT_EQ(universe_refusal(written({named(x(), "full"), y()})),
            "u.file: expected datasets 'full' and 'unitPar', found no 'unitPar' among 'full', 'y'");
}

TEST_F(UniverseInHdf5, RefusesOtherTypesAndShapes) {
  EXPECT_EQ(universe_refusal(written({with(x(), H5T_STD_U16LE), y()})),
            "u.file: x: expected int16 of shape [3, 4, 5, 2], found uint16 of shape [3, 4, 5, 2]");
  EXPECT_THAT(universe_refusal(written({with(x(), H5T_IEEE_F32LE), y()})),
              HasSubstr("found float32 of"));
  EXPECT_THAT(universe_refusal(written({with(x(), H5T_STD_I32LE), y()})),
              HasSubstr("found int32 of"));
  EXPECT_EQ(universe_refusal(written({x(), with(y(), H5T_STD_I32LE)})),
            "u.file: y: expected 4 values of float32 or float64, found 4 int32");
  H5Array three = y();
  three.dims = {3};
  EXPECT_EQ(universe_refusal(written({x(), three})),
            "u.file: y: expected 4 values of float32 or float64, found 3 float32");
  H5Array flat = x();
  flat.dims = {120};
  EXPECT_THAT(universe_refusal(written({flat, y()})), HasSubstr("found int16 of shape [120]"));
}

TEST_F(UniverseInHdf5, RefusesCountsThatAreInAnotherFile) {
  const std::string path = write_h5(folder_.path() / "other.h5", {x(), y()});
  const std::string linked = write_h5(folder_.path() / "linked.h5", {y()});
  const hid_t file = H5Fopen(linked.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  H5Lcreate_external(path.c_str(), "x", file, "x", H5P_DEFAULT, H5P_DEFAULT);
  H5Fclose(file);
  EXPECT_THAT(universe_refusal(read_bytes(linked)),
              HasSubstr("found no 'x' ('x' is a link to another file, which is not followed)"));

  const std::string external = write_h5(folder_.path() / "external.h5", {y()});
  const hid_t other = H5Fopen(external.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  const hid_t layout = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_external(layout, path.c_str(), 0, H5F_UNLIMITED);
  const std::vector<hsize_t> dims = {3, 4, 5, 2};
  const hid_t space = H5Screate_simple(4, dims.data(), nullptr);
  H5Dclose(H5Dcreate2(other, "x", H5T_STD_I16LE, space, H5P_DEFAULT, layout, H5P_DEFAULT));
  H5Sclose(space);
  H5Pclose(layout);
  H5Fclose(other);
  EXPECT_EQ(universe_refusal(read_bytes(external)),
            "u.file: x: expected values in this file, found them elsewhere");
}

TEST_F(UniverseInHdf5, RefusesDamagedCompressedCounts) {
  const std::vector<std::int16_t> counts(120);
  H5Array chunked = x();
  chunked.chunk = chunked.dims;
  chunked.data = counts.data();
  Bytes file = written({chunked, y()});
  const std::size_t at = text_of(file).find("\x78\x9c");  // the first bytes of a zlib stream
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(decode_universe(file, kTiny, "u").counts, counts);
  file[at + 2] = std::byte{0xff};
  EXPECT_THAT(universe_refusal(file), AllOf(StartsWith("u.file: x: offset "),
                                            HasSubstr("expected a chunk of 240 bytes, zlib:")));
}

TEST_F(UniverseInHdf5, IsRefusedOrHasCountsInRangeWhateverByteIsDamaged) {
  expect_no_crash(written({with(x(), H5T_STD_I16BE), with(y(), H5T_IEEE_F64LE)}),
                  Flipped::kAllButZeros);
  H5Array chunked = x();
  chunked.chunk = {2, 4, 5, 2};
  expect_no_crash(written({chunked, y()}), Flipped::kAllButZeros);
  for (const auto& filters : own_filters()) {
    chunked.filters = filters;
    expect_no_crash(written({chunked, y()}), Flipped::kAllButZeros);
  }
  const std::string linked = write_h5(folder_.path() / "u.h5", {named(x(), "counts"), y()}, 512);
  expect_no_crash(read_bytes(with_links(linked, {{"x", "counts"}})), Flipped::kAllButZeros);
}

TEST_F(UniverseInHdf5, NeverTakesCountsFromBehindTheEnd) {
  const Bytes file = written({x(), y()});
  for (const std::size_t size : {file.size() - 1, file.size() / 2, std::size_t{100}}) {
    const Bytes part(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_THAT(universe_refusal(part), StartsWith("u.file: "));
  }
}

}  // namespace
}  // namespace dataset
