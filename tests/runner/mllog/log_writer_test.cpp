// LogWriter: records byte by byte, and the file's content after each.
#include "runner/mllog/log_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "runner/base/error.h"
#include "runner/base/fake_clock.h"
#include "runner/base/temporary_directory.h"
#include "runner/base/thrown_message.h"
#include "runner/mllog/keys.h"
#include "runner/mllog/python_json.h"
#include "runner/mllog/source_path.h"

namespace mllog {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using OrderedJson = LogWriter::Json;

class Lines final : public RecordSink {
 public:
  void write_line(const std::string& line) override { all.push_back(line); }
  std::vector<std::string> all;
};

std::string slurp(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(LogWriter, NamesSourcesFromTheirTopLevelFolderOn) {
  EXPECT_EQ(path_in_project("/home/runner/trainmark/workloads/dlrm/model.cpp"),
            "workloads/dlrm/model.cpp");
  EXPECT_EQ(path_in_project("/a/trainmark/tests/runner/mllog/log_writer_test.cpp"),
            "tests/runner/mllog/log_writer_test.cpp");
  EXPECT_EQ(path_in_project("/usr/include/other.h"), "other.h");
  EXPECT_EQ(path_in_project("runner/mllog/log_writer.cpp"), "runner/mllog/log_writer.cpp");
}

TEST(LogWriter, WritesTheRecordLayout) {
  Lines lines;
  const base::FakeClock clock;
  LogWriter log(&lines, clock);
  log.event("eval_accuracy", 0.7591, {{"epoch_num", 4}});
  const int line = __LINE__ - 1;
  log.start(keys::kRunStart);
  log.end(keys::kRunStop, {{"status", "success"}});
  const std::string file = R"("file": "tests/runner/mllog/log_writer_test.cpp", "lineno": )";
  EXPECT_EQ(lines.all,
            (std::vector<std::string>{
                R"(:::MLLOG {"namespace": "", "time_ms": 1700000000123, "event_type": )"
                R"("POINT_IN_TIME", "key": "eval_accuracy", "value": 0.7591, "metadata": {)" +
                    file + std::to_string(line) + R"(, "epoch_num": 4}})",
                R"(:::MLLOG {"namespace": "", "time_ms": 1700000000123, "event_type": )"
                R"("INTERVAL_START", "key": "run_start", "value": null, "metadata": {)" +
                    file + std::to_string(line + 2) + "}}",
                R"(:::MLLOG {"namespace": "", "time_ms": 1700000000123, "event_type": )"
                R"("INTERVAL_END", "key": "run_stop", "value": null, "metadata": {)" +
                    file + std::to_string(line + 3) + R"(, "status": "success"}})"}));
}

TEST(LogWriter, GoesOnByTheSteadyClockWhenTheCalendarIsSet) {
  for (const std::int64_t set_ms : {std::int64_t{3'600'000}, std::int64_t{-1000}}) {
    Lines lines;
    base::FakeClock clock;
    LogWriter log(&lines, clock);
    EXPECT_EQ(log.clock_step_ms(), 0);
    clock.nanoseconds += 2 * base::kSecondNs;
    clock.milliseconds += 2000 + set_ms;
    log.end(keys::kRunStop);
    EXPECT_THAT(lines.all.at(0), HasSubstr("\"time_ms\": 1700000002123,"));
    EXPECT_EQ(log.clock_step_ms(), set_ms);
  }
}

TEST(LogWriter, WritesNothingWithoutASink) {
  const base::FakeClock clock;
  EXPECT_NO_THROW(LogWriter(nullptr, clock).event("seed", 1));
}

TEST(LogWriter, RefusesMetadataThatIsNoObject) {
  Lines lines;
  const base::FakeClock clock;
  EXPECT_THROW(LogWriter(&lines, clock).event("seed", 1, "text"), base::Error);
}

TEST(PythonJson, WritesNumbersAsPythonDoes) {
  const auto text = [](const OrderedJson& value) { return to_python_json(value); };
  EXPECT_EQ(text(0.1), "0.1");
  EXPECT_EQ(text(2.0), "2.0");
  EXPECT_EQ(text(-0.0), "-0.0");
  EXPECT_EQ(text(0.0001), "0.0001");
  EXPECT_EQ(text(0.00001), "1e-05");
  EXPECT_EQ(text(1e15), "1000000000000000.0");
  EXPECT_EQ(text(1e16), "1e+16");
  EXPECT_EQ(text(1.7976931348623157e308), "1.7976931348623157e+308");
  EXPECT_EQ(text(5e-324), "5e-324");
  EXPECT_EQ(text(1.0 / 3.0), "0.3333333333333333");
  EXPECT_EQ(text(std::uint64_t{18446744073709551615u}), "18446744073709551615");
  EXPECT_EQ(text(-5), "-5");
  EXPECT_EQ(text(std::numeric_limits<double>::quiet_NaN()), "NaN");
  EXPECT_EQ(text(std::numeric_limits<double>::infinity()), "Infinity");
  EXPECT_EQ(text(-std::numeric_limits<double>::infinity()), "-Infinity");
}

TEST(PythonJson, WritesTextAsAscii) {
  EXPECT_EQ(to_python_json("caf\xc3\xa9 \xf0\x9f\x98\x80 \"q\" \\ \n\x01"),
            R"("caf\u00e9 \ud83d\ude00 \"q\" \\ \n\u0001")");
  EXPECT_EQ(to_python_json("broken \xff"), R"("broken \ufffd")");
}

TEST(PythonJson, WritesContainersWithBlanks) {
  EXPECT_EQ(to_python_json({{"b", {1, 2.5, nullptr}}, {"a", true}, {"e", OrderedJson::object()}}),
            R"({"b": [1, 2.5, null], "a": true, "e": {}})");
}

TEST(FileSink, HasEachRecordOnDiskBeforeItReturns) {
  const base::TemporaryDirectory directory;
  const std::string path = (directory.path() / "result_0.txt").string();
  FileSink sink(path);
  sink.write_line("one");
  EXPECT_EQ(slurp(path), "one\n");
  sink.write_line("two");
  sink.sync();
  EXPECT_EQ(slurp(path), "one\ntwo\n");
}

TEST(FileSink, NoticesThatItsFileWasRemovedOrReplaced) {
  const base::TemporaryDirectory folder;
  const std::string path = folder.path() / "log.txt";
  FileSink sink(path);
  sink.write_line("a");
  sink.require_in_place();
  std::filesystem::rename(path, folder.path() / "elsewhere.txt");
  const auto told = [&] {
    return base::thrown_message<base::SystemError>([&] { sink.require_in_place(); });
  };
  EXPECT_THAT(told(), HasSubstr(path + ": the log is lost"));
  std::ofstream(path) << "another\n";
  EXPECT_THAT(told(), HasSubstr(path + ": the log is lost"));
}

TEST(FileSink, RefusesAFileThatExists) {
  const base::TemporaryDirectory directory;
  const std::string path = directory.write("result_0.txt", "precious\n");
  EXPECT_EQ(base::thrown_message<base::SystemError>([&] { FileSink sink(path); }),
            path + ": cannot create the log: File exists");
  EXPECT_EQ(slurp(path), "precious\n");
}

TEST(FileSink, NamesTheFileThatCannotBeMade) {
  EXPECT_THAT(base::thrown_message<base::SystemError>([] { FileSink sink("/nowhere/at/all.txt"); }),
              EndsWith("/nowhere/at/all.txt: cannot create the log: No such file or directory"));
}

TEST(FileSink, SaysWhenItCannotWrite) {
  const base::TemporaryDirectory directory;
  const std::string path = (directory.path() / "result_0.txt").string();
  FileSink sink(path);
  sink.write_line("one");
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{8, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string message =
      base::thrown_message<base::SystemError>([&] { sink.write_line("longer than that"); });
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(message, path + ": cannot write the log: File too large");
  EXPECT_EQ(slurp(path), "one\n") << "no half record";
}

}  // namespace
}  // namespace mllog
