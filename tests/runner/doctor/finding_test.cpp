// Findings, their catalogue and their exit codes.
#include "runner/doctor/finding.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <set>

#include "runner/base/thrown_message.h"

namespace doctor {
namespace {

Finding error_of(const char* id) { return {id, Verdict::kError, "", "", "", "", {}}; }

TEST(Catalogue, NamesEachCheckOnceAndDefinesIt) {
  std::set<std::string> ids;
  for (const CatalogueEntry& entry : catalogue()) {
    EXPECT_TRUE(ids.insert(entry.id).second) << entry.id;
    EXPECT_GT(std::string(entry.definition).size(), 5U) << entry.id;
  }
  EXPECT_EQ(catalogue_json().size(), ids.size());
}

TEST(Catalogue, RefusesAnUnknownCheck) { EXPECT_THROW(catalogue_entry("cpu.colour"), base::Error); }

TEST(ExitCodeOfFindings, IsSuccessWithoutErrors) {
  EXPECT_EQ(exit_code({}), base::ExitCode::kSuccess);
  EXPECT_EQ(exit_code({{"rate.memory", Verdict::kWarning, "", "", "", "", {}},
                       {"cpu.smt", Verdict::kNote, "", "", "", "", {}}}),
            base::ExitCode::kSuccess);
}

TEST(ExitCodeOfFindings, IsThatOfTheConfigurationTheDataOrTheMachine) {
  EXPECT_EQ(exit_code({error_of("memory.available")}), base::ExitCode::kUsage);
  EXPECT_EQ(exit_code({error_of("memory.available"), error_of("folder.dataset")}),
            base::ExitCode::kData);
  EXPECT_EQ(exit_code({error_of("folder.write"), error_of("folder.dataset")}),
            base::ExitCode::kSystem);
}

TEST(Finding, IsTheSameAfterAWayThroughJson) {
  const Finding rate{"rate.memory", Verdict::kWarning, "node3", "slow", "faster", "mend", 2.5e9};
  const nlohmann::json object = to_json(rate);
  EXPECT_EQ(object.at("verdict"), "warning");
  EXPECT_EQ(object.at("unit"), "bytes/s");
  const Finding again = finding_from(object);
  EXPECT_EQ(to_json(again), object);
  const Finding plain{"cpu.smt", Verdict::kNotKnown, "", "hidden", "", "", {}};
  EXPECT_TRUE(to_json(plain).at("unit").is_null());
  EXPECT_EQ(to_json(finding_from(to_json(plain))), to_json(plain));
}

}  // namespace
}  // namespace doctor
