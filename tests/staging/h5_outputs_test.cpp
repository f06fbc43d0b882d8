// Tests of model outputs in HDF5.
#include <gtest/gtest.h>
#include <hdf5.h>

#include <filesystem>
#include <numeric>

#include "runner/base/error.h"
#include "runner/base/temporary_directory.h"
#include "staging/h5.h"

namespace staging {
namespace {

namespace fs = std::filesystem;

class H5Outputs : public testing::Test {
 protected:
  std::string path() const { return (folder_.path() / "outputs.h5").string(); }
  const base::TemporaryDirectory folder_;
};

TEST_F(H5Outputs, AreCollectedInOrder) {
  H5OutputSink sink(path());
  std::vector<float> all(7 * 3);
  std::iota(all.begin(), all.end(), 0.0F);
  const std::vector<std::int32_t> labels = {0, 1, 2, 1, 0, 2, 1};
  sink.write(0, 3, std::span(all).first(12), std::span(labels).first(4));
  EXPECT_THROW(sink.write(4, 2, std::span(all).last(6), std::span(labels).last(3)),
               base::ShapeError);
  sink.write(4, 3, std::span(all).last(9), std::span(labels).last(3));
  sink.finish();
  EXPECT_EQ(H5StateReader(path()).read("outputs", {7, 3}), all);

  const hid_t file = H5Fopen(path().c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t data = H5Dopen2(file, "labels", H5P_DEFAULT);
  std::vector<std::int32_t> got(7);
  EXPECT_GE(H5Dread(data, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, got.data()), 0);
  EXPECT_EQ(got, labels);
  H5Dclose(data);
  H5Fclose(file);
}

/// Writes rows [first, last) of a ten-row table whose rows are twice their index.
void write_rows(H5OutputSink& sink, std::int64_t first, std::int64_t last) {
  std::vector<float> outputs;
  std::vector<std::int32_t> labels;
  for (std::int64_t row = first; row < last; ++row) {
    outputs.push_back(2.0F * static_cast<float>(row));
    labels.push_back(static_cast<std::int32_t>(row));
  }
  sink.write(first, 1, outputs, labels);
}

TEST_F(H5Outputs, AreCollectedFromRanksThatTakeTurns) {
  H5OutputSink sink(path());
  for (const std::int64_t first : {0, 6, 2, 8, 4}) write_rows(sink, first, first + 2);
  sink.finish();
  EXPECT_EQ(H5StateReader(path()).read("outputs", {10, 1}),
            (std::vector<float>{0, 2, 4, 6, 8, 10, 12, 14, 16, 18}));
}

TEST_F(H5Outputs, HaveTargetsBesideThem) {
  H5OutputSink sink(path());
  sink.write_targets(1, 2, std::vector<float>{5, 6}, std::vector<float>{7, 8});
  sink.write_targets(0, 2, std::vector<float>{1, 2}, std::vector<float>{3, 4});
  EXPECT_THROW(sink.write_targets(2, 2, std::vector<float>{1, 2}, std::vector<float>{3}),
               base::ShapeError);
  sink.finish();
  const H5StateReader reader(path());
  EXPECT_EQ(reader.read("outputs", {2, 2}), (std::vector<float>{1, 2, 5, 6}));
  EXPECT_EQ(reader.read("labels", {2, 2}), (std::vector<float>{3, 4, 7, 8}));
}

TEST_F(H5Outputs, HaveTargetsOfAnotherWidth) {
  H5OutputSink sink(path());
  sink.write_targets(0, 3, std::vector<float>{1, 2, 3, 4, 5, 6}, std::vector<float>{7, 8});
  EXPECT_THROW(sink.write_targets(2, 3, std::vector<float>{1, 2, 3}, std::vector<float>{3, 4}),
               base::ShapeError);
  sink.finish();
  const H5StateReader reader(path());
  EXPECT_EQ(reader.read("outputs", {2, 3}), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(reader.read("labels", {2, 1}), (std::vector<float>{7, 8}));
}

TEST_F(H5Outputs, ComeExactlyOnce) {
  H5OutputSink sink(path());
  write_rows(sink, 3, 6);
  for (const std::int64_t first : {1, 2, 3, 4, 5}) {
    EXPECT_THROW(write_rows(sink, first, first + 3), base::ShapeError) << first;
  }
  EXPECT_THROW(sink.finish(), base::ShapeError);  // rows 0 to 2
  write_rows(sink, 0, 2);
  EXPECT_THROW(sink.finish(), base::ShapeError);  // row 2
  EXPECT_FALSE(fs::exists(path()));
  write_rows(sink, 2, 3);
  sink.finish();
  EXPECT_EQ(H5StateReader(path()).read("outputs", {6, 1}), (std::vector<float>{0, 2, 4, 6, 8, 10}));
}

}  // namespace
}  // namespace staging
