// Lines of MLPerf Training 0.5 and 0.6 as records of the current format.
#include "runner/mllog/old_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runner/mllog/kept_log.h"

namespace mllog {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

/// A record from the text after the place of a 0.5 line.
KeptRecord of_05(const std::string& rest, const std::string& benchmark = "resnet") {
  const KeptLog log(":::MLPv0.5.0 " + benchmark + " 1541710832.187837362 (train.py:371) " + rest);
  EXPECT_EQ(log.malformed.size(), 0u) << rest;
  if (log.records.size() != 2u) throw std::runtime_error("expected 2 records of " + rest);
  return log.records[1];
}

/// A record from the text after the seconds of a 0.6 line.
KeptRecord of_06(const std::string& rest) {
  const KeptLog log(":::MLL 1558640006.188 " + rest);
  if (log.records.size() != 1u) throw std::runtime_error("expected a record of " + rest);
  return log.records[0];
}

TEST(Training05, GivesTimePlaceAndTheBenchmarkOnce) {
  const KeptLog log(
      "noise\n"
      "DEBUG:mlperf_compliance::::MLPv0.5.0 resnet 1543786458.883944 (a.py:12) run_start\n"
      ":::MLPv0.5.0 resnet 1543786459 (<string>:1) run_final\n");
  ASSERT_EQ(log.records.size(), 3u);
  const KeptRecord& benchmark = log.records[0];
  EXPECT_EQ(benchmark.key, "submission_benchmark");
  EXPECT_EQ(benchmark.value, "resnet");
  EXPECT_EQ(benchmark.line, 2);
  EXPECT_EQ(benchmark.time_ms, 1543786458883.944);
  const KeptRecord& start = log.records[1];
  EXPECT_EQ(start.key, "run_start");
  EXPECT_EQ(start.event_type, "INTERVAL_START");
  EXPECT_EQ(start.line, 2);
  EXPECT_EQ(start.column, 25);
  EXPECT_EQ(start.time_ms, 1543786458883.944);
  EXPECT_EQ(start.value, nullptr);
  EXPECT_EQ(start.metadata, (Json{{"file", "a.py"}, {"lineno", 12}}));
  EXPECT_EQ(start.format, LogFormat::kMlpV05);
  EXPECT_EQ(log.records[2].key, "run_final");
  EXPECT_EQ(log.records[2].event_type, "POINT_IN_TIME");
  EXPECT_EQ(log.records[2].time_ms, 1543786459000.0);
  EXPECT_EQ(log.records[2].metadata["file"], "<string>");
}

TEST(Training05, GivesValuesTheirMetadata) {
  const KeptRecord accuracy = of_05(R"(eval_accuracy: {"epoch": 3, "value": 0.5327})", "ncf");
  EXPECT_EQ(accuracy.value, 0.5327);
  EXPECT_EQ(accuracy.metadata["epoch_num"], 3);
  const KeptRecord rate = of_05(R"(opt_learning_rate : { "deferred": true, "value": 0 })");
  EXPECT_EQ(rate.key, "opt_learning_rate");
  EXPECT_EQ(rate.value, 0);
  EXPECT_EQ(rate.metadata["deferred"], true);
  EXPECT_EQ(of_05(R"(preproc_vocab_size: {"src": 3, "tgt": 4})").value["tgt"], 4);
}

TEST(Training05, GivesKeysTheirNamesOfToday) {
  EXPECT_EQ(of_05("run_clear_caches").key, "cache_clear");
  EXPECT_EQ(of_05("run_clear_caches").value, true);
  EXPECT_EQ(of_05("run_set_random_seed: 1234").key, "seed");
  EXPECT_EQ(of_05("input_batch_size: 2048").key, "global_batch_size");
  EXPECT_EQ(of_05("input_bn_span: 256").key, "model_bn_span");
  EXPECT_EQ(of_05("preproc_num_train_examples: 1281167").key, "train_samples");
  EXPECT_EQ(of_05("preproc_num_eval_examples: 50000").key, "eval_samples");
  const KeptRecord target = of_05("eval_target: 0.635");
  EXPECT_EQ(target.key, "quality_target");
  EXPECT_EQ(target.value, 0.635);
  EXPECT_EQ(target.metadata["direction"], "rises");
  EXPECT_EQ(of_05(R"(eval_target: {"BBOX": 0.377})").key, "eval_target");
}

TEST(Training05, TakesTheInputsSizeForSamplesInNcfOnly) {
  EXPECT_EQ(of_05("input_size: 19861770", "ncf").key, "train_samples");
  EXPECT_EQ(of_05("input_size: 300", "ssd").key, "input_size");
}

TEST(Training05, NumbersEpochsAndEvaluations) {
  const KeptRecord epoch = of_05("train_epoch: 7");
  EXPECT_EQ(epoch.key, "epoch_start");
  EXPECT_EQ(epoch.value, nullptr);
  EXPECT_EQ(epoch.metadata["epoch_num"], 7);
  EXPECT_EQ(of_05(R"(train_epoch: "61, but this one has only a part")").metadata["epoch_num"], 61);
  EXPECT_FALSE(of_05(R"(train_epoch: "the last")").metadata.contains("epoch_num"));
  EXPECT_EQ(of_05("eval_start: 2").metadata["epoch_num"], 2);
  EXPECT_EQ(of_05("eval_stop: 2").event_type, "INTERVAL_END");
  EXPECT_FALSE(of_05("eval_start").metadata.contains("epoch_num"));
}

TEST(Training05, TellsWhetherTheRunSucceeded) {
  EXPECT_EQ(of_05(R"(run_stop: {"success": true})").metadata["status"], "success");
  EXPECT_EQ(of_05(R"(run_stop: {"success": "true"})").metadata["status"], "success");
  EXPECT_EQ(of_05(R"(run_stop: {"success": false})").metadata["status"], "aborted");
  EXPECT_EQ(of_05(R"(run_stop: {"success": true})").value, nullptr);
  EXPECT_FALSE(of_05("run_stop").metadata.contains("status"));
}

TEST(Training05, SaysWhatIsWrongWithALine) {
  const std::string begin = ":::MLPv0.5.0 resnet 1541710832.1 (a.py:1) ";
  EXPECT_THAT(reason_of(":::MLPv0.5.0 resnet soon (a.py:1) x"),
              HasSubstr("benchmark and seconds, got resnet and soon"));
  EXPECT_THAT(reason_of(":::MLPv0.5.0 resnet 1.2.3 (a.py:1) x"), HasSubstr("seconds"));
  EXPECT_THAT(reason_of(":::MLPv0.5.0 resnet 1541710832.1 a.py x"), HasSubstr("(FILE:LINE)"));
  EXPECT_THAT(reason_of(begin), HasSubstr("(FILE:LINE)"));
  EXPECT_THAT(reason_of(begin + "="), HasSubstr("has no key, but ="));
  EXPECT_THAT(reason_of(begin + "seed 4"), HasSubstr("colon after the key, got 4"));
  EXPECT_THAT(reason_of(begin + "seed: [1, "), HasSubstr("not valid JSON at column 52"));
}

TEST(Training06, ReadsSecondsKeyValueAndMetadata) {
  const KeptRecord start =
      of_06(R"(block_start: {"value": null, "metadata": {"first_epoch_num": 1, "lineno": 8}})");
  EXPECT_EQ(start.time_ms, 1558640006188.0);
  EXPECT_EQ(start.key, "block_start");
  EXPECT_EQ(start.event_type, "INTERVAL_START");
  EXPECT_EQ(start.value, nullptr);
  EXPECT_EQ(start.metadata, (Json{{"first_epoch_num", 1}, {"lineno", 8}}));
  EXPECT_EQ(start.format, LogFormat::kMll);
  EXPECT_EQ(start.fault, "");
}

TEST(Training06, HasNoTimeWhereTheSecondsAreZero) {
  const KeptLog log(R"(:::MLL 0.0 submission_org: {"value": "Google", "metadata": {}})");
  ASSERT_EQ(log.records.size(), 1u);
  EXPECT_FALSE(log.records[0].has_time);
  EXPECT_EQ(log.records[0].time_ms, 0.0);
  EXPECT_TRUE(of_06(R"(run_start: {"value": null, "metadata": {}})").has_time);
}

TEST(Training06, StandsBehindPrefixesAndTheLastOfALineCounts) {
  const std::string record = R"(:::MLL 1558640006.188 seed: {"value": 5, "metadata": {}})";
  const KeptLog log("[1,0]<stdout>:" + record + "\n" + record + record + "\n");
  ASSERT_EQ(log.records.size(), 2u);
  EXPECT_EQ(log.records[0].column, 15);
  EXPECT_EQ(log.reader.swallowed_records(), 1);
}

TEST(Training06, GivesBenchmarkTargetAndAccuraciesTheirFormOfToday) {
  EXPECT_EQ(of_06(R"(submission_benchmark: {"value": "mask", "metadata": {}})").value, "maskrcnn");
  EXPECT_EQ(of_06(R"(submission_benchmark: {"value": "ssd", "metadata": {}})").value, "ssd");
  const KeptRecord target = of_06(R"(eval_target: {"value": 0.759, "metadata": {"lineno": 7}})");
  EXPECT_EQ(target.key, "quality_target");
  EXPECT_EQ(target.metadata, (Json{{"lineno", 7}, {"direction", "rises"}}));
  EXPECT_EQ(of_06(R"(eval_target: {"value": 0.7, "metadata": {}})").metadata,
            (Json{{"direction", "rises"}}));
  const auto accuracy = [](const std::string& value) {
    return of_06("eval_accuracy: {\"value\": " + value + R"(, "metadata": {"epoch_num": 1}})")
        .value;
  };
  EXPECT_EQ(accuracy("0.75"), 0.75);
  EXPECT_EQ(accuracy("\"1.9488001242280006\""), 1.9488001242280006);
  EXPECT_EQ(accuracy("\"high\""), "high");
  EXPECT_EQ(accuracy("\"01\""), "01") << "no number of JSON";
  EXPECT_EQ(accuracy("[0.25, 0.5]"), (Json{{"BBOX", 0.25}, {"SEGM", 0.5}}));
  EXPECT_EQ(accuracy(R"({"accuracy": {"BBOX": 0.25, "SEGM": 0.5}})"),
            (Json{{"BBOX", 0.25}, {"SEGM", 0.5}}));
}

TEST(Training06, ReadsNamesWithoutQuotesAndInSingleOnesAndSaysSo) {
  const KeptRecord clear = of_06("cache_clear: {value: true, metadata: {lineno: 0, file: a/b}}");
  EXPECT_EQ(clear.value, true);
  EXPECT_EQ(clear.metadata, (Json{{"lineno", 0}, {"file", "a/b"}}));
  EXPECT_THAT(clear.fault, HasSubstr("not valid JSON at column 37"));
  const KeptRecord epoch = of_06(
      R"(epoch_start: {"value": None, "metadata": {'file': 'a "b".py', 'ok': True, 'x': [1.5]}})");
  EXPECT_EQ(epoch.value, nullptr);
  EXPECT_EQ(epoch.metadata, (Json{{"file", "a \"b\".py"}, {"ok", true}, {"x", {1.5}}}));
}

TEST(Training06, SaysWhatIsWrongWithALine) {
  EXPECT_THAT(reason_of(":::MLL 15608[2019-06-18 10:02:47] iteration"),
              HasSubstr("seconds, got 156"));
  EXPECT_THAT(reason_of(":::MLL "), HasSubstr("seconds, got nothing"));
  EXPECT_THAT(reason_of(":::MLL 1.5 : {}"), HasSubstr("has no key"));
  EXPECT_THAT(reason_of(":::MLL 1.5 glob[2019-06-18]"),
              HasSubstr("colon after the key, got [2019"));
  EXPECT_THAT(reason_of(":::MLL 1.5 seed: {\"value\": 5"), HasSubstr("not valid JSON at column"));
  EXPECT_THAT(reason_of(":::MLL 1.5 seed: {'value"), HasSubstr("not valid JSON at column"));
  EXPECT_THAT(reason_of(":::MLL 1.5 seed:"), HasSubstr("not valid JSON at column"));
}

TEST(Training06, IsFoundInLinesLongerThanABuffer) {
  const std::string filler(1 << 19, 'x');
  for (std::size_t shift = 0; shift < 16; ++shift) {  // a buffer ends within the token
    const KeptLog log(filler.substr(shift) +
                      R"(:::MLL 1558640006.188 seed: {"value": 5, "metadata": {}})" + filler +
                      "\n" + R"(:::MLL 1558640006.188 seed: {"value": 5, "metadata": {}})");
    EXPECT_EQ(log.malformed.size(), 1u) << shift;
    EXPECT_EQ(log.records.size(), 1u) << shift;
  }
}

}  // namespace
}  // namespace mllog
