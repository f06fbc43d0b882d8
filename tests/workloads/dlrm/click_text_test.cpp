// Tests of click logs as text: the benchmark's preprocessing, reimplemented here, restores the
// records from them.
#include "workloads/dlrm/click_text.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "workloads/dlrm/generate.h"
#include "workloads/dlrm/tables.h"
#include "workloads/generate_trial.h"

namespace dlrm {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::SizeIs;
namespace fs = std::filesystem;

constexpr std::size_t kDense = 13, kTables = 26, kFirstId = 1 + kDense, kColumns = 40;
using Record = std::vector<std::int64_t>;
using Lines = std::vector<std::vector<std::string>>;

/// The columns of each line.
Lines lines_of(const fs::path& path) {
  Lines lines;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    lines.emplace_back(1);
    for (const char c : line) {
      if (c == '\t') {
        lines.back().emplace_back();
      } else {
        lines.back().back() += c;
      }
    }
  }
  return lines;
}

std::string day_name(int day) { return "day_" + std::to_string(day); }

/// Renumbers the ids of each table from 0 in order of first occurrence.
void renumber(std::vector<Record>& records) {
  std::map<std::int64_t, std::int64_t> known[kTables];
  for (Record& record : records) {
    for (std::size_t table = 0; table < kTables; ++table) {
      std::int64_t& id = record[kFirstId + table];
      id = known[table].try_emplace(id, std::int64_t(known[table].size())).first->second;
    }
  }
}

/// The benchmark's preprocessing of all days, without the shuffle of the training days.
std::vector<Record> preprocessed(const fs::path& folder) {
  constexpr std::int64_t kMaxIndRange = 40'000'000;
  std::vector<Record> records;
  for (int day = 0; day < 24; ++day) {
    for (const auto& columns : lines_of(folder / day_name(day))) {
      EXPECT_THAT(columns, SizeIs(kColumns));
      Record record;
      for (std::size_t i = 0; i < columns.size(); ++i) {
        const std::int64_t value =
            columns[i].empty() ? 0 : std::stoll(columns[i], nullptr, i < kFirstId ? 10 : 16);
        record.push_back(i < kFirstId ? std::max<std::int64_t>(value, 0) : value % kMaxIndRange);
      }
      records.push_back(record);
    }
  }
  renumber(records);
  return records;
}

void add_records(const fs::path& path, std::vector<Record>& records) {
  const std::int64_t samples = dataset::ClickFile(path).samples();
  std::vector<std::int32_t> values(static_cast<std::size_t>(samples) * kColumns);
  dataset::ClickFile(path).read(0, samples, values);
  for (auto at = values.begin(); at != values.end(); at += kColumns) {
    records.emplace_back(at, at + kColumns);
  }
}

class TextOfClicks : public generate_trial::GenerateTest<GenerateOptions, GenerateResult> {
 protected:
  TextOfClicks() : GenerateTest({generate_clicks, generate_plan, declare_generate}) {}
  GenerateOptions small() const override {
    GenerateOptions options;
    options.samples = 5000;
    options.test_samples = 1501;
    options.validation_samples = 1500;
    options.tsv = true;
    return options;
  }
  static std::string day(const GenerateOptions& of, int day) {
    return base::content(fs::path(of.output) / day_name(day));
  }
};

TEST_F(TextOfClicks, BecomesTheRecordsByThePublishedPreprocessing) {
  for (const char* tables : {"small", "criteo"}) {
    GenerateOptions options = this->options(tables);
    options.tables = parse_tables(tables);
    generate_clicks(options);
    std::vector<Record> expected;
    for (const char* name : {"train.bin", "test.bin", "val.bin"}) {
      add_records(fs::path(options.output) / name, expected);
    }
    // The preprocessing numbers the rows of a table in its own way.
    renumber(expected);
    EXPECT_EQ(preprocessed(options.output), expected) << tables;
    EXPECT_THAT(lines_of(fs::path(options.output) / "day_23"), SizeIs(3001));
  }
}

TEST_F(TextOfClicks, LacksCountsAndHasNegativeOnes) {
  generate_clicks(options("a"));
  int lines = 0, missing[kDense] = {}, negative[kDense] = {};
  for (int day = 0; day < ClickText::kDays; ++day) {
    for (const auto& columns : lines_of(fs::path(options("a").output) / day_name(day))) {
      ++lines;
      EXPECT_THAT(columns[0], MatchesRegex("[01]"));
      for (std::size_t i = 0; i < kDense; ++i) {
        const std::string& count = columns[1 + i];
        missing[i] += count.empty() ? 1 : 0;
        negative[i] += count == "-1" ? 1 : 0;
        EXPECT_THAT(count, MatchesRegex("(-1|0|[1-9][0-9]*)?"));
      }
    }
  }
  EXPECT_EQ(lines, 8001);
  EXPECT_EQ(missing[0], 0);
  EXPECT_NEAR(missing[kDense - 1] / 8001.0, 0.45, 0.03);  // five standard deviations
  EXPECT_THAT(negative, testing::Each(testing::Gt(0)));
}

TEST_F(TextOfClicks, SpellsIdsWithAllOfThirtyTwoBits) {
  generate_clicks(options("a"));
  std::vector<Record> records;
  add_records(fs::path(options("a").output) / "test.bin", records);
  const Lines lines = lines_of(fs::path(options("a").output) / "day_23");
  std::map<std::pair<std::size_t, std::int64_t>, std::string> values;
  std::set<char> first_digits;
  for (std::size_t i = 0; i < records.size(); ++i) {
    for (std::size_t table = 0; table < kTables; ++table) {
      const std::string& value = lines[i][kFirstId + table];
      EXPECT_THAT(value, MatchesRegex("[0-9a-f]{8}"));
      values[{table, records[i][kFirstId + table]}] = value;
      first_digits.insert(value[0]);
    }
  }
  EXPECT_THAT(first_digits, SizeIs(16));
  // Golden values: the same options must always give the same text.
  EXPECT_EQ((values[{0, 0}]), "ce2629af");
  EXPECT_EQ((values[{1, 5}]), "79db83cc");
  EXPECT_EQ((values[{25, 29}]), "3b712b7c");
}

TEST_F(TextOfClicks, FillsTrainingDaysEvenly) {
  generate_clicks(options("a"));
  for (int day = 0; day < ClickText::kDays - 1; ++day) {
    EXPECT_THAT(lines_of(fs::path(options("a").output) / day_name(day)),
                SizeIs(testing::AnyOf(5000 / 23, 5000 / 23 + 1)));
  }
  EXPECT_FALSE(fs::exists(fs::path(options("a").output) / "day_24"));
}

TEST_F(TextOfClicks, DependsOnTheSeedAndNotOnThreads) {
  expect_files_of_the_seed([](auto& o) { o.samples = 120'000; });  // two pieces per day
}

TEST_F(TextOfClicks, ContinuesWhatWasInterrupted) {
  generate_clicks(options("whole"));
  // What an interrupted run leaves: records, a whole day (marked here), and a truncated day.
  fs::copy(options("whole").output, options("a").output + ".part");
  for (int day = 2; day < ClickText::kDays; ++day) {
    fs::remove(fs::path(options("a").output + ".part") / day_name(day));
  }
  std::string marked = day(options("whole"), 0);
  marked[0] = '7';
  folder_.write("a.part/day_0", marked);
  folder_.write("a.part/day_1", day(options("whole"), 1).substr(0, 1000));

  generate_clicks(options("a"));
  EXPECT_EQ(day(options("a"), 0), marked);
  for (int day = 1; day < ClickText::kDays; ++day) {
    EXPECT_EQ(this->day(options("a"), day), this->day(options("whole"), day)) << day;
  }
  EXPECT_EQ(manifest(options("a")), manifest(options("whole")));
}

TEST_F(TextOfClicks, TellsItsBytes) {
  const auto [plan, result] = planned(options("a"));
  std::int64_t text = 0;
  for (int day = 0; day < ClickText::kDays; ++day) text += std::ssize(this->day(options("a"), day));
  EXPECT_EQ(result.bytes, 8001 * 160 + text);
  EXPECT_EQ(plan["bytes"], 8001 * 160);
  EXPECT_GE(plan["text_bytes_at_most"], text);
  EXPECT_EQ(plan["text_bytes_at_most"], 8001 * (1 + 13 * 11 + 26 * 9 + 1));
}

TEST_F(TextOfClicks, IsWrittenWhenAskedFor) {
  const std::string output = options("cli").output;
  reported(output + " --samples 30 --test-samples 20 --tsv --threads 1");
  EXPECT_THAT(lines_of(output + "/day_23"), SizeIs(40));
  EXPECT_EQ(dataset::ClickFile(output + "/val.bin").samples(), 20);

  GenerateOptions without = options("without");
  without.tsv = false;
  generate_clicks(without);
  EXPECT_FALSE(fs::exists(without.output + "/day_0"));
  without.tsv = true;
  EXPECT_THAT(base::thrown_message<base::ConfigError>([&] { generate_clicks(without); }),
              HasSubstr("holds a dataset of other options"));
}

TEST_F(TextOfClicks, RefusesALastDayThatIsNotCutInHalves) {
  for (const std::int64_t validation : {0, 1499, 1502}) {
    EXPECT_THAT(refusal([&](auto& o) { o.validation_samples = validation; }),
                HasSubstr("--validation-samples: with --tsv, whose last day is cut in halves, must "
                          "be 1501 or 1500 for 1501 test samples, got " +
                          std::to_string(validation)));
  }
}

TEST_F(TextOfClicks, RefusesTablesOfMoreRowsThanValues) {
  GenerateOptions bad = options("bad");
  bad.tables = parse_tables("small");
  bad.tables.front() = 40'000'001;
  EXPECT_THAT(base::thrown_message<base::ConfigError>([&] { generate_plan(bad); }),
              HasSubstr("--tables: with --tsv"));
  bad.tables.front() = 40'000'000;
  EXPECT_NO_THROW(generate_plan(bad));
}

}  // namespace
}  // namespace dlrm
