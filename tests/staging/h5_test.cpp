// Tests of weights in HDF5.
#include "staging/h5.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hdf5.h>
#include <sys/resource.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <limits>
#include <numeric>
#include <optional>

#include "runner/base/error.h"
#include "runner/base/temporary_directory.h"
#include "runner/base/thrown_message.h"

namespace staging {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;
namespace fs = std::filesystem;

class H5 : public testing::Test {
 protected:
  std::string path() const { return (folder_.path() / "state.h5").string(); }
  const base::TemporaryDirectory folder_;
};

TEST_F(H5, GivesBackTheSameBits) {
  const std::vector<float> weights = {
      1.0F, -0.0F, 1e-42F, 3.4e38F, std::numeric_limits<float>::infinity(), 0.1F};
  H5StateWriter writer(path());
  writer.write("layer1.0.conv1.weight", {2, 3, 1}, weights);
  writer.write("optimizer/layer1.0.conv1.weight", {6}, weights);
  writer.write("step", std::int64_t{1} << 60);
  writer.finish();

  const H5StateReader reader(path());
  const std::vector<float> got = reader.read("layer1.0.conv1.weight", {2, 3, 1});
  EXPECT_EQ(std::memcmp(got.data(), weights.data(), weights.size() * sizeof(float)), 0);
  EXPECT_EQ(reader.read_integer("step"), std::int64_t{1} << 60);
  EXPECT_TRUE(reader.has("optimizer/layer1.0.conv1.weight"));
  EXPECT_FALSE(reader.has("momentum/layer1.0.conv1.weight"));
  EXPECT_FALSE(reader.has("layer1"));
  EXPECT_EQ(reader.names(), (std::vector<std::string>{"layer1.0.conv1.weight",
                                                      "optimizer/layer1.0.conv1.weight", "step"}));
}

TEST_F(H5, AppearsOnlyWhenFinished) {
  {
    H5StateWriter writer(path());
    writer.write("step", 3);
    EXPECT_FALSE(fs::exists(path()));
  }
  EXPECT_FALSE(fs::exists(path()));
  EXPECT_TRUE(fs::is_empty(folder_.path()));  // an abandoned writer leaves nothing
}

/// Limits the size of the files that this process writes, for as long as the object exists.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit = {bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileLimit() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  rlimit before_{};
};

TEST_F(H5, LosesNoValuesOfAWriteThatFailedOnce) {
  H5StateWriter writer(path());
  const std::string message = base::thrown_message<base::SystemError>([&] {
    for (int i = 0; i < 40; ++i) {
      std::optional<FileLimit> full;
      if (i == 20) full.emplace(4096);
      writer.write("w" + std::to_string(i), {50}, std::vector<float>(50, 1.0F));
    }
    writer.finish();
  });
  EXPECT_THAT(message, testing::MatchesRegex(
                           ".*state.h5.part: offset [0-9]+: write failed: File too large"));
  EXPECT_THROW(writer.finish(), base::SystemError);
  EXPECT_FALSE(fs::exists(path()));
}

TEST_F(H5, LeavesNothingWhereNotEvenItsBeginningCanBeWritten) {
  {
    const FileLimit full(16);
    EXPECT_THROW(
        {
          H5StateWriter writer(path());
          writer.write("w", {2}, std::vector<float>(2));
          writer.finish();
        },
        base::SystemError);
  }
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(H5, KeepsTheOldFileUntilTheNewOneIsWhole) {
  {
    H5StateWriter writer(path());
    writer.write("step", 1);
    writer.finish();
  }
  H5StateWriter writer(path());
  writer.write("step", 2);
  EXPECT_EQ(H5StateReader(path()).read_integer("step"), 1);
  writer.finish();
  EXPECT_EQ(H5StateReader(path()).read_integer("step"), 2);
}

TEST_F(H5, KeepsTheModeOfTheFileThatItReplaces) {
  folder_.write("state.h5", "earlier outputs");
  fs::permissions(path(), fs::perms::owner_read | fs::perms::owner_write);
  H5StateWriter writer(path());
  writer.write("step", 1);
  writer.finish();
  EXPECT_EQ(H5StateReader(path()).read_integer("step"), 1);
  EXPECT_EQ(fs::status(path()).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(H5, FollowsALinkForOutputsOnlyWhichTheUserNames) {
  const std::string target = folder_.write("elsewhere.h5", "");
  fs::create_symlink(target, path());
  H5OutputSink outputs(path());
  outputs.write(0, 1, std::array{1.0F}, std::array{0});
  outputs.finish();
  EXPECT_TRUE(fs::is_symlink(path()));
  EXPECT_TRUE(H5StateReader(target).has("outputs"));
  H5StateWriter writer(path());
  writer.write("step", 1);
  writer.finish();
  EXPECT_FALSE(fs::is_symlink(path()));
  EXPECT_FALSE(H5StateReader(target).has("step"));
}

TEST_F(H5, ReplacesNoDevice) {
  fs::create_symlink("/dev/null", path());
  EXPECT_THAT(base::thrown_message<base::SystemError>([&] { H5OutputSink outputs(path()); }),
              StartsWith("/dev/null: cannot be written: expected a regular file or none, found a "
                         "device"));
  EXPECT_THAT(base::thrown_message<base::SystemError>(
                  [&] { H5StateWriter writer(folder_.path().string()); }),
              EndsWith("found a folder"));
  EXPECT_FALSE(fs::exists("/dev/null.part"));
}

TEST_F(H5, NamesFileAndDatasetOfWhatDoesNotFit) {
  {
    H5StateWriter writer(path());
    writer.write("weight", {2, 3}, std::vector<float>(6));
    writer.write("step", 3);
    EXPECT_THROW(writer.write("bad", {2, 3}, std::vector<float>(5)), base::ShapeError);
    EXPECT_THAT(base::thrown_message<base::SystemError>([&] { writer.write("step", 4); }),
                HasSubstr("state.h5: step: cannot be created"));
    writer.finish();
  }
  const H5StateReader reader(path());
  const auto message = [&](const std::string& name, const std::vector<std::int64_t>& shape) {
    return base::thrown_message<base::DataError>([&] { reader.read(name, shape); });
  };
  EXPECT_THAT(message("weight", {3, 2}), HasSubstr("state.h5: weight: expected floating point of "
                                                   "shape [3, 2], found float32 of shape [2, 3]"));
  EXPECT_THAT(message("bias", {1}), HasSubstr("state.h5: expected a dataset 'bias'"));
  EXPECT_THAT(message("step", {}), HasSubstr("found int64 of shape []"));
  EXPECT_THROW(reader.read_integer("weight"), base::DataError);
}

TEST_F(H5, RefusesFilesThatAreNotHdf5) {
  const std::string text = folder_.write("text.h5", "no HDF5 file");
  EXPECT_THAT(base::thrown_message<base::DataError>([&] { H5StateReader reader(text); }),
              HasSubstr("text.h5: expected an HDF5 file"));
  EXPECT_THAT(base::thrown_message<base::DataError>([&] { H5StateReader reader(path()); }),
              HasSubstr("cannot be opened"));
  EXPECT_THAT(base::thrown_message<base::SystemError>(
                  [&] { H5StateWriter writer((folder_.path() / "no" / "x.h5").string()); }),
              EndsWith("no/x.h5.part: cannot be created: No such file or directory"));
}

TEST_F(H5, FollowsNoLinkInTheWayOfItsUnfinishedFile) {
  const std::string secret = folder_.write("secret", "precious");
  fs::create_symlink(secret, path() + ".part");
  H5StateWriter writer(path());
  writer.write("step", std::int64_t{1});
  writer.finish();
  EXPECT_EQ(fs::file_size(secret), 8U);
  EXPECT_FALSE(fs::is_symlink(path()));
  EXPECT_EQ(H5StateReader(path()).read_integer("step"), 1);
}

TEST_F(H5, RefusesAFileThatIsCut) {
  {
    H5StateWriter writer(path());
    writer.write("weight", {100000}, std::vector<float>(100000));
    writer.finish();
  }
  fs::resize_file(path(), fs::file_size(path()) / 2);
  EXPECT_THROW(H5StateReader reader(path()), base::DataError);
}

TEST_F(H5, ReadsDoublesOfOtherPrograms) {
  const hid_t file = H5Fcreate(path().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hsize_t dims = 2;
  const hid_t space = H5Screate_simple(1, &dims, nullptr);
  const hid_t data =
      H5Dcreate2(file, "w", H5T_IEEE_F64BE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  const std::array<double, 2> values = {0.5, -2.0};
  H5Dwrite(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
  H5Dclose(data);
  H5Sclose(space);
  H5Fclose(file);
  EXPECT_EQ(H5StateReader(path()).read("w", {2}), (std::vector<float>{0.5F, -2.0F}));
}

TEST_F(H5, RefusesValuesThatAreInOtherFiles) {
  const std::string other = (folder_.path() / "other.h5").string();
  {
    H5StateWriter writer(other);
    writer.write("w", {2}, std::vector<float>(2));
    writer.finish();
  }
  const hid_t file = H5Fcreate(path().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  H5Lcreate_external(other.c_str(), "w", file, "linked", H5P_DEFAULT, H5P_DEFAULT);
  const hsize_t dims = 2;
  const hid_t space = H5Screate_simple(1, &dims, nullptr);
  const hid_t layout = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_external(layout, other.c_str(), 0, H5F_UNLIMITED);
  H5Dclose(H5Dcreate2(file, "w", H5T_IEEE_F32LE, space, H5P_DEFAULT, layout, H5P_DEFAULT));
  H5Pclose(layout);
  H5Sclose(space);
  H5Fclose(file);

  const H5StateReader reader(path());
  const auto message = [&](const std::string& name) {
    return base::thrown_message<base::DataError>([&] { reader.read(name, {2}); });
  };
  EXPECT_THAT(message("w"), EndsWith("w: expected values in this file, found them elsewhere"));
  EXPECT_THAT(message("linked"), EndsWith("is a link to another file, which is not followed)"));
}

TEST_F(H5, ReadsHalfPrecision) {
  const hid_t file = H5Fcreate(path().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hsize_t dims = 4;
  const hid_t space = H5Screate_simple(1, &dims, nullptr);
  const hid_t type = H5Tcopy(H5T_IEEE_F32LE);
  H5Tset_fields(type, 15, 10, 5, 0, 10);
  H5Tset_size(type, 2);
  H5Tset_ebias(type, 15);
  const hid_t data = H5Dcreate2(file, "w", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  const std::array<std::uint16_t, 4> bits = {0x3C00, 0xC000, 0x0001, 0x7C00};
  H5Dwrite(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bits.data());
  H5Dclose(data);
  H5Tclose(type);
  H5Sclose(space);
  H5Fclose(file);
  EXPECT_EQ(H5StateReader(path()).read("w", {4}),
            (std::vector<float>{1, -2, 0x1p-24F, std::numeric_limits<float>::infinity()}));
}

TEST_F(H5, RefusesAnIntegerWithoutAValue) {
  const hid_t file = H5Fcreate(path().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t space = H5Screate(H5S_NULL);
  H5Dclose(H5Dcreate2(file, "step", H5T_STD_I64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  H5Sclose(space);
  H5Fclose(file);
  const H5StateReader reader(path());
  EXPECT_THROW(reader.read_integer("step"), base::DataError);
}

TEST_F(H5, RefusesDamagedCompressedValues) {
  const hid_t file = H5Fcreate(path().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hsize_t dims = 64;
  const hid_t space = H5Screate_simple(1, &dims, nullptr);
  const hid_t layout = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(layout, 1, &dims);
  H5Pset_scaleoffset(layout, H5Z_SO_FLOAT_DSCALE, 3);
  const hid_t data = H5Dcreate2(file, "w", H5T_IEEE_F32LE, space, H5P_DEFAULT, layout, H5P_DEFAULT);
  const hsize_t first = 0;
  const std::array<unsigned char, 24> noise = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
  H5Dwrite_chunk(data, H5P_DEFAULT, 0, &first, noise.size(), noise.data());
  H5Dclose(data);
  H5Pclose(layout);
  H5Sclose(space);
  H5Fclose(file);
  const H5StateReader reader(path());
  EXPECT_THAT(base::thrown_message<base::DataError>([&] { reader.read("w", {64}); }),
              HasSubstr("state.h5: w: "));
}

TEST_F(H5, KnowsNamesWithoutTheWrapperThatAllBeginWith) {
  for (const std::string wrapper : {"module.", "_orig_mod.", "model_state_dict/module."}) {
    {
      H5StateWriter writer(path());
      writer.write(wrapper + "conv1.weight", {2}, std::vector<float>{1, 2});
      writer.write(wrapper + "fc.bias", {1}, std::vector<float>{3});
      writer.finish();
    }
    const H5StateReader reader(path());
    EXPECT_EQ(reader.names(), (std::vector<std::string>{"conv1.weight", "fc.bias"}));
    EXPECT_TRUE(reader.has("fc.bias"));
    EXPECT_EQ(reader.read("conv1.weight", {2}), (std::vector<float>{1, 2}));
  }
  H5StateWriter writer(path());
  writer.write("module.conv1.weight", {1}, std::vector<float>{1});
  writer.write("step", 3);
  writer.finish();
  const H5StateReader reader(path());
  EXPECT_EQ(reader.names(), (std::vector<std::string>{"module.conv1.weight", "step"}));
  EXPECT_EQ(base::thrown_message<base::DataError>([&] { reader.read("conv1.weight", {1}); }),
            path() + ": expected a dataset 'conv1.weight', found 'module.conv1.weight', 'step'");
}

TEST_F(H5, SaysWhatOtherFilesAre) {
  const auto message = [&](const std::string& bytes) {
    const std::string file = folder_.write("w", bytes);
    return base::thrown_message<base::DataError>([&] { H5StateReader reader(file); });
  };
  EXPECT_THAT(message("PK\x03\x04 and so on"),
              HasSubstr("w: expected an HDF5 file, found a zip archive, as torch.save"));
  EXPECT_THAT(message("\x80\x02\x8a"), HasSubstr("found a Python pickle"));
  EXPECT_THAT(message(std::string("\x10\0\0\0\0\0\0\0{\"a\":1}", 15)),
              HasSubstr("found a safetensors file"));
  EXPECT_THAT(message(""), HasSubstr("found an empty file"));
  EXPECT_THAT(message("something else"), HasSubstr("expected an HDF5 file, found text"));
  EXPECT_THAT(message("\x01\x02\xf0"), HasSubstr("expected an HDF5 file: "));
}

}  // namespace
}  // namespace staging
