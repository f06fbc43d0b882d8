// A fixture with a small click log, for tests that run the program on it.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runner/generated_run.h"

namespace outside {

class ClickRun : public GeneratedRun {
 protected:
  static constexpr int kDense = 5, kTables = 5, kTrainSamples = 60, kTestSamples = 21;
  static constexpr int kFirstId = 1 + kDense;  ///< column of a record
  static constexpr const char* kRows = "50,7,200,3,31";

  ClickRun()
      : GeneratedRun("dlrm", "--samples " + std::to_string(kTrainSamples) + " --test-samples " +
                                 std::to_string(kTestSamples) +
                                 " --validation-samples 0 --seed 3 --dense " +
                                 std::to_string(kDense) + " --tables " + kRows) {}

  fs::path file(const std::string& part) const { return folder_ / "data" / (part + ".bin"); }

  /// Two epochs of four steps, the last of which is short; a target that is never reached.
  json config() const override {
    json config = usual_config();
    config["target"] = {{"quality", 1.5}};
    config["evaluation"] = {{"per_epoch", 1}};
    config["dataset"] = {{"train", file("train").string()}, {"test", file("test").string()}};
    config["model"] = {{"dense_features", kDense},
                       {"embedding_width", 40},
                       {"bottom", {24, 40}},
                       {"top", {32, 1}},
                       {"tables", kRows}};
    config["training"] = {{"global_batch_size", 16}};
    config["optimizer"] = {{"name", "sgd"}, {"momentum", 0}};
    config["schedule"] = {{"name", "constant"}, {"learning_rate", 0.1}};
    return config;
  }

  /// Overwrites one column of a record.
  static void put(const fs::path& path, std::int64_t record, int column, std::int32_t value) {
    static_assert(std::endian::native == std::endian::little);
    constexpr std::int64_t kValues = kFirstId + kTables;
    std::fstream stream(path, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp((record * kValues + column) * static_cast<std::int64_t>(sizeof(value)));
    stream.write(reinterpret_cast<const char*>(&value), sizeof(value));
    ASSERT_TRUE(stream.good()) << path;
  }

  /// (epoch_num, value) of each record with that key in the log of run `number`.
  std::vector<std::pair<double, json>> logged_at(const std::string& key, int number = 1) const {
    std::vector<std::pair<double, json>> found;
    for (const json& record : records(number)) {
      if (record["key"] != key) continue;
      found.emplace_back(record["metadata"].value("epoch_num", 0.0), record["value"]);
    }
    return found;
  }
};

}  // namespace outside
