// The command `compare`.
// Hides streams.
#include "analysis/command/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "runner/base/content.h"
#include "runner/base/temporary_directory.h"
#include "runner/base/thrown_message.h"

namespace {

using analysis::command::compare;
using analysis::command::CompareOptions;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

class Compare : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::vector<double>& times) {
    const json result = {{"batch_per_rank", 8}, {"ranks", 1}, {"step_s", {{"times", times}}}};
    return folder_.write(name, result.dump());
  }
  std::string run() {
    std::ostringstream out;
    EXPECT_EQ(compare(options_, out, people_), base::ExitCode::kSuccess);
    return out.str();
  }
  base::TemporaryDirectory folder_;
  CompareOptions options_;
  std::ostringstream people_;
};

TEST_F(Compare, SaysWhichIsFasterOrThatNobodyCanTell) {
  const std::string a = write("a.json", {2.0, 2.1, 2.2, 2.1}),
                    b = write("b.json", {1.0, 1.1, 1.0, 1.1});
  const std::string c = write("c.json", {2.1, 2.0, 2.2, 2.15});
  options_.files = {a, b, c};
  EXPECT_THAT(run(), AllOf(HasSubstr("a.json: 3.81 samples/s (median of 4 steps of 2 to 2.2 s)\n"),
                           HasSubstr("b.json is 2.000 times as fast as "),
                           HasSubstr("a.json are not distinguishable: ratio 0.988")));
  options_.json = "-";
  const json document = json::parse(run());
  EXPECT_EQ(document["comparisons"].size(), 2u);
  EXPECT_EQ(document["comparisons"][0]["distinguishable"], true);
  EXPECT_EQ(document["comparisons"][1]["distinguishable"], false);
  EXPECT_TRUE(document["definitions"].contains("p_value"));
}

TEST_F(Compare, NeverWritesOverWhatItReads) {
  options_.files = {write("a.json", {1, 1, 1}), write("b.json", {1, 1, 1})};
  options_.json = options_.files[1];
  const std::string before = base::content(options_.json);
  EXPECT_THAT(base::thrown_message<base::ConfigError>([&] { run(); }),
              HasSubstr("is one of the files that are read"));
  EXPECT_EQ(base::content(options_.json), before);
}

TEST_F(Compare, NeedsTwoFilesThatAreThere) {
  options_.files = {write("a.json", {1, 1, 1})};
  EXPECT_THAT(base::thrown_message<base::ConfigError>([&] { run(); }),
              HasSubstr("expected at least two files, got 1"));
  options_.files.push_back("nowhere.json");
  EXPECT_THAT(base::thrown_message<base::SystemError>([&] { run(); }), HasSubstr("nowhere.json: "));
}

}  // namespace
