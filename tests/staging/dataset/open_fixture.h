// A folder or archive of files for tests of the dataset readers.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/temporary_directory.h"
#include "runner/base/thrown_message.h"
#include "staging/dataset/encode.h"
#include "staging/dataset/open.h"

namespace dataset {

using Files = std::vector<std::pair<std::string, std::string>>;

inline std::string tar_of(const Files& files, const std::vector<std::string>& folders = {}) {
  std::ostringstream out;
  TarWriter writer(out);
  for (const auto& folder : folders) writer.add_folder(folder);
  for (const auto& [name, data] : files) writer.add_file(name, std::as_bytes(std::span(data)));
  writer.finish();
  return out.str();
}

inline std::string content(const Dataset& data, std::int64_t index) {
  std::vector<std::byte> bytes;
  data.read(index, bytes);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline std::vector<std::string> contents(const Dataset& data) {
  std::vector<std::string> all;
  for (std::int64_t i = 0; i < data.size(); ++i) all.push_back(content(data, i));
  return all;
}

inline std::vector<std::int32_t> labels(const Dataset& data) {
  std::vector<std::int32_t> all;
  for (std::int64_t i = 0; i < data.size(); ++i) all.push_back(data.label(i));
  return all;
}

/// Deliberately unsorted; "b-" sorts before "b/".
inline const Files kFiles = {
    {"b/2.jpg", "b2"}, {"a/10.JPEG", "a10"},        {"b-c/1.png", "bc1"},  {"a/9.jpeg", "a9"},
    {"b/1.jpg", "b1"}, {"b/notes.txt", "no image"}, {"b/.hidden.jpg", "h"}};
inline const std::vector<std::string> kContents = {"a10", "a9", "b1", "b2", "bc1"};
inline const std::vector<std::int32_t> kLabels = {0, 0, 1, 1, 2};
inline const std::vector<std::string> kClasses = {"a", "b", "b-c"};

class OpenDataset : public testing::Test {
 protected:
  std::string folder(const Files& files, const std::string& name = "data") {
    for (const auto& [file, data] : files) folder_.write(name + "/" + file, data);
    return (folder_.path() / name).string();
  }
  std::string tar(const std::string& archive) { return folder_.write("data.tar", archive); }
  std::string message(const std::string& path, const OpenOptions& options = {}) {
    return base::thrown_message<base::DataError>([&] { open_dataset(path, options); });
  }
  void expect_the_files(const Dataset& data) {
    EXPECT_EQ(contents(data), kContents);
    EXPECT_EQ(labels(data), kLabels);
    EXPECT_EQ(data.class_names(), kClasses);
    EXPECT_EQ(data.bytes(0), 3);
    EXPECT_THAT(data.name(3), testing::EndsWith("b/2.jpg"));
  }
  const base::TemporaryDirectory folder_;
};

}  // namespace dataset
