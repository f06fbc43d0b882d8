// Audit of a run before it starts.
#include "analysis/audit/planned_log.h"

#include <gmock/gmock.h>

#include <sstream>

#include "analysis/own_log.h"

namespace {

using own_log::Log;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<analysis::Finding> told_of(const Log& log) {
  std::istringstream text(log.text());
  return analysis::audit_planned_log(text);
}

TEST(PlannedLog, ThatIsCleanIsToldNothing) {
  for (const char* benchmark : {"cosmoflow", "deepcam", "resnet"}) {
    EXPECT_THAT(told_of(own_log::clean(benchmark)), IsEmpty()) << benchmark;
  }
}

TEST(PlannedLog, IsToldWhatItsConfigurationBreaksAsErrors) {
  Log log = own_log::clean("resnet");
  log["train_samples"]["value"] = 1000;
  log.insert_after("seed", own_log::record(3, "sgd_opt_momentum", 0.8));
  log.each("eval_accuracy", [](nlohmann::json& one) {
    one["metadata"]["epoch_num"] = one["metadata"]["epoch_num"].get<int>() * 2;
  });
  const auto findings = told_of(log);
  EXPECT_THAT(own_log::rules_of(findings),
              testing::UnorderedElementsAre("sample-count-unusual", "hyperparameter-outside-policy",
                                            "evaluation-cadence", "first-evaluation"));
  for (const auto& one : findings) {
    EXPECT_EQ(one.severity, analysis::Finding::Severity::kError) << one.rule;
  }
}

TEST(PlannedLog, IsToldOfPlaceholdersWhichBreakNothing) {
  Log log = own_log::clean();
  log["submission_org"]["value"] = "SUBMISSION_ORG_PLACEHOLDER";
  const auto findings = told_of(log);
  ASSERT_THAT(own_log::rules_of(findings), ElementsAre("placeholder"));
  EXPECT_EQ(findings[0].severity, analysis::Finding::Severity::kWarning);
}

TEST(PlannedLog, IsToldNothingOfTimesThatMeanNothing) {
  Log log = own_log::clean();
  log.each("run_stop", [](nlohmann::json& one) { one["time_ms"] = 0; });
  EXPECT_THAT(told_of(log), IsEmpty());
}

}  // namespace
