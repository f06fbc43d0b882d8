// The catalogue of audit rules, and a log that breaks each rule.
#include "analysis/audit_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "analysis/made_sets.h"
#include "analysis/oddities.h"
#include "analysis/own_log.h"
#include "runner/base/error.h"
#include "runner/base/temporary_directory.h"

namespace {

using made_sets::findings_in;
using made_sets::Spoilt;
using nlohmann::json;
using own_log::clean;
using own_log::Log;
using own_log::move;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

/// The findings of a clean log after `change`.
Spoilt spoilt(const std::function<void(Log&)>& change, const std::string& benchmark = "cosmoflow") {
  return [=] {
    Log log = clean(benchmark);
    change(log);
    return own_log::judged(log).findings;
  };
}

Spoilt text(const std::string& content) {
  return [=] { return own_log::judged(content).findings; };
}

/// The findings of a submission of `runs` clean logs, each after `change`.
Spoilt submission(int runs, const std::function<void(Log&, int)>& change,
                  const std::string& description = R"({"division": "closed", "number_of_nodes": 1,
                    "accelerators_per_node": "0", "submitter": "Example Lab",
                    "host_processors_per_node": "2"})") {
  return [=] {
    const base::TemporaryDirectory folder;
    for (int i = 0; i < runs; ++i) {
      Log log = own_log::run_of(i);
      change(log, i);
      folder.write("results/box/cosmoflow/result_" + std::to_string(i) + ".txt", log.text());
    }
    if (!description.empty()) folder.write("systems/box.json", description);
    return findings_in(folder);
  };
}

Spoilt telemetry(const std::string& content) {
  return [=] {
    const base::TemporaryDirectory folder;
    folder.write("result_1.txt", golden::ten_seconds_log());
    folder.write("result_1.telemetry.json", content);
    return findings_in(folder);
  };
}

std::string costly_telemetry() {
  json file = json::parse(golden::telemetry_text());
  for (json& rank : file["ranks"]) rank["scope_cost_s"] = 1.0;
  return file.dump();
}

std::string short_telemetry() {
  json file = json::parse(golden::telemetry_text());
  for (json& rank : file["ranks"]) {
    rank["wall_s"] = 5.0;
    rank["subsystems_s"]["input"] = 1.0;
    rank["subsystems_s"]["forward"] = 4.0;
    rank["subsystems_s"]["other"] = 0.0;
  }
  return file.dump();
}

void set(Log& log, const std::string& key, const json& value) { log[key]["value"] = value; }

void shift(Log& log, const std::string& key, double ms) {
  log.each(key, [&](json& one) { move(one, ms); });
}

void add_reading(std::map<std::string, Spoilt>& all) {
  all["malformed-record"] = text(clean().text() + ":::MLLOG {broken\n");
  all["swallowed-record"] = [] {
    std::string content = clean().text();
    content.erase(content.find('\n'), 1);
    return own_log::judged(content).findings;
  };
  all["loose-record"] = text(":::MLL 1558640006.188 run_start: {value: null, metadata: {}}\n");
  all["no-records"] = text("nothing to see\n");
  all["value-not-finite"] = text(clean().text() +
                                 ":::MLLOG {\"time_ms\": 1700000034000, \"event_type\": "
                                 "\"POINT_IN_TIME\", \"key\": \"train_loss\", \"value\": NaN, "
                                 "\"metadata\": {}}\n");
  all["metric-not-a-number"] = spoilt([](Log& log) { set(log, "eval_error", "0.5"); });
  all["own-target-damaged"] = spoilt(
      [](Log& log) { log.insert_before("run_start", own_log::record(950, "quality_target")); });
  all["staging-facts-damaged"] = spoilt([](Log& log) {
    log["staging_stop"]["metadata"]["staging"] = {{"train", {{"mode", "shard"}, {"bytes", -1}}}};
  });
  std::string twice = clean().text();
  twice.insert(twice.find("\"value\""), "\"value\": 1, ");
  all["member-repeated"] = text(twice);
  all["metadata-not-an-object"] = spoilt([](Log& log) { log["cache_clear"]["metadata"] = ""; });
  all["event-type-wrong"] = spoilt([](Log& log) {
    log.each("epoch_stop", [](json& one) { one["event_type"] = "POINT_IN_TIME"; });
  });
  all["event-type-missing"] = spoilt([](Log& log) { log["cache_clear"]["event_type"] = "null"; });
}

void add_end(std::map<std::string, Spoilt>& all) {
  all["run-start-missing"] = spoilt([](Log& log) { log.erase("run_start"); });
  all["run-stop-missing"] = spoilt([](Log& log) { log.erase("run_stop"); });
  all["run-stop-before-start"] = spoilt([](Log& log) { shift(log, "run_stop", -40000); });
  all["run-stop-without-status"] =
      spoilt([](Log& log) { log["run_stop"]["metadata"].erase("status"); });
  all["run-stop-aborted"] = spoilt([](Log& log) {
    log.each("eval_error", [](json& one) { one["value"] = 0.3; });
    log["run_stop"]["metadata"]["status"] = "aborted";
  });
  all["aborted-yet-counted"] =
      spoilt([](Log& log) { log["run_stop"]["metadata"]["status"] = "abort"; });
  all["run-stop-value"] = spoilt([](Log& log) { set(log, "run_stop", {{"success", true}}); });
  all["run-resumed"] = spoilt(
      [](Log& log) { log.insert_before("run_start", own_log::record(950, "resumed", true)); });
  all["success-below-target"] =
      spoilt([](Log& log) { log.at("eval_error", 2)["value"] = 0.12438; });
  all["target-unknown"] = spoilt([](Log& log) { set(log, "submission_benchmark", "of_ours"); });
  all["target-not-of-rules"] = spoilt([](Log& log) {
    log.insert_before("run_start",
                      own_log::record(950, "quality_target", 0.2, {{"direction", "falls"}}));
    log.at("eval_error", 1)["value"] = 0.21;
  });
  all["trained-past-target"] = spoilt([](Log& log) { log.at("eval_error", 1)["value"] = 0.1; });
  all["late-run-stop"] = spoilt([](Log& log) { shift(log, "run_stop", 90000); });
  all["evaluation-after-stop"] = spoilt([](Log& log) {
    log.add(50000, "eval_error", 0.01, {{"epoch_num", 4}});
  });
  all["training-after-stop"] = spoilt([](Log& log) {
    log.add(50000, "epoch_start", nullptr, {{"epoch_num", 4}});
    log.add(60000, "epoch_stop", nullptr, {{"epoch_num", 4}});
  });
  all["evaluation-at-stop"] = spoilt([](Log& log) { shift(log, "run_stop", -1); });
  all["training-before-run-start"] = spoilt([](Log& log) {
    log.insert_before("run_start",
                      own_log::record(950, "epoch_start", nullptr, {{"epoch_num", 1}}));
  });
}

void add_times(std::map<std::string, Spoilt>& all) {
  all["two-clocks"] = spoilt([](Log& log) { log["init_start"]["time_ms"] = 12345; });
  all["time-goes-back"] = spoilt([](Log& log) { shift(log, "seed", 20000); });
  all["time-zero"] = spoilt([](Log& log) { log["submission_org"]["time_ms"] = 0; });
  all["time-unit"] = spoilt([](Log& log) {
    for (json& one : log.records) one["time_ms"] = one["time_ms"].get<double>() / 1000.0;
  });
  all["init-too-long"] = spoilt([](Log& log) { shift(log, "init_start", -1801e3); });
  all["init-times-impossible"] = spoilt([](Log& log) { shift(log, "init_stop", 344111e3); });
  all["interval-not-stopped"] =
      spoilt([](Log& log) { log.records.erase(log.find("eval_stop", 1)); });
  all["interval-not-started"] =
      spoilt([](Log& log) { log.records.erase(log.find("eval_start", 1)); });
  all["interval-labels-differ"] =
      spoilt([](Log& log) { log.at("epoch_stop", 2)["metadata"]["epoch_num"] = 4; });
  all["intervals-overlap"] = spoilt([](Log& log) { move(log.at("epoch_stop", 0), 5000); });
  all["intervals-cross"] = spoilt([](Log& log) {
    move(log.at("eval_start", 2), -2000);
    move(log.at("eval_stop", 2), 3000);
    shift(log, "run_stop", 4000);
  });
  all["evaluation-beside-training"] = spoilt([](Log& log) {
    shift(log, "eval_start", 2000);
    shift(log, "eval_stop", 8000);
  });
  all["staging-outside-run"] = spoilt([](Log& log) {
    shift(log, "staging_start", -5000);
    shift(log, "staging_stop", -5000);
  });
  all["staging-empty"] = spoilt([](Log& log) { shift(log, "staging_stop", -2992); });
}

void add_epochs(std::map<std::string, Spoilt>& all) {
  for (const auto& [rule, epoch] :
       {std::pair{"evaluation-more-frequent", 10}, std::pair{"evaluation-cadence", 14}}) {
    all[rule] = spoilt(
        [number = epoch](Log& log) {
          for (const char* key : {"eval_accuracy", "eval_start", "eval_stop"}) {
            log.at(key, 2)["metadata"]["epoch_num"] = number;
          }
        },
        "resnet");
  }
  all["first-evaluation"] = spoilt([](Log& log) {
    for (json& one : log.records) {
      if (one["metadata"].contains("epoch_num")) {
        one["metadata"]["epoch_num"] = one["metadata"]["epoch_num"].get<int>() + 3;
      }
    }
  });
  all["epoch-number-missing"] =
      spoilt([](Log& log) { log["eval_start"]["metadata"].erase("epoch_num"); });
  all["epoch-number-stuck"] = spoilt([](Log& log) {
    for (json& one : log.records) {
      if (one["metadata"].contains("epoch_num")) one["metadata"]["epoch_num"] = 7;
    }
  });
  all["epoch-number-back"] =
      spoilt([](Log& log) { log.at("eval_error", 2)["metadata"]["epoch_num"] = 1; });
  all["epoch-number-gap"] = spoilt([](Log& log) {
    for (json& one : log.records) {
      if (one["metadata"].value("epoch_num", 0) == 3) one["metadata"]["epoch_num"] = 5;
    }
  });
  all["epochs-from-zero"] = spoilt([](Log& log) {
    for (json& one : log.records) {
      if (!one["metadata"].contains("epoch_num")) continue;
      one["metadata"]["epoch_num"] = one["metadata"]["epoch_num"].get<int>() - 1;
    }
  });
  all["metric-of-another-name"] = spoilt(
      [](Log& log) { log.each("eval_error", [](json& one) { one["key"] = "eval_accuracy"; }); });
  all["second-metric"] = spoilt([](Log& log) {
    log.insert_before("run_stop",
                      own_log::record(34000, "eval_accuracy", -0.03, {{"epoch_num", 3}}));
  });
  all["quality-out-of-range"] =
      spoilt([](Log& log) { log.at("eval_accuracy", 2)["value"] = 75.9; }, "resnet");
}

void add_settings(std::map<std::string, Spoilt>& all) {
  all["seed-missing"] = spoilt([](Log& log) { log.erase("seed"); });
  all["seed-null"] = spoilt([](Log& log) { set(log, "seed", nullptr); });
  all["seed-not-an-integer"] = spoilt([](Log& log) { set(log, "seed", "7"); });
  all["several-seeds"] =
      spoilt([](Log& log) { log.insert_after("seed", own_log::record(3, "seed", 8)); });
  all["placeholder"] = spoilt(
      [](Log& log) { set(log, "submission_platform", "128xSUBMISSION_PLATFORM_PLACEHOLDER"); });
  all["conflicting-values"] = spoilt(
      [](Log& log) { log.insert_after("seed", own_log::record(3, "global_batch_size", 32)); });
  all["repeated-keys"] =
      spoilt([](Log& log) { log.insert_after("init_start", own_log::record(2, "init_start")); });
  all["hyperparameter-outside-policy"] = spoilt([](Log& log) {
    log.insert_after("seed", own_log::record(3, "opt_learning_rate_decay_factor", {0.5, 1.0}));
  });
  all["sample-count-unusual"] = spoilt([](Log& log) { set(log, "train_samples", 524000); });
  all["throughput-unit-differs"] = spoilt(
      [](Log& log) { log.insert_before("run_stop", own_log::record(33000, "throughput", 12.5)); });
}

void add_sets(std::map<std::string, Spoilt>& all) {
  const auto nothing = [](Log&, int) {};
  all["side-file-damaged"] = submission(10, nothing, "{not json");
  all["system-description-missing"] = submission(10, nothing, "");
  all["system-division-differs"] = submission(10, nothing, R"({"division": "Open"})");
  all["system-nodes-differ"] = submission(10, nothing, R"({"number_of_nodes": "2"})");
  all["system-accelerators-differ"] = submission(10, nothing, R"({"accelerators_per_node": 4})");
  all["system-submitter-differs"] = submission(10, nothing, R"({"submitter": "Somebody"})");
  all["run-count"] = submission(9, nothing);
  all["too-many-failed"] = submission(10, [](Log& log, int i) {
    if (i < 2) log.erase("run_stop");
  });
  all["seed-repeated"] = submission(10, [](Log& log, int i) {
    if (i == 1) set(log, "seed", 0);
  });
  all["run-continued"] = submission(10, [](Log& log, int i) {
    if (i == 0) log.erase("run_stop");
    if (i != 1) return;
    log.insert_after(
        "run_start",
        own_log::record(1001, "resumed", true,
                        {{"checkpoint", "r/result_0.checkpoints/checkpoint_0001_step_5.h5"}}));
  });
  all["run-repeated"] = made_sets::submissions({{"hpc_v1.0/a", {1, 1}}});
  all["run-resubmitted"] = made_sets::submissions({{"hpc_v1.0/a", {1}}, {"hpc_v2.0/a", {1}}});
  all["resubmission-differs"] =
      made_sets::files({{"hpc_v1.0/a/results/box/cosmoflow/result_0.txt", clean().text()},
                        {"hpc_v2.0/a/results/box/cosmoflow/result_0.txt", clean().text()}});
  all["curve-repeated"] = submission(10, [](Log& log, int i) {
    if (i == 1) log.each("eval_error", [](json& one) { move(one, 5); });
    if (i == 1)
      log.each("eval_error", [](json& one) { one["value"] = one["value"].get<double>() + 0.0001; });
  });
  all["seed-of-others"] = made_sets::shared_seeds(1);
  all["seeds-of-others"] = made_sets::shared_seeds(2);
  all["result-outlier"] = made_sets::slow_submission();
  all["window-not-median"] = made_sets::picked({0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  all["runs-not-consecutive"] = made_sets::picked({0, 1, 2, 3, 4, 5, 6, 7, 8, 11});
  all["no-window"] = made_sets::picked({}, 6);
  all["batch-sizes-differ"] = submission(10, [](Log& log, int i) {
    if (i == 1) set(log, "global_batch_size", 128);
  });
  all["benchmarks-differ"] = submission(10, [](Log& log, int i) {
    if (i == 1) set(log, "submission_benchmark", "oc20");
  });
  all["telemetry-damaged"] = telemetry("{}");
  all["telemetry-not-covering"] = telemetry(short_telemetry());
  all["telemetry-costly"] = telemetry(costly_telemetry());
}

std::map<std::string, Spoilt> breaches() {
  std::map<std::string, Spoilt> all;
  add_reading(all);
  add_end(all);
  add_times(all);
  add_epochs(all);
  add_settings(all);
  add_sets(all);
  return all;
}

TEST(AuditRules, AreEachToldOfALogThatBreaksThem) {
  const std::map<std::string, Spoilt> all = breaches();
  for (const auto& [name, rule] : analysis::audit_rules()) {
    const auto breach = all.find(std::string(rule.id));
    ASSERT_NE(breach, all.end()) << rule.id << ": no log breaks it";
    const std::vector<analysis::Finding> findings = breach->second();
    EXPECT_THAT(own_log::rules_of(findings), Contains(rule.id));
    for (const analysis::Finding& finding : findings) {
      EXPECT_NE(own_log::audit_rule(finding.rule), nullptr) << finding.text;
      EXPECT_NE(finding.text, "");
    }
  }
  EXPECT_EQ(all.size(), analysis::audit_rules().size());
}

TEST(AuditRules, AreSilentAboutCleanLogsOfEveryBenchmark) {
  for (const char* benchmark : {"cosmoflow", "deepcam", "oc20", "resnet"}) {
    EXPECT_THAT(own_log::rules_of(own_log::judged(clean(benchmark)).findings), IsEmpty())
        << benchmark;
  }
  EXPECT_THAT(own_log::rules_of(submission(10, [](Log&, int) {})()), IsEmpty());
}

TEST(AuditRules, NeverChangeAnOutcomeOrAFigure) {
  const auto plain = own_log::judged(clean());
  Log log = clean();
  set(log, "submission_org", "SUBMISSION_ORG_PLACEHOLDER");
  log.erase("seed");
  log.each("epoch_stop", [](json& one) { one["event_type"] = "POINT_IN_TIME"; });
  const auto odd = own_log::judged(log);
  EXPECT_GE(odd.findings.size(), 3u);
  EXPECT_EQ(odd.facts.outcome, plain.facts.outcome);
  EXPECT_EQ(odd.facts.ttt_s, plain.facts.ttt_s);
  EXPECT_EQ(odd.facts.train_throughput, plain.facts.train_throughput);
}

TEST(AuditRules, TellDifferentSeedsApartWhateverTheirKind) {
  const auto findings =
      submission(10, [](Log& log, int i) { set(log, "seed", 1621233964.65 + 0.001 * i); })();
  EXPECT_THAT(own_log::rules_of(findings), testing::Not(Contains("seed-repeated")));
}

TEST(AuditRules, HaveReadableNamesAndOneSentenceEach) {
  std::set<std::string_view> ids;
  for (const auto& [name, rule] : analysis::audit_rules()) {
    EXPECT_TRUE(rule.severity) << rule.id;
    EXPECT_TRUE(ids.insert(rule.id).second) << rule.id;
    EXPECT_EQ(rule.id.find_first_not_of("abcdefghijklmnopqrstuvwxyz-"), std::string_view::npos);
    EXPECT_TRUE(rule.meaning.ends_with('.')) << rule.id;
    EXPECT_TRUE(rule.advice.ends_with('.')) << rule.id;
    EXPECT_NE(rule.source, "") << rule.id;
  }
}

}  // namespace
