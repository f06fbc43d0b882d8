// Tests of files and archives that change or go away while they are used.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "runner/base/error.h"
#include "runner/base/thrown_message.h"
#include "staging/dataset/list_samples.h"
#include "staging/dataset/open.h"
#include "tests/staging/dataset/open_fixture.h"

namespace dataset {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
namespace fs = std::filesystem;

/// Gives the file another time of modification.
void touch(const std::string& path) {
  fs::last_write_time(path, fs::last_write_time(path) + std::chrono::seconds(1));
}

TEST_F(OpenDataset, NoticesAFileThatChangedSinceItWasListed) {
  const std::string path = tar(tar_of(kFiles));
  const Listing listing = list_samples(path);
  const auto data = open_dataset(path);
  fs::resize_file(path, 600);
  EXPECT_THAT(base::thrown_message<base::DataError>([&] { open_dataset(listing); }),
              HasSubstr("as when it was listed, found 600"));
  std::vector<std::byte> bytes;
  EXPECT_THAT(base::thrown_message<base::DataError>([&] { data->read(4, bytes); }),
              HasSubstr("data.tar: offset"));
}

TEST_F(OpenDataset, NamesAFileThatWentAway) {
  const std::string path = folder(kFiles);
  const auto data = open_dataset(path);
  fs::remove(path + "/b/2.jpg");
  std::vector<std::byte> bytes;
  EXPECT_THAT(base::thrown_message<base::DataError>([&] { data->read(3, bytes); }),
              HasSubstr("/b/2.jpg: cannot be opened: No such file"));
  EXPECT_THROW(data->bytes(3), base::DataError);
}

TEST_F(OpenDataset, RemarksOnAFileThatChangesBetweenTwoReadings) {
  const auto data = open_dataset(folder(kFiles));
  data->take_remarks();  // of files left out
  for (int i = 0; i < 2; ++i) contents(*data);
  EXPECT_TRUE(data->take_remarks().empty());
  touch(data->path(2));
  folder_.write("data/b/2.jpg", "another size");
  contents(*data);
  const auto remarks = data->take_remarks();
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_THAT(remarks[0], HasSubstr("b/1.jpg: changed while it was used"));
  EXPECT_THAT(remarks[0], EndsWith("(and 1 more such)"));
  contents(*data);
  EXPECT_TRUE(data->take_remarks().empty());
}

std::vector<Dataset::Stamp> stamps_as_read(const Dataset& data) {
  const std::vector<std::int64_t> indices = {0, 1, 2};
  std::vector<Dataset::Stamp> stamps(indices.size());
  std::vector<std::byte> room;
  data.read_many(indices, [&](std::int64_t index, const Dataset::Stamp& found) {
    stamps.at(static_cast<std::size_t>(index)) = found;
    room.resize(static_cast<std::size_t>(found.bytes));
    return std::span(room);
  });
  return stamps;
}

TEST_F(OpenDataset, TellsTheStampsOfWhatItReads) {
  const auto files = open_dataset(folder(kFiles)), archive = open_dataset(tar(tar_of(kFiles)));
  for (const Dataset* data : {files.get(), archive.get()}) {
    SCOPED_TRACE(data->source());
    const auto as_listed = [&](const Dataset::Stamp& found, std::int64_t index) {
      const Dataset::Stamp listed = data->stamp(index);
      return found.bytes == listed.bytes && found.mtime_ns == listed.mtime_ns &&
             found.name_hash == listed.name_hash;
    };
    const auto before = stamps_as_read(*data);
    for (std::int64_t i = 0; i < 3; ++i)
      EXPECT_TRUE(as_listed(before.at(static_cast<std::size_t>(i)), i));
    touch(data == files.get() ? data->path(2) : data->source());
    EXPECT_NE(stamps_as_read(*data).at(2).mtime_ns, before.at(2).mtime_ns);
  }
}

TEST_F(OpenDataset, RemarksOnAnArchiveThatChanges) {
  const auto data = open_dataset(tar(tar_of(kFiles)));
  data->take_remarks();  // of files left out
  contents(*data);
  EXPECT_TRUE(data->take_remarks().empty());
  touch(data->source());
  EXPECT_TRUE(data->take_remarks().empty());  // nothing was read since
  contents(*data);
  const auto remarks = data->take_remarks();
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_THAT(remarks[0], HasSubstr("data.tar: changed while it was used"));
}

}  // namespace
}  // namespace dataset
