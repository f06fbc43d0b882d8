// Log keys are spelled only in runner/mllog/keys.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string>;

constexpr char kKeys[] = "runner/mllog/keys.h";

/// Names also used in configurations, results, reports and system descriptions.
const Names kSharedNames = {"accelerators_per_node",
                            "batchnorm_group_size",
                            "checkpoint",
                            "config_filename",
                            "direction",
                            "dropout",
                            "epoch_num",
                            "eval_samples",
                            "global_batch_size",
                            "gradient_accumulation_steps",
                            "learning_rate",
                            "metric",
                            "micro_batch_size",
                            "number_of_nodes",
                            "number_of_ranks",
                            "resumed",
                            "sample_split",
                            "seed",
                            "status",
                            "step",
                            "step_num",
                            "submission_benchmark",
                            "tensor",
                            "throughput",
                            "train_samples"};

/// Every string literal in a line of code.
std::vector<std::string> literals_of(const std::string& line) {
  static const std::regex literal(R"re("([a-z0-9_]+)")re");
  std::vector<std::string> all;
  for (std::sregex_iterator at(line.begin(), line.end(), literal), end; at != end; ++at) {
    all.push_back((*at)[1]);
  }
  return all;
}

Names keys() {
  Names all;
  std::ifstream file(kKeys);
  for (std::string line; std::getline(file, line);) {
    for (const std::string& key : literals_of(line)) all.insert(key);
  }
  return all;
}

/// "runner/run_log.cpp:3: run_stop" for each key that is spelled elsewhere.
std::vector<std::string> spelled_in(const fs::path& path, const Names& keys) {
  std::vector<std::string> found;
  std::ifstream file(path);
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    for (const std::string& literal : literals_of(line.substr(0, line.find("//")))) {
      if (!keys.contains(literal) || kSharedNames.contains(literal)) continue;
      found.push_back(path.generic_string() + ":" + std::to_string(number) + ": " + literal);
    }
  }
  return found;
}

TEST(LogKeys, AreSpelledInOneFile) {
  const Names known = keys();
  ASSERT_GT(known.size(), 80U) << "not run from the project's root";
  for (const std::string& shared : kSharedNames) EXPECT_TRUE(known.contains(shared)) << shared;
  std::vector<std::string> elsewhere;
  for (const char* folder : {"runner", "staging", "workloads", "analysis"}) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      const std::string ending = entry.path().extension().string();
      if ((ending != ".cpp" && ending != ".h") || entry.path() == kKeys) continue;
      for (std::string& one : spelled_in(entry.path(), known)) elsewhere.push_back(std::move(one));
    }
  }
  EXPECT_THAT(elsewhere, testing::IsEmpty()) << "name it by its constant in " << kKeys;
}

TEST(LogKeys, WouldBeFoundWhereTheyAreSpelled) {
  const fs::path path = fs::path(testing::TempDir()) / "spelled.cpp";
  std::ofstream(path) << "first\nlog.event(\"run_stop\", 1);  // \"eval_stop\"\nkey(\"seed\");\n";
  EXPECT_THAT(spelled_in(path, keys()),
              testing::ElementsAre(path.generic_string() + ":2: run_stop"));
  fs::remove(path);
}

}  // namespace
