// Tests of a configuration's needs on a node.
#include "runner/doctor/needs.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace doctor {
namespace {

using nlohmann::json;

/// The needs of a toy with this "staging" section.
Needs needs_with(const json& staging) {
  const base::ObjectReader reader({{"workload", "toy"}, {"epochs", 1}, {"staging", staging}},
                                  "toy.json");
  runner::ConfigSource source;
  source.config.emplace(runner::parse_run_config(reader, "toy.json"));
  const base::ObjectReader section = reader.object("staging", "as a workload reads it");
  if (section.has("mode")) (void)section.required<std::string>("mode", "of staging");
  (void)section.optional<std::string>("directory", "", "node-local folder");
  return needs_of_keys(source, {});
}

TEST(NeedsOfKeys, CountTheStagingFolderWhereSamplesAreCopied) {
  for (const char* mode : {"shard", "full"}) {
    const Needs needs = needs_with({{"mode", mode}, {"directory", "/near"}});
    EXPECT_TRUE(needs.stages) << mode;
    EXPECT_EQ(needs.folders.scratch, "/near") << mode;
  }
  for (const json& staging : {json{{"mode", "stream"}, {"directory", "/near"}}, json::object()}) {
    const Needs needs = needs_with(staging);
    EXPECT_FALSE(needs.stages) << staging;
    EXPECT_EQ(needs.folders.scratch, mpi_requirements({}).folders.scratch) << staging;
  }
}

}  // namespace
}  // namespace doctor
