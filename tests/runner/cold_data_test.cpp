// What a run tells of its data in the page cache, given to the program itself.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runner/small_run.h"
#include "workloads/exit_codes.h"

namespace {

using nlohmann::json;
using outside::content;
using outside::Ended;
using outside::kTargetMissed;
using testing::HasSubstr;

class ColdData : public outside::SmallRun {
 protected:
  json record(const std::string& key) const {
    std::istringstream log(content(result("1.txt")));
    for (std::string line; std::getline(log, line);) {
      const json one = json::parse(line.substr(line.find('{')));
      if (one["key"] == key) return one;
    }
    return json();
  }
};

TEST_F(ColdData, IsToldWithWhatOfItWasInMemory) {
  const Ended ended = run([](json& c) { c["clear_caches"] = "never"; }, outside::mpirun(2));
  ASSERT_EQ(ended.status, kTargetMissed) << ended.err;
  EXPECT_EQ(record("cache_clear")["value"], false);
  EXPECT_FALSE(record("cache_clear")["metadata"].contains("page_cache"));
  const json cached = record("staging_stop")["metadata"]["staging"]["page_cache"];
  EXPECT_EQ(cached["nodes"], 1);
  EXPECT_EQ(cached["files"], 16) << "6 images of training and 2 of validation, of 2 classes";
  EXPECT_EQ(cached["files_by_mincore"], 16) << cached;
  EXPECT_EQ(cached["warm"]["max"], 1.0) << "they were just made";
  EXPECT_EQ(cached["bytes_looked_at"], cached["bytes"]);
  const Ended analyzed = shell(TRAINMARK " analyze " + result("1.txt").string());
  EXPECT_THAT(analyzed.out, HasSubstr("100.0 %, by 100.0 % of the bytes in 16 of 16 files"));
}

}  // namespace
