// Power logs: figures against values computed by hand, and every fault alone.
#include "analysis/submission/power_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "analysis/submission/power_logs.h"

namespace {

using namespace analysis::submission;
using golden::node_log;
using golden::power_record;
using golden::power_start;
using golden::Reading;
using golden::readings;
using golden::readings_text;
using golden::switch_log;
using mllog::Finding;
using testing::AllOf;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

PowerLog read(const std::string& text, PowerSource source = PowerSource::kNode) {
  std::istringstream in(text);
  return read_power_log(in, source);
}

std::vector<std::string> rules_of(const PowerLog& log) {
  std::vector<std::string> rules;
  for (const Finding& finding : log.findings) rules.push_back(finding.rule);
  return rules;
}

std::vector<std::string> texts_of(const PowerLog& log) {
  std::vector<std::string> texts;
  for (const Finding& finding : log.findings) texts.push_back(finding.text);
  return texts;
}

/// Readings of 500 W, one after each of 60 seconds.
std::vector<Reading> steady() {
  return readings(60, [](int) { return 500.0; });
}

const std::string kStop = power_record(60, "power_measurement_stop");

TEST(PowerLog, RatesConstantPower) {
  // Factor 0.9, 60 intervals of 1 s at 500 W: 0.9 * 500 * 60 = 27000 J in 60 s, which is 450 W.
  const PowerLog log = read(node_log(steady(), "0.9"));
  EXPECT_DOUBLE_EQ(log.energy_j.value(), 27000.0);
  EXPECT_DOUBLE_EQ(log.power_w.value(), 450.0);
  EXPECT_DOUBLE_EQ(log.measured_s.value(), 60.0);
  EXPECT_DOUBLE_EQ(log.sampling_interval_s.value(), 1.0);
  EXPECT_DOUBLE_EQ(log.conversion_efficiency.value(), 0.9);
  EXPECT_EQ(log.samples, 60);
  EXPECT_THAT(log.findings, IsEmpty());
}

TEST(PowerLog, WeighsEachReadingWithTheTimeSinceTheOneBefore) {
  // 1 to 61 W, one reading after each of 61 seconds, but the last after half a second: 1 + ... + 60
  // = 1830 J, and 61 W * 0.5 s = 30.5 J. No reading covers the 0.5 s until the stop. 1860.5 J / 61
  // s.
  std::vector<Reading> varying = readings(61, [](int second) { return double(second); });
  varying.back().second = 60.5;
  const PowerLog log =
      read(power_start() + readings_text(varying) + power_record(61, "power_measurement_stop"));
  EXPECT_DOUBLE_EQ(log.energy_j.value(), 1860.5);
  EXPECT_DOUBLE_EQ(log.power_w.value(), 1860.5 / 61.0);
  EXPECT_DOUBLE_EQ(log.sampling_interval_s.value(), 61.0 / 62.0);
  EXPECT_THAT(log.findings, IsEmpty());
}

TEST(PowerLog, CountsNothingBeforeTheStartOrAfterTheStop) {
  const std::string before = power_record(-5, "power_reading", "9e9");
  const std::string after = power_record(61, "power_reading", "9e9");
  const PowerLog log = read(before + node_log(steady()) + after);
  EXPECT_DOUBLE_EQ(log.energy_j.value(), 30000.0);
  EXPECT_EQ(log.samples, 60);
  EXPECT_THAT(log.findings, IsEmpty());
}

TEST(PowerLog, TakesTheEstimateOfASwitch) {
  // Factor 0.5 of 240 W. Records after the first estimate do not count.
  const std::string later =
      power_record(1, "conversion_eff", "0.1") + power_record(1, "interconnect_power_est", "7");
  const PowerLog log = read(switch_log(240, "0.5") + later, PowerSource::kSwitch);
  EXPECT_DOUBLE_EQ(log.power_w.value(), 120.0);
  EXPECT_EQ(log.energy_j, std::nullopt);
  EXPECT_THAT(log.findings, IsEmpty());
}

TEST(PowerLog, WantsAnEstimateOfASwitch) {
  const PowerLog log = read(node_log(steady()), PowerSource::kSwitch);
  EXPECT_EQ(log.power_w, std::nullopt);
  EXPECT_THAT(texts_of(log), ElementsAre("no energy: expected interconnect_power_est, found none"));
}

TEST(PowerLog, EndsAtTheLastReadingWithoutAStop) {
  const PowerLog log = read(power_start() + readings_text(steady()));
  EXPECT_DOUBLE_EQ(log.energy_j.value(), 30000.0);
  EXPECT_DOUBLE_EQ(log.measured_s.value(), 60.0);
  EXPECT_THAT(texts_of(log), ElementsAre(HasSubstr("no power_measurement_stop: the last")));
  EXPECT_THAT(rules_of(log), ElementsAre("power.log"));
}

TEST(PowerLog, TakesOneForAMissingFactor) {
  const PowerLog log =
      read(power_record(0, "power_measurement_start") + readings_text(steady()) + kStop);
  EXPECT_DOUBLE_EQ(log.power_w.value(), 500.0);
  EXPECT_THAT(texts_of(log), ElementsAre("no conversion_eff: taken as 1"));
}

TEST(PowerLog, HasNoEnergyWithoutAUsableFactor) {
  for (const char* const factor : {"0", "0.0", "-0.9", "NaN", "Infinity", "\"0.9\"", "null"}) {
    const PowerLog log = read(node_log(steady(), factor));
    EXPECT_EQ(log.energy_j, std::nullopt) << factor;
    EXPECT_EQ(log.power_w, std::nullopt) << factor;
    EXPECT_EQ(log.conversion_efficiency, std::nullopt) << factor;
    EXPECT_THAT(rules_of(log), ElementsAre("power.log", "power.log")) << factor;
    EXPECT_EQ(log.findings[0].line, 2) << factor;
    EXPECT_THAT(log.findings[0].text, HasSubstr("above 0 and at most 1, found "));
    EXPECT_EQ(read(switch_log(9, factor), PowerSource::kSwitch).power_w, std::nullopt) << factor;
  }
}

TEST(PowerLog, WarnsOfAFactorInPercent) {
  // 94 * 500 W, as in the official formula.
  const PowerLog log = read(node_log(steady(), "94"));
  EXPECT_DOUBLE_EQ(log.power_w.value(), 47000.0);
  EXPECT_THAT(texts_of(log), ElementsAre("conversion_eff: expected a factor above 0 and at most 1, "
                                         "found 94; taken as it stands"));
}

TEST(PowerLog, HasNoEnergyWhereAReadingIsNoPower) {
  for (const char* const watts : {"NaN", "Infinity", "-1", "\"500\"", "null", "[]", "true"}) {
    std::vector<Reading> odd = steady();
    odd[9].watts = odd[19].watts = watts;
    const PowerLog log = read(node_log(odd));
    EXPECT_EQ(log.energy_j, std::nullopt) << watts;
    EXPECT_EQ(log.samples, 60) << watts;
    ASSERT_THAT(rules_of(log), ElementsAre("power.log", "power.log")) << watts;
    EXPECT_EQ(log.findings[0].line, 12) << watts;
    EXPECT_EQ(log.findings[0].column, 1) << watts;
    EXPECT_THAT(log.findings[0].text, AllOf(HasSubstr("expected watts, a number from 0, found "),
                                            HasSubstr("; 1 more like it")))
        << watts;
  }
}

TEST(PowerLog, KeepsItsEnergyWhereAnOddReadingDoesNotCount) {
  const PowerLog log = read(node_log(steady()) + power_record(70, "power_reading", "NaN"));
  EXPECT_DOUBLE_EQ(log.energy_j.value(), 30000.0);
  EXPECT_THAT(rules_of(log), ElementsAre("power.log"));
}

TEST(PowerLog, HasNoEnergyThatNoNumberHolds) {
  std::vector<Reading> huge = steady();
  for (Reading& one : huge) one.watts = "1e308";
  const PowerLog log = read(node_log(huge));
  EXPECT_EQ(log.energy_j, std::nullopt);
  EXPECT_THAT(texts_of(log), ElementsAre(HasSubstr("add up to no number")));
}

TEST(PowerLog, LeavesDamagedRecordsOut) {
  // The reading of second 30 is lost, so that of second 31 counts for two seconds.
  std::vector<Reading> all = readings(61, [](int second) { return second == 31 ? 600.0 : 500.0; });
  const std::string first = readings_text({all.begin(), all.begin() + 29});
  const std::string rest = readings_text({all.begin() + 30, all.end()});
  const PowerLog log = read(power_start() + first + "noise :::MLLOG {\"time_ms\": \n" + rest +
                            power_record(61, "power_measurement_stop"));
  EXPECT_DOUBLE_EQ(log.energy_j.value(), 59 * 500.0 + 2 * 600.0);
  ASSERT_THAT(rules_of(log), ElementsAre("power.log", "power.sampling"));
  EXPECT_EQ(log.findings[0].line, 32);
  EXPECT_EQ(log.findings[0].column, 7);
  EXPECT_THAT(log.findings[0].text, HasSubstr("damaged record, left out: "));
}

TEST(PowerLog, SortsRecordsByTime) {
  std::vector<Reading> varying = readings(60, [](int second) { return second * 10.0; });
  const PowerLog sorted = read(node_log(varying));
  std::reverse(varying.begin(), varying.end());
  const PowerLog log = read(readings_text(varying) + kStop + power_start());
  EXPECT_DOUBLE_EQ(log.energy_j.value(), 10.0 * 60 * 61 / 2) << "1 + ... + 60 = 60 * 61 / 2";
  EXPECT_DOUBLE_EQ(log.energy_j.value(), sorted.energy_j.value());
  ASSERT_EQ(log.findings.size(), 1u);
  EXPECT_EQ(log.findings[0].severity, Finding::Severity::kNote);
  EXPECT_THAT(log.findings[0].text, HasSubstr("stand after a later one: 60;"));
}

TEST(PowerLog, NeedsOneStretchOfTimeToRate) {
  const std::string start = power_start(), some = readings_text(steady());
  const std::pair<std::string, const char*> cases[] = {
      {power_record(0, "conversion_eff", "1") + some + kStop,
       "one power_measurement_start, found 0"},
      {start + power_record(0, "power_measurement_start") + some + kStop,
       "one power_measurement_start, found 2"},
      {start + some + kStop + kStop, "one power_measurement_stop, found 2"},
      {power_record(-1, "power_measurement_stop") + start + some,
       "power_measurement_stop after power_measurement_start"},
      {start + kStop, "power_reading after power_measurement_start and before its stop"},
      {start + power_record(0, "power_reading", "500") + kStop, "found none"},
      {start + power_record(0, "power_reading", "500"), "found none"},
  };
  for (const auto& [text, expected] : cases) {
    const PowerLog log = read(text);
    EXPECT_EQ(log.power_w, std::nullopt) << expected;
    EXPECT_THAT(texts_of(log), ElementsAre(AllOf(testing::StartsWith("no energy: expected "),
                                                 HasSubstr(expected))));
  }
}

TEST(PowerLog, WantsAReadingASecond) {
  for (const auto& [milliseconds, is_enough] : {std::pair{1000, true}, {1020, false}}) {
    std::vector<Reading> all = steady();
    for (Reading& one : all) one.second *= milliseconds / 1000.0;
    const PowerLog log = read(node_log(all));
    EXPECT_DOUBLE_EQ(log.sampling_interval_s.value(), milliseconds / 1000.0);
    EXPECT_EQ(rules_of(log) == std::vector<std::string>{"power.sampling"}, !is_enough);
    EXPECT_EQ(log.findings.empty(), is_enough);
  }
}

TEST(PowerLog, DoesNotBlameTheStretchesBeforeAndAfterTheReadings) {
  // From the first reading to the last, as written by tools that start with a reading.
  std::vector<Reading> all = steady();
  all.insert(all.begin(), {0.0, "500"});
  EXPECT_THAT(read(node_log(all)).findings, IsEmpty());
  EXPECT_DOUBLE_EQ(read(node_log(all)).sampling_interval_s.value(), 1.0);
  const PowerLog longer =
      read(power_start() + readings_text(all) + power_record(60.9, "power_measurement_stop"));
  EXPECT_THAT(longer.findings, IsEmpty());
}

TEST(PowerLog, WantsSixtyReadings) {
  EXPECT_THAT(read(node_log(steady())).findings, IsEmpty());
  const PowerLog log = read(node_log(readings(59, [](int) { return 500.0; })));
  EXPECT_THAT(rules_of(log), ElementsAre("power.samples"));
  EXPECT_THAT(texts_of(log), ElementsAre(HasSubstr("at least 60 readings from start to stop, "
                                                   "found 59")));
  EXPECT_DOUBLE_EQ(log.power_w.value(), 500.0);
}

TEST(PowerLog, ReadsAHugeLog) {
  constexpr int kSeconds = 50'000;
  const PowerLog log = read(node_log(readings(kSeconds, [](int) { return 400.0; })));
  EXPECT_DOUBLE_EQ(log.energy_j.value(), 400.0 * kSeconds);
  EXPECT_EQ(log.samples, kSeconds);
  EXPECT_THAT(log.findings, IsEmpty());
}

TEST(PowerLog, SurvivesBeingCutOffAnywhere) {
  const std::string whole = node_log(readings(3, [](int) { return 500.0; }));
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    const PowerLog log = read(whole.substr(0, bytes));
    if (log.power_w) {
      EXPECT_DOUBLE_EQ(*log.power_w, 500.0) << bytes;
    }
    EXPECT_FALSE(log.findings.empty()) << bytes;
  }
}

TEST(PowerLog, TellsOfEmptyLogsBytesAndFolders) {
  for (const std::string& text : {std::string(), std::string("\0\xff\r\n", 4)}) {
    const PowerLog log = read(text);
    EXPECT_EQ(log.power_w, std::nullopt);
    EXPECT_THAT(rules_of(log), ElementsAre("power.log", "power.log"));
  }
  const base::TemporaryDirectory folder;
  for (const std::filesystem::path& path : {folder.path(), folder.path() / "missing.txt"}) {
    const PowerLog log = read_power_log(path, PowerSource::kSwitch);
    EXPECT_EQ(log.source, PowerSource::kSwitch);
    EXPECT_THAT(texts_of(log),
                ElementsAre(AnyOf(HasSubstr("no energy: expected a regular file"),
                                  "no energy: cannot open: No such file or directory")));
  }
}

}  // namespace
