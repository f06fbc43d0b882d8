// A small click log and runs on it by the program itself, for tests from outside.
// Hides the configuration's keys and the layout of records. TRAINMARK is the program's path.
#pragma once

#include <gmock/gmock.h>

#include <bit>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runner/from_outside.h"

namespace outside {

using nlohmann::json;

class ClickRun : public ProgramTest {
 protected:
  static constexpr int kDense = 5, kTables = 5, kTrainSamples = 60, kTestSamples = 21;
  static constexpr int kFirstId = 1 + kDense;  ///< column of a record
  static constexpr const char* kRows = "50,7,200,3,31";

  void SetUp() override {
    const Ended made =
        shell(std::string(TRAINMARK) + " generate dlrm --samples " + std::to_string(kTrainSamples) +
              " --test-samples " + std::to_string(kTestSamples) +
              " --validation-samples 0 --threads 1 --seed 3 --dense " + std::to_string(kDense) +
              " --tables " + kRows + " --output " + (folder_ / "data").string());
    ASSERT_EQ(made.status, 0) << made.err;
  }

  fs::path file(const std::string& part) const { return folder_ / "data" / (part + ".bin"); }

  /// Two epochs of four steps, the last of which is short; a target that is never met.
  json config() const {
    return {{"workload", "dlrm"},
            {"epochs", 2},
            {"seed", 3},
            {"threads", 1},
            {"clear_caches", "never"},
            {"target", {{"quality", 1.5}}},
            {"evaluation", {{"per_epoch", 1}}},
            {"dataset", {{"train", file("train").string()}, {"test", file("test").string()}}},
            {"staging", {{"directory", (folder_ / "near").string()}}},
            {"model",
             {{"dense_features", kDense},
              {"embedding_width", 40},
              {"bottom", {24, 40}},
              {"top", {32, 1}},
              {"tables", kRows}}},
            {"training", {{"global_batch_size", 16}}},
            {"optimizer", {{"name", "sgd"}, {"momentum", 0}}},
            {"schedule", {{"name", "constant"}, {"learning_rate", 0.1}}},
            {"results", {{"directory", (folder_ / "results").string()}, {"system", "box"}}}};
  }

  std::string saved(const json& object, const std::string& name = "config.json") const {
    std::ofstream(folder_ / name) << object;
    return (folder_ / name).string();
  }

  /// `trainmark run` with the configuration as `change` leaves it; `before` precedes the program.
  template <class Change>
  Ended run(Change change, const std::string& before = "") const {
    json object = config();
    change(object);
    return shell(before + TRAINMARK " run " + saved(object));
  }

  static void expect(const Ended& ended, int status, const testing::Matcher<std::string>& message) {
    EXPECT_EQ(ended.status, status) << ended.err;
    EXPECT_THAT(ended.err, message);
  }

  /// Gives a column of a record another value.
  static void put(const fs::path& path, std::int64_t record, int column, std::int32_t value) {
    static_assert(std::endian::native == std::endian::little);
    constexpr std::int64_t kValues = kFirstId + kTables;
    std::fstream stream(path, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp((record * kValues + column) * static_cast<std::int64_t>(sizeof(value)));
    stream.write(reinterpret_cast<const char*>(&value), sizeof(value));
    ASSERT_TRUE(stream.good()) << path;
  }

  fs::path result(const std::string& ending) const {
    return folder_ / "results/box/dlrm" / ("result_" + ending);
  }

  /// Values with that key of the log of run `number`, with their epoch_num, in order.
  std::vector<std::pair<double, json>> logged(const std::string& key, int number = 1) const {
    std::vector<std::pair<double, json>> found;
    std::istringstream log(content(result(std::to_string(number) + ".txt")));
    for (std::string line; std::getline(log, line);) {
      const json record = json::parse(line.substr(line.find('{')));
      if (record["key"] != key) continue;
      found.emplace_back(record["metadata"].value("epoch_num", 0.0), record["value"]);
    }
    return found;
  }
};

}  // namespace outside
