// RecordReader: small examples of every oddity in real logs, and of malformed records.
#include "runner/mllog/record_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "runner/base/error.h"
#include "runner/base/fake_clock.h"
#include "runner/base/random.h"
#include "runner/mllog/kept_log.h"
#include "runner/mllog/log_writer.h"

namespace mllog {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

std::string record(const std::string& key) {
  return R"(:::MLLOG {"time_ms": 1, "key": ")" + key + R"("})";
}

TEST(RecordReader, ReadsEveryMember) {
  const KeptLog log(
      R"(:::MLLOG {"namespace": "", "time_ms": 1603209843251, "event_type": "POINT_IN_TIME", )"
      R"("key": "eval_error", "value": 0.5, "metadata": {"file": "a.py", "lineno": 3, )"
      R"("epoch_num": 7}})"
      "\n");
  ASSERT_EQ(log.records.size(), 1u);
  const KeptRecord& only = log.records[0];
  EXPECT_EQ(only.line, 1);
  EXPECT_EQ(only.column, 1);
  EXPECT_EQ(only.time_ms, 1603209843251.0);
  EXPECT_EQ(only.key, "eval_error");
  EXPECT_EQ(only.event_type, "POINT_IN_TIME");
  EXPECT_EQ(only.value, 0.5);
  EXPECT_EQ(only.metadata, (Json{{"file", "a.py"}, {"lineno", 3}, {"epoch_num", 7}}));
  EXPECT_EQ(only.epoch_num, 7.0);
}

TEST(RecordReader, ReadsWhatLogWriterWrites) {
  struct Text final : RecordSink {
    void write_line(const std::string& line) override { all += line + "\n"; }
    std::string all;
  } text;
  const base::FakeClock clock;
  LogWriter writer(&text, clock);
  writer.event("train_loss", std::nan(""), {{"name", "caf\xc3\xa9"}, {"x", 1e-5}});
  const KeptLog log(text.all);
  ASSERT_EQ(log.records.size(), 1u);
  EXPECT_TRUE(std::isnan(log.records[0].value.get<double>()));
  EXPECT_EQ(log.records[0].metadata["name"], "caf\xc3\xa9");
  EXPECT_EQ(log.records[0].metadata["x"], 1e-5);
  EXPECT_EQ(log.records[0].time_ms, static_cast<double>(clock.milliseconds));
}

TEST(RecordReader, TakesLineFeedsCarriageReturnsAndBothAsLineEnds) {
  const KeptLog log(record("a") + "\r\n" + record("b") + "\n" + "50%\r" + record("c") + "\r\n\n" +
                    record("d"));
  ASSERT_EQ(log.records.size(), 4u);
  EXPECT_EQ(log.records[0].line, 1);
  EXPECT_EQ(log.records[1].line, 2);
  EXPECT_EQ(log.records[2].line, 4);
  EXPECT_EQ(log.records[3].line, 6);
  EXPECT_EQ(log.reader.lines(), 6);
  EXPECT_EQ(log.reader.other_lines(), 2);
}

TEST(RecordReader, FindsLineEndsThatABufferCutsInTwo) {
  constexpr std::size_t kBuffer = 1 << 18;
  for (std::size_t shift = 0; shift < 16; ++shift) {  // the buffer ends within "\r
                                                      // " or the token
    const std::string filler(kBuffer - 8 + shift - 2, 'x');
    const KeptLog log(filler + "\r\n" + record("a") + "\r\n" + record("b"));
    ASSERT_EQ(log.records.size(), 2u) << shift;
    EXPECT_EQ(log.records[0].line, 2);
    EXPECT_EQ(log.records[1].line, 3);
  }
}

TEST(RecordReader, CountsNoLineBehindTheLastEnd) {
  EXPECT_EQ(KeptLog("").reader.lines(), 0);
  EXPECT_EQ(KeptLog("\n").reader.lines(), 1);
  EXPECT_EQ(KeptLog("a\r\n").reader.lines(), 1);
  EXPECT_EQ(KeptLog("a\nb").reader.lines(), 2);
}

TEST(RecordReader, TakesTheLastTokenOfALine) {
  const KeptLog log("[0] " + record("a") + "\n" + record("lost") + record("kept") + "\n");
  ASSERT_EQ(log.records.size(), 2u);
  EXPECT_EQ(log.records[0].column, 5);
  EXPECT_EQ(log.records[1].key, "kept");
  EXPECT_EQ(log.reader.swallowed_records(), 1);
}

TEST(RecordReader, IgnoresATokenWithoutItsBlank) {
  const KeptLog log(":::MLLOG{\"time_ms\": 1, \"key\": \"a\"}\n");
  EXPECT_TRUE(log.records.empty());
  EXPECT_EQ(log.reader.other_lines(), 1);
}

TEST(RecordReader, CountsOldFormatsApart) {
  const KeptLog log(
      ":::MLL 1558640006.188 run_start: {}\n:::MLPv0.5.0 resnet 1 run_start\nhello\n");
  EXPECT_EQ(log.reader.records(), 1);
  EXPECT_EQ(log.reader.malformed_records(), 1);
  EXPECT_EQ(log.reader.old_records(), 2);
  EXPECT_EQ(log.reader.other_lines(), 1);
}

TEST(RecordReader, TakesLinesOfOldFormatsForNoRecordsBehindAnMllogRecord) {
  const std::string old = ":::MLL 1558640006.188 run_start: {\"value\": null}\n";
  const KeptLog log(old + record("a") + "\n" + old + record("b") + "\n");
  ASSERT_EQ(log.records.size(), 3u);
  EXPECT_EQ(log.records[0].key, "run_start");
  EXPECT_EQ(log.records[1].key, "a");
  EXPECT_EQ(log.records[2].key, "b");
  EXPECT_EQ(log.reader.old_records(), 1);
  EXPECT_EQ(log.reader.other_lines(), 1);
}

TEST(RecordReader, AcceptsPythonsNumbers) {
  const KeptLog log(
      R"(:::MLLOG {"time_ms": 1.5, "key": "k", "value": [NaN, Infinity, -Infinity, 1e999, 5, )"
      R"(18446744073709551615, 123456789012345678901234567890, -1e-999, 1E2]})");
  ASSERT_EQ(log.records.size(), 1u);
  const Json& value = log.records[0].value;
  EXPECT_TRUE(std::isnan(value[0].get<double>()));
  EXPECT_EQ(value[1], INFINITY);
  EXPECT_EQ(value[2], -INFINITY);
  EXPECT_EQ(value[3], INFINITY);
  EXPECT_TRUE(value[4].is_number_integer());
  EXPECT_EQ(value[5].get<std::uint64_t>(), 18446744073709551615u);
  EXPECT_DOUBLE_EQ(value[6].get<double>(), 123456789012345678901234567890.0);
  EXPECT_EQ(value[7], 0.0);
  EXPECT_EQ(value[8], 100.0);
}

TEST(RecordReader, AcceptsNumericStringsAsTime) {
  const KeptLog log(
      ":::MLLOG {\"time_ms\": \" 17.25 \", \"key\": \"a\"}\n"
      ":::MLLOG {\"time_ms\": \"+1e3\", \"key\": \"a\"}\n");
  ASSERT_EQ(log.records.size(), 2u);
  EXPECT_EQ(log.records[0].time_ms, 17.25);
  EXPECT_EQ(log.records[1].time_ms, 1000.0);
}

TEST(RecordReader, LetsTheLastOfDuplicateMembersWin) {
  const KeptLog log(
      R"(:::MLLOG {"time_ms": 1, "key": "a", "key": "b", "value": [1], "value": {}})");
  ASSERT_EQ(log.records.size(), 1u);
  EXPECT_EQ(log.records[0].key, "b");
  EXPECT_EQ(log.records[0].value, Json::object());
}

TEST(RecordReader, KnowsTheMembersOfObjectsAsTheirTextHasThem) {
  const std::string object =
      R"({"epoch_num": 1, "in": {"epoch_num": 2, "only": 3}, "epoch_num": 4, "e\u0070och": [{"x": 5}]})";
  for (
      const std::string& line :
      {R"({"metadata": )" + object +
           R"(, "value": {"epoch_num": 6, "x": 7}, "time_ms": 1, "key": "a"})",
       R"({"time_ms": 1, "metadata": {"epoch_num": 8}, "key": "a", "value": {"x": 7}, "metadata": )" +
           object + "}"}) {
    std::istringstream in(":::MLLOG " + line);
    RecordReader reader(in);
    const auto item = reader.next();
    const Record& record = std::get<Record>(*item);
    for (const JsonText& metadata : {record.metadata, JsonText(record.metadata.text())}) {
      EXPECT_EQ(metadata.member("epoch_num").text(), "4");
      EXPECT_EQ(metadata.member("in").member("only").text(), "3");
      EXPECT_EQ(metadata.member("epoch").text(), R"([{"x": 5}])");
      EXPECT_TRUE(metadata.member("only").is_absent());
      EXPECT_TRUE(metadata.member("x").is_absent());
    }
    EXPECT_EQ(record.value.member("x").text(), "7");
    EXPECT_TRUE(record.value.member("in").is_absent());
  }
}

TEST(RecordReader, ReadsBytesThatAreNotUtf8AsLatin1) {
  const KeptLog log(":::MLLOG {\"time_ms\": 1, \"key\": \"a\", \"value\": \"J\xfclich \xc3\xa9\"}");
  ASSERT_EQ(log.records.size(), 1u);
  EXPECT_EQ(log.records[0].value, "J\xc3\xbclich \xc3\xa9");
}

TEST(RecordReader, ReadsEscapes) {
  const KeptLog log(
      R"(:::MLLOG {"time_ms": 1, "key": "\"\\\/\b\f\n\r\t\u0041\u00e9\ud83d\ude00\ud83d"})");
  ASSERT_EQ(log.records.size(), 1u);
  EXPECT_EQ(log.records[0].key, "\"\\/\b\f\n\r\tA\xc3\xa9\xf0\x9f\x98\x80\xef\xbf\xbd");
}

TEST(RecordReader, KeepsWhatIsAbsentOrOfAnotherKind) {
  const KeptLog log(
      ":::MLLOG {\"time_ms\": 1, \"key\": \"a\", \"event_type\": null}\n"
      ":::MLLOG {\"time_ms\": 1, \"key\": \"a\", \"value\": null, \"metadata\": \"\", "
      "\"event_type\": \"null\"}\n");
  ASSERT_EQ(log.records.size(), 2u);
  EXPECT_FALSE(log.records[0].event_type);
  EXPECT_FALSE(log.records[0].has_value);
  EXPECT_FALSE(log.records[0].has_metadata);
  EXPECT_TRUE(log.records[1].has_value);
  EXPECT_EQ(log.records[1].event_type, "null");
  EXPECT_EQ(log.records[1].metadata, "");
  EXPECT_FALSE(log.records[1].epoch_num);
}

TEST(RecordReader, SaysWhyARecordIsMalformed) {
  EXPECT_EQ(reason_of(":::MLLOG "), "nothing follows the token");
  EXPECT_EQ(reason_of(":::MLLOG [1]"), "must be a JSON object, got [1]");
  EXPECT_EQ(reason_of(":::MLLOG 5"), "must be a JSON object, got 5");
  EXPECT_EQ(reason_of(":::MLLOG {}"), "has no time_ms");
  EXPECT_EQ(reason_of(R"(:::MLLOG {"time_ms": 1})"), "has no key");
  EXPECT_EQ(reason_of(R"(:::MLLOG {"time_ms": 1, "key": 5})"), "key must be a string, got 5");
  for (const std::string time : {"null", "true", "[]", "NaN", "-Infinity", "1e999", "\"1.2.3\"",
                                 "\"\"", "\"nan\"", "\"1e999\"", "\"0x10\""}) {
    EXPECT_THAT(reason_of(R"(:::MLLOG {"time_ms": )" + time + R"(, "key": "a"})"),
                HasSubstr("time_ms must be a finite number, got "))
        << time;
  }
}

TEST(RecordReader, SaysWhereJsonBreaks) {
  EXPECT_EQ(reason_of("  :::MLLOG {'time_ms': 1}"),
            "not valid JSON at column 13: expected a member name in double quotes");
  EXPECT_EQ(reason_of(R"(:::MLLOG {"a": 1)"), "not valid JSON at column 17: expected ',' or '}'");
  EXPECT_EQ(reason_of(R"(:::MLLOG {"a": 1} x)"),
            "not valid JSON at column 19: text after the value");
  EXPECT_EQ(reason_of(R"(:::MLLOG {"a")"), "not valid JSON at column 14: expected ':'");
  EXPECT_EQ(reason_of(R"(:::MLLOG {"a": })"), "not valid JSON at column 16: expected a value");
  EXPECT_EQ(reason_of(R"(:::MLLOG {"a": 01})"), "not valid JSON at column 17: expected ',' or '}'");
  EXPECT_EQ(reason_of(R"(:::MLLOG {"a": 1.})"), "not valid JSON at column 17: expected ',' or '}'");
  EXPECT_EQ(reason_of(R"(:::MLLOG {"a": -})"), "not valid JSON at column 16: expected a value");
  EXPECT_EQ(reason_of(R"(:::MLLOG {"a": ")"), "not valid JSON at column 17: unterminated string");
  EXPECT_EQ(reason_of(R"(:::MLLOG {"a": "\x"})"), "not valid JSON at column 18: unknown escape");
  EXPECT_EQ(reason_of(R"(:::MLLOG {"a": "\u00g0"})"),
            "not valid JSON at column 19: expected four hexadecimal digits");
  EXPECT_EQ(reason_of(":::MLLOG {\"a\": \"\t\"}"),
            "not valid JSON at column 17: control character in a string");
  EXPECT_EQ(reason_of(":::MLLOG [1"), "not valid JSON at column 12: expected ',' or ']'");
  EXPECT_THAT(reason_of(":::MLLOG " + std::string(100000, '[')), HasSubstr("nested too deeply"));
}

TEST(RecordReader, GoesOnBehindAMalformedRecord) {
  const KeptLog log("x\nxx:::MLLOG {broken\n" + record("a") + "\n");
  ASSERT_EQ(log.malformed.size(), 1u);
  EXPECT_EQ(log.malformed[0].line, 2);
  EXPECT_EQ(log.malformed[0].column, 3);
  ASSERT_EQ(log.records.size(), 1u);
  EXPECT_EQ(log.records[0].line, 3);
}

TEST(RecordReader, FindsARecordBehindMegabytesOnItsLine) {
  const std::string filler(5 << 20, 'x');
  const KeptLog log(filler + record("a") + "\n" + filler + "\n" + record("b"));
  ASSERT_EQ(log.records.size(), 2u);
  EXPECT_EQ(log.records[0].column, (5 << 20) + 1);
  EXPECT_EQ(log.records[1].line, 3);
}

TEST(RecordReader, RefusesARecordWithoutEnd) {
  const KeptLog log(":::MLLOG {\"key\": \"" + std::string(65u << 20, 'x') + "\n" + record("b"));
  ASSERT_EQ(log.malformed.size(), 1u);
  EXPECT_EQ(log.malformed[0].reason, "the line is longer than 64 MiB");
  ASSERT_EQ(log.records.size(), 1u);
}

TEST(RecordReader, ReadsZeroBytesAndOtherNoise) {
  const KeptLog log(std::string("\0\x1b[0m\xff", 6) + record("a") + std::string("\n\0\n", 3));
  EXPECT_EQ(log.records.size(), 1u);
  EXPECT_EQ(log.reader.other_lines(), 1);
}

/// Key and line of each record, by a simple method: line by line, all in memory.
std::vector<std::string> plain_records(const std::string& text) {
  std::vector<std::string> lines(1), found;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n' && i > 0 && text[i - 1] == '\r') continue;
    if (text[i] == '\n' || text[i] == '\r') {
      lines.emplace_back();
    } else {
      lines.back() += text[i];
    }
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::size_t token = lines[i].rfind(":::MLLOG ");
    if (token == std::string::npos) continue;
    const Json json = Json::parse(lines[i].substr(token + 9));
    found.push_back(json["key"].get<std::string>() + " in line " + std::to_string(i + 1));
  }
  return found;
}

TEST(RecordReader, FindsWhatThePlainWayFindsInMixedLines) {
  base::RandomStream random(3, base::Purpose::kWeights, 0, 0);
  std::string text;
  while (text.size() < (2u << 20)) {  // several buffers
    const std::string long_line(static_cast<std::size_t>(random.uniform() * 3000), ':');
    const std::string pieces[] = {"\n",
                                  "\r",
                                  "\r\n",
                                  record("a"),
                                  record("b") + "\n",
                                  "x",
                                  ":::MLL",
                                  record("c") + record("d"),
                                  long_line + "\r"};
    const auto which = static_cast<std::size_t>(random.uniform() * std::size(pieces));
    const bool in_record =
        text.ends_with('}') && which > 2 && !pieces[which].starts_with(":::MLLOG ");
    text += in_record ? "\n" : pieces[which];
  }
  const KeptLog log(text + "\n");
  EXPECT_TRUE(log.malformed.empty());
  std::vector<std::string> found;
  for (const KeptRecord& one : log.records)
    found.push_back(one.key + " in line " + std::to_string(one.line));
  EXPECT_EQ(found, plain_records(text));
}

TEST(RecordReader, ReportsAStreamThatBreaks) {
  struct Broken final : std::streambuf {
    int_type underflow() override { throw std::runtime_error("gone"); }
  } broken;
  std::istream in(&broken);
  RecordReader reader(in);
  EXPECT_THROW(reader.next(), base::SystemError);
}

}  // namespace
}  // namespace mllog
