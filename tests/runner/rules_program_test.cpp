// Runs that the program judges by MLPerf's rules: before they begin, and at their end.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "runner/small_run.h"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using outside::content;
using outside::Ended;
using outside::mpirun;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr int kUsage = 2, kNonCompliant = 5, kTargetMissed = 6;

/// A configuration for MLPerf's own data, which need not exist: the configuration has the number of
/// samples.
class MlperfConfigs : public outside::ProgramTest {
 protected:
  /// As somebody would submit it.
  static json closed(const std::string& workload) {
    json object =
        json::parse(content(fs::path(CONFIGS) / workload / "mlperf.json"), nullptr, true, true);
    object["submission"]["org"] = "Someone";
    object["training"]["precision"] = "f32";  // supported by every CPU
    return object;
  }
  Ended run(const json& object, const std::string& options) const {
    std::ofstream(folder_ / "run.json") << object;
    return shell(std::string(TRAINMARK) + " run " + (folder_ / "run.json").string() +
                 " --set results.directory=" + (folder_ / "results").string() + " " + options);
  }
  /// The member /rules of a dry run.
  json rules_of(const json& object, const std::string& options = "") const {
    const Ended plan = run(object, "--dry-run --json - " + options);
    EXPECT_EQ(plan.status, 0) << plan.err;
    return json::parse(plan.out).at("rules");
  }
  /// The errors among the findings, each as "rule setting".
  std::vector<std::string> errors_of(const json& object, const std::string& options = "") const {
    std::vector<std::string> errors;
    const json rules = rules_of(object, options);
    for (const json& one : rules["findings"]) {
      if (one["severity"] != "error") continue;
      errors.push_back(one["rule"].get<std::string>() + " " + one["setting"].get<std::string>());
    }
    EXPECT_EQ(rules["errors"], errors.size());
    return errors;
  }
};

TEST_F(MlperfConfigs, BreakNoRuleOfTheirRound) {
  for (const auto& [workload, round] :
       {std::pair{"resnet50", "training-4.0"}, std::pair{"cosmoflow", "hpc-3.0"},
        std::pair{"deepcam", "hpc-3.0"}, std::pair{"dlrm", "training-2.1"}}) {
    const json rules = rules_of(closed(workload));
    EXPECT_EQ(rules["round"], round);
    EXPECT_EQ(rules["findings"], json::array()) << workload;
    json open = closed(workload);
    open["submission"]["division"] = "open";
    EXPECT_THAT(errors_of(open), IsEmpty()) << workload;
  }
}

TEST_F(MlperfConfigs, AreJudgedByTheRoundThatIsAskedFor) {
  const json rules = rules_of(closed("resnet50"), "--round training-2.1");
  EXPECT_EQ(rules["round"], "training-2.1");
  EXPECT_EQ(rules["findings"], json::array());  // this round requires the names of all tensors, too
  EXPECT_EQ(rules_of(closed("cosmoflow"), "--round 1.0 --set submission.division=open")["round"],
            "hpc-1.0")
      << "a number that two usages have leaves the benchmark to decide";
  EXPECT_THAT(errors_of(closed("resnet50"), "--round hpc-3.0"),
              Contains("closed_common/submission_benchmark/value /submission/benchmark"));
  EXPECT_EQ(rules_of(closed("dlrm"), "--set submission.benchmark=dlrm_dcnv2")["round"],
            "training-6.0");
  EXPECT_EQ(rules_of(closed("resnet50"), "--rules off"), nullptr);
}

TEST_F(MlperfConfigs, RefuseARoundThatIsNotThere) {
  const Ended absent = run(closed("resnet50"), "--round training-9.9");
  EXPECT_EQ(absent.status, kUsage);
  EXPECT_THAT(absent.err,
              AllOf(HasSubstr("--round training-9.9"), HasSubstr("there are training")));
  EXPECT_THAT(run(closed("resnet50"), "--round newest").err,
              HasSubstr("--round: must look like hpc-3.0 or 3.0, got newest"));
  EXPECT_EQ(run(closed("resnet50"), "--rules lax").status, kUsage);
  EXPECT_FALSE(fs::exists(folder_ / "results"));
}

/// A change to a configuration that breaks no rule, and the one rule that the change breaks.
struct Change {
  const char* workload;
  const char* pointer;
  json value;
  const char* error;  ///< rule, blank, setting
};
void PrintTo(const Change& change, std::ostream* out) {
  const json& value = change.value;
  *out << change.workload << change.pointer << " " << (value.is_object() ? value["name"] : value);
}

class OneChange : public MlperfConfigs, public testing::WithParamInterface<Change> {};

TEST_P(OneChange, IsToldBeforeTheRun) {
  json object = closed(GetParam().workload);
  object[json::json_pointer(GetParam().pointer)] = GetParam().value;
  EXPECT_THAT(errors_of(object), testing::ElementsAre(GetParam().error));
}

const json kCosine = {{"name", "cosine"},
                      {"learning_rate", 10},
                      {"end_learning_rate", 0.0001},
                      {"warmup_epochs", 5},
                      {"decay_steps", 13137}};
const json kLamb = {{"name", "lamb"}, {"weight_decay", 0.01}};

INSTANTIATE_TEST_SUITE_P(
    ResNet50, OneChange,
    testing::Values(
        Change{"resnet50", "/optimizer/epsilon", 1e-5,
               "closed_resnet_lars/lars_epsilon/value /optimizer/epsilon"},
        Change{"resnet50", "/optimizer/weight_decay", 0.0003,
               "closed_resnet_lars/lars_opt_weight_decay/value /optimizer/weight_decay"},
        Change{"resnet50", "/optimizer/momentum", 0.8,
               "hyperparameter-outside-policy /optimizer/momentum"},
        Change{"resnet50", "/optimizer/nesterov", true, "closed-setting /optimizer/nesterov"},
        Change{"resnet50", "/optimizer/eta", 0.002, "closed-setting /optimizer/eta"},
        Change{"resnet50", "/schedule", kCosine,
               "closed_resnet_lars/lars_opt_learning_rate_decay_poly_power/count /schedule/power"},
        Change{"resnet50", "/schedule/end_learning_rate", 0.001,
               "closed_resnet_lars/lars_opt_end_learning_rate/value /schedule/end_learning_rate"},
        Change{"resnet50", "/training/label_smoothing", 0.2,
               "closed-setting /training/label_smoothing"},
        Change{"resnet50", "/training/gradient_payload", "top_k",
               "closed-setting /training/gradient_payload"},
        Change{"resnet50", "/dataset/preprocess", "torchvision",
               "closed-setting /dataset/preprocess"},
        Change{"resnet50", "/dataset/train_samples", 1281168,
               "sample-count-unusual /dataset/train"},
        Change{"resnet50", "/target/quality", 0.7,
               "closed_resnet/eval_accuracy/once /target/quality"},
        Change{"resnet50", "/target/quality", 0.76, "target-not-of-rules /target/quality"},
        Change{"resnet50", "/evaluation/every_epochs", 8, "evaluation-cadence /evaluation"},
        Change{"resnet50", "/clear_caches", "never", "caches-kept /clear_caches"}));

INSTANTIATE_TEST_SUITE_P(
    HpcAndDlrm, OneChange,
    testing::Values(
        Change{"cosmoflow", "/optimizer/momentum", 0.8, "closed-setting /optimizer/momentum"},
        Change{"cosmoflow", "/optimizer", kLamb, "closed_cosmoflow/opt_name/value /optimizer/name"},
        Change{"cosmoflow", "/target/quality", 0.2,
               "closed_cosmoflow/eval_error/once /target/quality"},
        Change{"cosmoflow", "/evaluation/every_epochs", 2, "evaluation-cadence /evaluation"},
        Change{"cosmoflow", "/model/redshifts", 2, "closed-setting /model/redshifts"},
        Change{"deepcam", "/optimizer/epsilon", 1e-8,
               "closed_deepcam/opt_eps/value /optimizer/epsilon"},
        Change{"deepcam", "/optimizer/max_gradient_norm", 2,
               "closed_deepcam_lamb/opt_max_grad_norm/value /optimizer/max_gradient_norm"},
        Change{"deepcam", "/dataset/train_samples", 121216,
               "closed_deepcam/train_samples/value /dataset/train"},
        Change{"deepcam", "/target/quality", 0.8,
               "closed_deepcam/eval_accuracy/once /target/quality"},
        Change{"dlrm", "/schedule/power", 3,
               "closed_dlrm/sgd_opt_learning_rate_decay_poly_power/value /schedule/power"},
        Change{"dlrm", "/evaluation/per_epoch", 10, "evaluation-cadence /evaluation"},
        Change{"dlrm", "/optimizer/weight_decay", 0.001, "closed-setting /optimizer/weight_decay"},
        Change{"dlrm", "/training/gradient_payload", "top_k",
               "closed-setting /training/gradient_payload"},
        Change{"dlrm", "/dataset/test_samples", 1000, "sample-count-unusual /dataset/test"},
        Change{"dlrm", "/target/quality", 0.8, "closed_dlrm/eval_accuracy/once /target/quality"}));

TEST_F(MlperfConfigs, AreRefusedByStrictRulesBeforeDataIsTouched) {
  json object = closed("resnet50");
  object["optimizer"]["nesterov"] = true;
  object["evaluation"]["every_epochs"] = 8;
  const Ended refused = run(object, "--rules strict");  // there is no data
  EXPECT_EQ(refused.status, kNonCompliant) << refused.err;
  EXPECT_THAT(refused.err,
              AllOf(HasSubstr("breaks 2 rules of training-4.0"),
                    HasSubstr("/optimizer/nesterov: must be false, got true"),
                    HasSubstr("/evaluation: resnet must be evaluated every 4 epochs")));
  EXPECT_FALSE(fs::exists(folder_ / "results"));
  EXPECT_EQ(run(object, "--rules strict --dry-run").status, kNonCompliant);
  EXPECT_EQ(run(closed("resnet50"), "--rules strict --dry-run").status, 0);
}

using JudgedRun = outside::SmallRun;

void as_submitted(json& c) {
  c["submission"] = {{"division", "closed"}, {"org", "Someone"}, {"platform", "some machine"}};
}

TEST_F(JudgedRun, TellsWhatItBreaksOnceAndTheVerdictAtItsEnd) {
  const Ended ran = run(as_submitted, mpirun(2));
  ASSERT_EQ(ran.status, kTargetMissed) << ran.err;
  const std::string first = "this run breaks ";
  const std::size_t at = ran.err.find(first);
  ASSERT_NE(at, std::string::npos) << ran.err;
  EXPECT_EQ(ran.err.find(first, at + 1), std::string::npos) << ran.err;
  EXPECT_LT(at, ran.err.find("run 1 of 1: seed")) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("more, which --dry-run lists"));
  EXPECT_THAT(ran.out, HasSubstr("rules:     fails training-4.0: eval_accuracy, "));
  expect_verdict_of_check();
}

TEST_F(JudgedRun, SaysLittleOfWhatNobodySubmits) {
  const Ended ran = run([](json&) {});
  EXPECT_THAT(ran.err, AllOf(HasSubstr("; --dry-run lists them"), Not(HasSubstr("[caches-kept]"))));
  expect_verdict_of_check();
  fs::remove_all(folder_ / "results");
  const Ended off = run(as_submitted, "", "--rules off");
  EXPECT_THAT(off.err + off.out, Not(HasSubstr("rules:")));
  EXPECT_FALSE(json::parse(content(result("1.telemetry.json")))["provenance"].contains("rules"));
}

TEST_F(JudgedRun, PassesInTheOpenDivisionAndNamesTheRound) {
  const auto open = [](json& c) {
    as_submitted(c);
    c["submission"]["division"] = "open";
    c["target"] = {{"quality", 0.01}};
    c["epochs"] = 8;  // at least one of them recognises something, on any CPU
    c["clear_caches"] = "auto";
  };
  const Ended ran = run(open, "", "--rules strict --round training-3.1");
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("rules:     passes training-3.1\n"));
  const json rules = json::parse(content(result("1.telemetry.json")))["provenance"]["rules"];
  EXPECT_EQ(rules["round"], "training-3.1");
  EXPECT_EQ(rules["mode"], "strict");
  EXPECT_EQ(rules["passes"], true);
  EXPECT_THAT(broken_rules("training-3.1"), IsEmpty());
}

TEST_F(JudgedRun, SaysThatAResumedRunCannotBeSubmitted) {
  const auto saving = [](json& c) {
    c["epochs"] = 2;
    c["checkpoint"] = {{"every_steps", 2}, {"keep_last", 9}};
  };
  ASSERT_EQ(run(saving).status, kTargetMissed);
  const Ended resumed = run(saving, "", resume_from("checkpoint_0001_step_2.h5"));
  EXPECT_THAT(resumed.out, HasSubstr("; a resumed run cannot be submitted"));
  expect_verdict_of_check("2");
  const Ended refused =
      run(saving, "", "--rules strict " + resume_from("checkpoint_0001_step_2.h5"));
  EXPECT_EQ(refused.status, kNonCompliant);
  EXPECT_THAT(refused.err, HasSubstr("[run-resumed]"));
}

}  // namespace
