// A few small universes and runs on them by the program itself, for tests from outside.
// Hides the configuration's keys and how a sample is replaced. TRAINMARK is the program's path.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runner/from_outside.h"
#include "staging/dataset/universe.h"

namespace outside {

using nlohmann::json;

class UniverseRun : public ProgramTest {
 protected:
  static constexpr int kSize = 8, kTrainSamples = 12, kValidationSamples = 5;

  void SetUp() override {
    const Ended made =
        shell(std::string(TRAINMARK) + " generate cosmoflow --train-samples " +
              std::to_string(kTrainSamples) + " --validation-samples " +
              std::to_string(kValidationSamples) + " --size " + std::to_string(kSize) +
              " --threads 1 --seed 3 --output " + (folder_ / "data").string());
    ASSERT_EQ(made.status, 0) << made.err;
  }

  /// The folder "train" or "validation".
  fs::path set(const std::string& part) const { return folder_ / "data" / part; }
  /// Its file number `index`.
  fs::path file(const std::string& part, std::size_t index) const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(set(part))) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    return files.at(index);
  }
  /// Puts `bytes` in its place, where they may be of another format.
  fs::path replace(const std::string& part, std::size_t index, const std::vector<std::byte>& bytes,
                   dataset::UniverseFormat format) const {
    fs::path path = file(part, index);
    fs::remove(path);
    path.replace_extension(dataset::universe_extension(format));
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return path;
  }
  static dataset::Universe universe(std::int64_t size = kSize) {
    dataset::Universe made;
    made.extents = {size, size, size};
    made.channels = 4;
    made.counts.resize(static_cast<std::size_t>(size * size * size * 4), 1);
    return made;
  }

  /// Two epochs of three steps; a target that is never met.
  json config() const {
    return {
        {"workload", "cosmoflow"},
        {"epochs", 2},
        {"seed", 3},
        {"threads", 1},
        {"clear_caches", "never"},
        {"target", {{"quality", 0.001}}},
        {"dataset", {{"train", set("train").string()}, {"validation", set("validation").string()}}},
        {"staging", {{"directory", (folder_ / "near").string()}}},
        {"model", {{"size", kSize}, {"channels", {16, 16}}, {"dense", {8}}}},
        {"training", {{"global_batch_size", 4}}},
        {"schedule", {{"learning_rate", 0.001}, {"scaling", "none"}}},
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

  fs::path result(const std::string& ending) const {
    return folder_ / "results/box/cosmoflow" / ("result_" + ending);
  }

  /// The records of the log of run `number`.
  std::vector<json> records(int number = 1) const {
    std::vector<json> found;
    std::istringstream log(content(result(std::to_string(number) + ".txt")));
    for (std::string line; std::getline(log, line);) {
      found.push_back(json::parse(line.substr(line.find('{'))));
    }
    return found;
  }
  /// Values with that key, in order.
  std::vector<json> logged(const std::string& key, int number = 1) const {
    std::vector<json> found;
    for (const json& record : records(number)) {
      if (record["key"] == key) found.push_back(record["value"]);
    }
    return found;
  }
};

}  // namespace outside
