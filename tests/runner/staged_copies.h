// Small runs whose copies on the node are looked at from outside.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "launch_with_faults.h"
#include "runner/small_run.h"

namespace outside {

class StagedCopies : public SmallRun {
 protected:
  /// The staging folder.
  virtual fs::path near() const { return folder_ / "near"; }
  json config() const override {
    json config = SmallRun::config();
    config["staging"]["directory"] = near().string();
    return config;
  }
  /// `trainmark stage` of the configuration.
  std::string stage() const { return TRAINMARK " stage " + saved(config()); }

  /// Samples in the packs on the node, all of which are read.
  std::int64_t samples_in_copies() const {
    const Ended told = shell(stage() + " --verify --json -");
    EXPECT_EQ(told.status, 0) << told.out << told.err;
    std::int64_t samples = 0;
    const json found = json::parse(told.out);
    for (const json& copy : found.at("copies")) {
      EXPECT_EQ(copy.at("damage"), "");
      samples += copy.at("samples").get<std::int64_t>();
    }
    return samples;
  }

  /// All below the staging folder but whole packs of sets, their records and locks.
  std::vector<std::string> leftovers() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(near())) {
      const std::string name = entry.path().filename().string();
      const bool is_left = entry.is_directory()
                               ? name.find(".part.") != std::string::npos
                               : name != "begun.json" && name != "manifest.json" &&
                                     name != "in-use.lock" &&
                                     (!name.starts_with("pack-") || name.size() != kPackName);
      if (is_left) found.push_back(entry.path().string());
    }
    return found;
  }

  /// After any fault: an undisturbed run on two ranks copies exactly what is missing, and leaves
  /// nothing else.
  void expect_next_run_copies_what_is_missing(std::int64_t samples) const {
    const std::int64_t copied = fs::exists(near()) ? samples_in_copies() : 0;
    const Ended next = shell(mpirun(2) + stage() + " --json -");
    ASSERT_EQ(next.status, 0) << next.err;
    const json facts = json::parse(next.out);
    std::int64_t reads = 0;
    for (const char* set : {"train", "validation"}) {
      reads += facts.at(set).at("source_reads").get<std::int64_t>();
    }
    EXPECT_EQ(reads, samples - copied);
    EXPECT_EQ(samples_in_copies(), samples);
    EXPECT_TRUE(leftovers().empty()) << testing::PrintToString(leftovers());
  }

 private:
  static constexpr std::size_t kPackName = std::string_view("pack-00000000").size();
};

}  // namespace outside
