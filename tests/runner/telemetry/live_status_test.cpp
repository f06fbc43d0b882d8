// The status that a running job writes.
#include "runner/telemetry/live_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "runner/base/content.h"
#include "runner/base/error.h"
#include "runner/base/temporary_directory.h"
#include "runner/base/thrown_message.h"
#include "waiting.h"

namespace {

namespace fs = std::filesystem;
using telemetry::LiveStatus;
using telemetry::LiveStatusFile;
using telemetry::parse_live_status;
using testing::HasSubstr;

LiveStatus some_status() {
  LiveStatus status;
  status.workload = "resnet50";
  status.host = "node7";
  status.phase = "training";
  status.process = {4711, 17, "a kernel"};
  status.ranks = 3;
  status.updated_ms = 1700000002000;
  status.phase_since_ms = 1700000001000;
  status.epoch_num = 2;
  status.epochs = 90;
  status.steps_done = 150;
  status.steps_total = 9000;
  status.steps_before = 50;
  status.samples_per_s = 123.5;
  status.mean_loss = 6.25;
  status.wall_s = 12.5;
  for (std::size_t i = 0; i < status.subsystems_s.size(); ++i) {
    status.subsystems_s[i] = 0.5 * static_cast<double>(i);
  }
  return status;
}

class LiveFile : public testing::Test {
 protected:
  bool holds(const std::string& text) const {
    return comes(
        [&] { return fs::exists(path_) && base::content(path_).find(text) != std::string::npos; });
  }
  const base::SystemClock clock_;
  const base::TemporaryDirectory folder_;
  const std::string path_ = (folder_.path() / "result_1.live.json").string();
};

TEST_F(LiveFile, HoldsAllThatWasTold) {
  LiveStatusFile file(path_, clock_, 0.01);
  const LiveStatus told = some_status();
  file.publish(told);
  ASSERT_TRUE(holds("training"));
  const LiveStatus read = parse_live_status(base::content(path_), path_);
  EXPECT_EQ(read.workload, told.workload);
  EXPECT_EQ(read.host, told.host);
  EXPECT_EQ(read.phase, told.phase);
  EXPECT_EQ(read.process, told.process);
  EXPECT_EQ(read.ranks, told.ranks);
  EXPECT_EQ(read.updated_ms, told.updated_ms);
  EXPECT_EQ(read.phase_since_ms, told.phase_since_ms);
  EXPECT_EQ(read.epoch_num, told.epoch_num);
  EXPECT_EQ(read.epochs, told.epochs);
  EXPECT_EQ(read.steps_done, told.steps_done);
  EXPECT_EQ(read.steps_total, told.steps_total);
  EXPECT_EQ(read.steps_before, told.steps_before);
  EXPECT_EQ(read.samples_per_s, told.samples_per_s);
  EXPECT_EQ(read.mean_loss, told.mean_loss);
  EXPECT_EQ(read.wall_s, told.wall_s);
  EXPECT_EQ(read.subsystems_s, told.subsystems_s);
}

TEST_F(LiveFile, IsRemovedAtTheEnd) {
  {
    LiveStatusFile file(path_, clock_, 0.01);
    file.publish(some_status());
    ASSERT_TRUE(holds("training"));
  }
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

/// A long evaluation has no new status to report.
TEST_F(LiveFile, GivesSignsOfLifeWhileNothingIsTold) {
  LiveStatusFile file(path_, clock_, 0.01);
  file.publish(some_status());
  ASSERT_TRUE(holds("training"));
  const auto alive_ms = [&] { return parse_live_status(base::content(path_), path_).alive_ms; };
  const std::int64_t first = alive_ms();
  EXPECT_TRUE(comes([&] { return alive_ms() > first + 20; }));
}

TEST_F(LiveFile, TellsANewPhaseBeforeItsPeriodIsOver) {
  LiveStatusFile file(path_, clock_, 2.0);
  LiveStatus status = some_status();
  file.publish(status);
  ASSERT_TRUE(holds("training"));
  status.phase = "evaluation";
  const auto began = std::chrono::steady_clock::now();
  file.publish(status);
  EXPECT_TRUE(holds("evaluation"));
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(1500));
}

TEST_F(LiveFile, ThatCannotBeWrittenTellsWhyAndHoldsNobodyUp) {
  LiveStatusFile file((folder_.path() / "nowhere" / "file").string(), clock_, 0.01);
  file.publish(some_status());
  EXPECT_TRUE(comes([&] { return !file.problem().empty(); }));
  EXPECT_THAT(file.problem(), testing::ContainsRegex("cannot be written: [A-Z]"));
  file.publish(some_status());
}

TEST_F(LiveFile, KeepsALossThatIsNoNumber) {
  LiveStatusFile file(path_, clock_, 0.01);
  LiveStatus status = some_status();
  status.mean_loss = std::nan("");
  file.publish(status);
  ASSERT_TRUE(holds("training"));
  EXPECT_TRUE(std::isnan(parse_live_status(base::content(path_), path_).mean_loss));
}

TEST(LiveStatus, OfAnotherVersionOrDamagedIsRefused) {
  const base::TemporaryDirectory folder;
  const std::string path = (folder.path() / "x").string();
  std::string text;
  {
    const base::SystemClock clock;
    LiveStatusFile file(path, clock, 0.01);
    file.publish(some_status());
    ASSERT_TRUE(comes([&] { return fs::exists(path); }));
    text = base::content(path);
  }
  const auto refused = [&](const std::string& pointer, const nlohmann::json& value) {
    nlohmann::json json = nlohmann::json::parse(text);
    json[nlohmann::json::json_pointer(pointer)] = value;
    return base::thrown_message<base::DataError>([&] { parse_live_status(json.dump(), "x.json"); });
  };
  EXPECT_THAT(refused("/schema", 1), HasSubstr("x.json: /schema: must be 2"));
  for (const char* const key :
       {"process", "ranks", "epochs", "steps_done", "steps_total", "steps_before"}) {
    EXPECT_THAT(refused(std::string("/") + key, -1), HasSubstr(std::string("/") + key + ": must"));
    EXPECT_THAT(refused(std::string("/") + key, 1.5), HasSubstr("must be an integer"));
  }
  EXPECT_THAT(refused("/kernel", 1), HasSubstr("/kernel: must be a string"));
  EXPECT_THAT(refused("/phase", 1), HasSubstr("/phase: must be a string"));
  EXPECT_THAT(refused("/samples_per_s", "x"), HasSubstr("must be a number"));
  EXPECT_THAT(refused("/subsystems_s", nlohmann::json::array()), HasSubstr("must be an object"));
  EXPECT_THAT(refused("/subsystems_s/input", nullptr), HasSubstr("/subsystems_s: /input"));
  EXPECT_THAT(
      base::thrown_message<base::DataError>([&] { parse_live_status(text.substr(0, 50), "x"); }),
      HasSubstr("x: line"));
}

TEST(LiveStatus, StandsBesideTheLog) {
  EXPECT_EQ(telemetry::live_path("a/b/result_3.txt"), "a/b/result_3.live.json");
}

}  // namespace
