// RecordReader over published result logs, against counts by an independent program.
#include "published_logs/published_logs.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runner/mllog/record_reader.h"

namespace mllog {
namespace {

TEST(PublishedLogs, HaveTheRecordsThatAnIndependentProgramCounted) {
  const std::filesystem::path folder = published::folder();
  if (folder.empty()) GTEST_SKIP() << published::kAbsent;
  const nlohmann::json& expected = published::expected().at("files");
  ASSERT_GT(expected.size(), 100u);
  for (const auto& [name, counts] : expected.items()) {
    std::ifstream in(folder / name, std::ios::binary);
    ASSERT_TRUE(in) << name;
    RecordReader reader(in);
    while (reader.next()) continue;
    // That program counts records of the formats before MLLOG as other lines.
    const std::int64_t old = reader.old_records();
    EXPECT_EQ(reader.records() - old, counts.at("records")) << name;
    EXPECT_EQ(reader.malformed_records(), counts.at("malformed_records")) << name;
    EXPECT_EQ(reader.other_lines() + old, counts.at("other_lines")) << name;
    EXPECT_GT(reader.records() + reader.malformed_records(), 0) << name;
  }
}

}  // namespace
}  // namespace mllog
