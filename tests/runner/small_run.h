// A small dataset and a run on it by the program itself, for tests from outside.
// Hides the configuration's keys. TRAINMARK is the program's path.
#pragma once

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <string>

#include "runner/from_outside.h"

namespace outside {

using nlohmann::json;

class SmallRun : public ProgramTest {
 protected:
  void SetUp() override {
    const Ended made = generate("data", 6);
    ASSERT_EQ(made.status, 0) << made.err;
  }

  /// Two classes with two validation images each.
  Ended generate(const std::string& name, int train_per_class,
                 const std::string& options = "") const {
    return shell(std::string(TRAINMARK) + " generate resnet50 --classes 2 --train-per-class " +
                 std::to_string(train_per_class) + " --validation-per-class 2 --image-size 32 " +
                 "--threads 1 --output " + (folder_ / name).string() + " " + options);
  }

  json config() const {
    return {{"workload", "resnet50"},
            {"epochs", 1},
            {"seed", 3},
            {"threads", 1},
            {"clear_caches", "never"},
            {"dataset",
             {{"train", (folder_ / "data/train").string()},
              {"validation", (folder_ / "data/validation").string()},
              {"preprocess", "cifar"}}},
            {"model", {{"depth", 26}, {"width", 8}, {"image_size", 32}, {"classes", 2}}},
            {"training", {{"global_batch_size", 4}, {"bn_group_size", 2}}},
            {"optimizer", {{"name", "sgd"}}},
            {"schedule", {{"name", "constant"}, {"learning_rate", 0.01}}},
            {"staging", {{"directory", (folder_ / "near").string()}}},
            {"results", {{"directory", (folder_ / "results").string()}, {"system", "box"}}}};
  }

  std::string saved(const json& object) const {
    std::ofstream(folder_ / "config.json") << object;
    return (folder_ / "config.json").string();
  }

  /// `trainmark run` with the configuration as `change` leaves it; `before` precedes the program.
  template <class Change>
  Ended run(Change change, const std::string& before = "") const {
    json object = config();
    change(object);
    return shell(before + TRAINMARK " run " + saved(object));
  }

  static void expect(const Ended& ended, int status, const testing::Matcher<std::string>& message) {
    EXPECT_EQ(ended.status, status);
    EXPECT_THAT(ended.err, message);
  }

  fs::path an_image() const { return *fs::directory_iterator(folder_ / "data/train/" / a_class()); }
  std::string a_class() const {
    return fs::directory_iterator(folder_ / "data/train")->path().filename().string();
  }
  fs::path result(const std::string& ending) const {
    return folder_ / "results/box/resnet50" / ("result_" + ending);
  }
  std::string last_record() const {
    std::istringstream log(content(result("1.txt")));
    std::string last;
    for (std::string line; std::getline(log, line);) last = line;
    return last;
  }

  /// The last image below `folder`, which is the last rank's, gives way to a pipe that nobody
  /// writes to: whoever reads it waits, as on a file system that hangs.
  void block(const std::string& folder) {
    for (const auto& entry : fs::recursive_directory_iterator(folder_ / folder)) {
      if (entry.is_regular_file()) blocked_ = std::max(blocked_, entry.path());
    }
    fs::rename(blocked_, folder_ / "image");
    ASSERT_EQ(::mkfifo(blocked_.c_str(), 0600), 0);
  }
  void unblock() const {
    fs::remove(blocked_);
    fs::rename(folder_ / "image", blocked_);
  }

 private:
  fs::path blocked_;
};

}  // namespace outside
