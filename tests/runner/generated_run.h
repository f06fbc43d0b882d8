// Runs of the program on a few small generated samples, for tests from outside. TRAINMARK is the
// program's path.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "runner/from_outside.h"

namespace outside {

using nlohmann::json;

class GeneratedRun : public ProgramTest {
 protected:
  /// `options`: of `trainmark generate`, for the number and size of samples.
  GeneratedRun(std::string workload, std::string options)
      : workload_(std::move(workload)), options_(std::move(options)) {}

  void SetUp() override {
    const Ended made = generate("data", options_);
    ASSERT_EQ(made.status, 0) << made.err;
  }
  Ended generate(const std::string& name, const std::string& options) const {
    return shell(std::string(TRAINMARK) + " generate " + workload_ + " " + options +
                 " --threads 1 --output " + (folder_ / name).string());
  }

  /// The folder "train" or "validation".
  fs::path set(const std::string& part) const { return folder_ / "data" / part; }
  /// File number `index` of that folder.
  fs::path file(const std::string& part, std::size_t index) const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(set(part))) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    return files.at(index);
  }
  static void write(const fs::path& path, const std::vector<std::byte>& bytes) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }

  /// A few steps and a target that is never met.
  virtual json config() const = 0;
  /// The keys that do not depend on the workload.
  json usual_config() const {
    return {
        {"workload", workload_},
        {"epochs", 2},
        {"seed", 3},
        {"threads", 1},
        {"clear_caches", "never"},
        {"dataset", {{"train", set("train").string()}, {"validation", set("validation").string()}}},
        {"staging", {{"mode", "shard"}, {"directory", (folder_ / "near").string()}}},
        {"results", {{"directory", (folder_ / "results").string()}, {"system", "box"}}}};
  }

  std::string saved(const json& object, const std::string& name = "config.json") const {
    std::ofstream(folder_ / name) << object;
    return (folder_ / name).string();
  }

  /// `trainmark run` with the configuration changed by `change`; `before` precedes the program,
  /// `options` follow it.
  template <class Change>
  Ended run(Change change, const std::string& before = "", const std::string& options = "") const {
    json object = config();
    change(object);
    return shell(before + TRAINMARK " run " + saved(object) + " " + options);
  }
  /// The option to resume from a checkpoint of the first run.
  std::string resume_from(const std::string& name) const {
    return "--resume " + result("1.checkpoints/" + name).string();
  }
  /// `trainmark evaluate` of the configuration with these weights.
  Ended evaluate(const json& object, const fs::path& weights, const std::string& options = "",
                 const std::string& before = "") const {
    return shell(before + TRAINMARK " evaluate " + saved(object) + " --weights " +
                 weights.string() + " " + options);
  }
  Ended bench(const std::string& options) const {
    return shell(std::string(TRAINMARK) + " bench " + options);
  }

  json plan(const json& object, const std::string& before = "") const {
    const Ended planned = shell(before + TRAINMARK " run --dry-run --json - " + saved(object));
    EXPECT_EQ(planned.status, 0) << planned.err;
    EXPECT_FALSE(fs::exists(folder_ / "results"));
    return json::parse(planned.out);
  }

  /// The rule findings of a plan, each as "setting: text".
  static std::vector<std::string> breaks_of(const json& planned) {
    std::vector<std::string> breaks;
    for (const json& one : planned.at("rules").at("findings")) {
      breaks.push_back(one.at("setting").get<std::string>() + ": " +
                       one.at("text").get<std::string>());
    }
    return breaks;
  }

  /// Planned bytes of the first rank, and the largest resident set measured there.
  struct Bytes {
    double planned = 0.0, taken = 0.0;
  };
  Bytes bytes_of(const json& object, int ranks) const {
    fs::remove_all(folder_ / "results");
    const Ended planned = shell(std::string(TRAINMARK) + " config --memory --json - --ranks " +
                                std::to_string(ranks) + " " + saved(object));
    EXPECT_EQ(planned.status, 0) << planned.err;
    const Ended ran = shell(mpirun(ranks) + TRAINMARK " run " + saved(object));
    EXPECT_TRUE(fs::exists(result("1.telemetry.json"))) << ran.status << ": " << ran.err;
    const json report = json::parse(content(result("1.telemetry.json")));
    return {json::parse(planned.out).at("total_bytes"),
            report.at("ranks").at(0).at("peak_rss_bytes")};
  }

  static void expect(const Ended& ended, int status, const testing::Matcher<std::string>& message) {
    EXPECT_EQ(ended.status, status) << ended.err;
    EXPECT_THAT(ended.err, message);
  }

  /// Runs with `change`, alone and on two ranks: only the log of how the run ended remains.
  template <class Change>
  void expect_everywhere(Change change, int status, const testing::Matcher<std::string>& message,
                         const std::string& environment = "") {
    using testing::HasSubstr;
    for (const std::string& before : {std::string(), mpirun(2)}) {
      SCOPED_TRACE(before.empty() ? "alone" : "on two ranks");
      expect(run(change, environment + before), status, message);
      EXPECT_TRUE(all_end());
      if (!fs::exists(folder_ / "results")) continue;
      for (const auto& entry : fs::recursive_directory_iterator(folder_ / "results")) {
        EXPECT_FALSE(entry.path().string().ends_with(".part")) << entry.path();
        EXPECT_FALSE(entry.path().string().ends_with("weights.h5")) << entry.path();
      }
      // A run that had begun logs how it ended.
      EXPECT_THAT(content(result("1.txt")), testing::AnyOf(testing::Not(HasSubstr("\"run_start\"")),
                                                           HasSubstr("\"status\": \"aborted\"")));
      fs::remove_all(folder_ / "results");
    }
  }
  void expect_everywhere(int status, const testing::Matcher<std::string>& message) {
    expect_everywhere([](json&) {}, status, message);
  }
  /// The same while samples are read in place.
  void expect_in_place(int status, const testing::Matcher<std::string>& message) {
    expect_everywhere([](json& c) { c["staging"]["mode"] = "stream"; }, status, message);
  }

  fs::path result(const std::string& ending) const {
    return folder_ / "results/box" / workload_ / ("result_" + ending);
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
  /// Keys of the log in order, repetitions removed.
  std::vector<std::string> keys() const {
    std::vector<std::string> keys;
    for (const json& record : records()) {
      const std::string key = record["key"];
      if (keys.empty() || keys.back() != key) keys.push_back(key);
    }
    return keys;
  }
  /// A run's verdict on its log must be that of `trainmark check`.
  void expect_verdict_of_check(const std::string& log = "1") const {
    const json telemetry = json::parse(content(result(log + ".telemetry.json")));
    const json& told = telemetry.at("provenance").at("rules");
    const Ended checked =
        shell(std::string(TRAINMARK) + " check --json - " + result(log + ".txt").string());
    const json found = json::parse(checked.out).at("files").at("result_" + log + ".txt");
    const auto errors = std::count_if(found["findings"].begin(), found["findings"].end(),
                                      [](const json& one) { return one["severity"] == "error"; });
    EXPECT_EQ(told["ruleset"], found["ruleset"]);
    EXPECT_EQ(told["passes"], found["verdict"] == "SUCCESS");
    EXPECT_EQ(told["failing_keys"], found["failing_keys"]);
    EXPECT_EQ(told["errors"], errors);
  }
  /// The errors that `trainmark check` finds in the first log under a round's rules.
  std::vector<std::string> broken_rules(const std::string& round) const {
    const Ended checked = shell(std::string(TRAINMARK) + " check --round " + round + " --json - " +
                                result("1.txt").string());
    std::vector<std::string> errors;
    const json verdicts = json::parse(checked.out);
    for (const json& finding : verdicts["files"]["result_1.txt"]["findings"]) {
      if (finding["severity"] == "error") errors.push_back(finding["rule"]);
    }
    EXPECT_EQ(checked.status, errors.empty() ? 0 : 5) << checked.err;
    return errors;
  }

 private:
  const std::string workload_, options_;
};

}  // namespace outside
