// Tests of click files and their records: bytes, decoding, and messages for bad data.
#include "staging/dataset/criteo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <thread>

#include "runner/base/error.h"
#include "runner/base/thrown_message.h"
#include "staging/dataset/clicks.h"

namespace dataset {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr ClickFormat kSmall{2, 3};
const ClickIds kWide{{100'000, 100'000, 100'000}, 0};

std::string data_error(const std::function<void()>& action) {
  return base::thrown_message<base::DataError>(action);
}

class Clicks : public testing::Test {
 protected:
  const base::TemporaryDirectory folder_;
};

TEST_F(Clicks, AreRecordsOf160BytesUnlessToldOtherwise) {
  const ClickFormat criteo;
  EXPECT_EQ(criteo.record_bytes(), 160);
  EXPECT_EQ(kSmall.record_bytes(), 24);
  const ClickFile file(write_clicks(folder_, "train.bin", criteo, 7));
  EXPECT_EQ(std::filesystem::file_size(file.path()), 7u * 160u);
  EXPECT_EQ(file.samples(), 7);
  std::vector<std::int32_t> records(3 * 40);
  file.read(4, 3, records);
  EXPECT_EQ(records, made_records(criteo, 4, 7));
}

TEST_F(Clicks, AreLittleEndianAndStartAtOnce) {
  const std::string bytes("\x01\x00\x00\x00\x02\x01\x00\x00\xff\xff\xff\x7f\xfe\xff\xff\xff", 16);
  const ClickFile file(folder_.write("a.bin", bytes), {1, 2});
  std::vector<std::int32_t> record(4);
  file.read(0, 1, record);
  EXPECT_THAT(record, ElementsAre(1, 258, 2147483647, -2));
}

TEST_F(Clicks, InOtherFormsAreNamed) {
  std::string line = "1\t\t-1\t512";
  for (int i = 3; i < 13; ++i) line += "\t" + std::to_string(i);
  for (int i = 0; i < 26; ++i) line += "\t05db91" + std::to_string(10 + i);
  const std::string day = line + "\n0" + line.substr(1) + "\n";
  const auto message = [&](const std::string& bytes) {
    return data_error([&] { ClickFile{folder_.write("day_0", bytes)}; });
  };
  // Whatever its length, even that of a whole number of records.
  for (const std::string& text : {day, day + day.substr(0, 160 - day.size() % 160)}) {
    EXPECT_THAT(message(text),
                AllOf(HasSubstr("day_0: expected records of 160 bytes (int32: label, 13 counts, 26 "
                                "ids), found Criteo's text"),
                      HasSubstr("data_loader_terabyte.py")));
  }
  EXPECT_THAT(message("\x1f\x8b\x08 and so on"), HasSubstr("found a gzip file"));
  EXPECT_THAT(message("\x93NUMPY and so on"), HasSubstr("found NumPy's arrays"));
  EXPECT_THAT(message("PK\x03\x04 and so on"), HasSubstr("found NumPy's arrays"));
}

TEST_F(Clicks, AreReadByManyThreadsAtOnce) {
  const ClickFile file(write_clicks(folder_, "a.bin", kSmall, 1000), kSmall);
  std::vector<std::vector<std::int32_t>> got(4);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < got.size(); ++t) {
      threads.emplace_back([&file, &mine = got[t], t] {
        mine.resize(250 * 6);
        for (std::size_t i = 0; i < 250; ++i) {
          file.read(static_cast<std::int64_t>(t * 250 + i), 1, std::span(mine).subspan(i * 6, 6));
        }
      });
    }
  }
  for (std::int64_t t = 0; t < 4; ++t) {
    EXPECT_EQ(got[static_cast<std::size_t>(t)], made_records(kSmall, t * 250, t * 250 + 250));
  }
}

TEST_F(Clicks, RefusesFilesThatAreNoWholeRecords) {
  const std::string path = folder_.path() / "absent.bin";
  EXPECT_THAT(data_error([&] { ClickFile{path}; }),
              AllOf(HasSubstr(path), HasSubstr("No such file")));
  EXPECT_THAT(data_error([&] { ClickFile{folder_.path().string()}; }),
              HasSubstr("expected a regular file"));
  const std::string pipe = folder_.path() / "pipe.bin";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(data_error([&] { ClickFile{pipe}; }), HasSubstr("expected a regular file"));
  EXPECT_THAT(data_error([&] { ClickFile{folder_.write("empty.bin", "")}; }),
              HasSubstr("empty.bin: expected records of"));
  EXPECT_THAT(data_error([&] { ClickFile{folder_.write("odd.bin", std::string(330, 'x'))}; }),
              AllOf(HasSubstr("odd.bin: expected a whole number of 160-byte records"),
                    HasSubstr("found 330 bytes: 2 records and 10 bytes")));
  EXPECT_THROW(ClickFile(folder_.write("b.bin", "12345678"), {-1, 3}), base::ConfigError);
}

TEST_F(Clicks, TellsWhereAFileThatBecameShortEnds) {
  const ClickFile file(write_clicks(folder_, "a.bin", kSmall, 10), kSmall);
  std::filesystem::resize_file(file.path(), 5 * 24 + 3);
  std::vector<std::int32_t> records(4 * 6);
  EXPECT_NO_THROW(file.read(1, 4, records));
  EXPECT_THAT(data_error([&] { file.read(2, 4, records); }),
              HasSubstr("a.bin: offset 48: expected 96 bytes, the file ends after 75"));
}

TEST_F(Clicks, RefusesReadsBeyondTheRecords) {
  const ClickFile file(write_clicks(folder_, "a.bin", kSmall, 10), kSmall);
  std::vector<std::int32_t> records(2 * 6);
  EXPECT_THROW(file.read(9, 2, records), base::Error);
  EXPECT_THROW(file.read(-1, 2, records), base::Error);
  EXPECT_THROW(file.read(0, 1, records), base::Error);
  EXPECT_NO_THROW(file.read(8, 2, records));
}

TEST_F(Clicks, AreTheSameRecordsFromPieces) {
  // Records of 24 bytes straddle the boundaries of pieces.
  const std::int64_t samples = 2 * ClickFile::kPieceBytes / 24 + 1000;
  const ClickFile file(write_clicks(folder_, "a.bin", kSmall, samples), kSmall);
  const auto pieces = file.pieces();
  ASSERT_EQ(pieces->size(), 3);
  EXPECT_EQ(pieces->bytes(0), ClickFile::kPieceBytes);
  EXPECT_EQ(pieces->bytes(2), samples * 24 - 2 * ClickFile::kPieceBytes);
  const ClickFile again(file, pieces);
  std::vector<std::int32_t> records(static_cast<std::size_t>(samples * 6));
  again.read(0, samples, records);
  EXPECT_EQ(records, made_records(kSmall, 0, samples));
  const std::int64_t straddling = ClickFile::kPieceBytes / 24;
  records.resize(6);
  again.read(straddling, 1, records);
  EXPECT_EQ(records, made_record(kSmall, straddling));
  EXPECT_EQ(file.pieces_of(straddling, straddling + 1),
            std::pair(std::int64_t{0}, std::int64_t{2}));
  EXPECT_EQ(file.pieces_of(0, straddling), std::pair(std::int64_t{0}, std::int64_t{1}));
  EXPECT_EQ(file.pieces_of(straddling + 1, samples), std::pair(std::int64_t{1}, std::int64_t{3}));
  EXPECT_EQ(file.pieces_of(5, 5), std::pair(std::int64_t{0}, std::int64_t{0}));
}

TEST_F(Clicks, TakeInAPieceOfACopyOnceInARow) {
  const std::int64_t samples = 2 * ClickFile::kPieceBytes / 24 + 1000;
  const ClickFile file(write_clicks(folder_, "a.bin", kSmall, samples), kSmall);
  const ClickFile copy(file, file.pieces());
  ClickFile::LastPiece last;
  std::vector<std::int32_t> records(static_cast<std::size_t>(6));
  const auto bytes = [&](std::int64_t first) { return copy.read(first, 1, records, last); };
  const std::int64_t straddling = ClickFile::kPieceBytes / 24;
  EXPECT_EQ(bytes(0), ClickFile::kPieceBytes);
  EXPECT_EQ(bytes(7), 0);
  EXPECT_EQ(bytes(straddling), ClickFile::kPieceBytes) << "the second piece alone";
  EXPECT_EQ(records, made_record(kSmall, straddling));
  EXPECT_EQ(bytes(straddling), 2 * ClickFile::kPieceBytes) << "and back";
  EXPECT_EQ(bytes(samples - 1), samples * 24 - 2 * ClickFile::kPieceBytes);
  EXPECT_EQ(file.read(3, 1, records, last), 24) << "in place";
}

/// Claims longer pieces than it returns.
class ShortPieces final : public Dataset {
 public:
  explicit ShortPieces(std::shared_ptr<const Dataset> whole) : whole_(std::move(whole)) {}
  std::int64_t size() const override { return whole_->size(); }
  const std::vector<std::string>& class_names() const override { return whole_->class_names(); }
  std::int32_t label(std::int64_t index) const override { return whole_->label(index); }
  std::int64_t bytes(std::int64_t index) const override { return whole_->bytes(index); }
  void read(std::int64_t index, std::vector<std::byte>& out) const override {
    whole_->read(index, out);
    out.resize(100);
  }
  std::string name(std::int64_t index) const override { return whole_->name(index); }

 private:
  std::shared_ptr<const Dataset> whole_;
};

TEST_F(Clicks, RefuseAPieceOfAnotherSize) {
  const std::int64_t samples = ClickFile::kPieceBytes / 24 + 1000;
  const ClickFile file(write_clicks(folder_, "a.bin", kSmall, samples), kSmall);
  const ClickFile copy(file, std::make_shared<ShortPieces>(file.pieces()));
  std::vector<std::int32_t> record(6);
  for (const std::int64_t index : {std::int64_t{1}, std::int64_t{20}}) {
    EXPECT_THAT(data_error([&] { copy.read(index, 1, record); }),
                HasSubstr("a.bin: piece 0: expected 1048576 bytes, the copy has 100"));
  }
}

TEST(DecodeClicks, GivesLogarithmsLabelsAndIdsByTable) {
  const std::vector<std::int32_t> records = {1, 0, 7, 11, 12, 13,  //
                                             0, 1, 9, 21, 22, 23};
  ClickBatch batch;
  decode_clicks("a.bin", kSmall, 0, records, kWide, 2, batch);
  EXPECT_EQ(batch.samples, 2);
  EXPECT_THAT(batch.labels, ElementsAre(1.0F, 0.0F));
  EXPECT_THAT(batch.dense, ElementsAre(0.0F, std::log(8.0F), std::log(2.0F), std::log(10.0F)));
  EXPECT_THAT(batch.ids, ElementsAre(11, 21, 12, 22, 13, 23));
}

TEST(DecodeClicks, MarksPlacesWithoutASample) {
  ClickBatch batch;
  decode_clicks("a.bin", kSmall, 0, made_records(kSmall, 1, 5), kWide, 4, batch);
  decode_clicks("a.bin", kSmall, 0, made_records(kSmall, 1, 2), kWide, 4, batch);
  EXPECT_EQ(batch.samples, 4);
  EXPECT_THAT(batch.labels, ElementsAre(0.0F, -1.0F, -1.0F, -1.0F));
  EXPECT_THAT(std::vector<float>(batch.dense.begin() + 2, batch.dense.end()), Each(0.0F));
  EXPECT_THAT(batch.ids, ElementsAre(103, 0, 0, 0, 104, 0, 0, 0, 105, 0, 0, 0));
  decode_clicks("a.bin", kSmall, 0, {}, kWide, 2, batch);
  EXPECT_THAT(batch.labels, ElementsAre(-1.0F, -1.0F));
}

TEST(DecodeClicks, KeepsManyRecordsApart) {
  constexpr std::int64_t kCount = 201, kPlaces = 210;  // no multiple of any block
  ClickBatch batch;
  decode_clicks("a.bin", kSmall, 0, made_records(kSmall, 0, kCount), kWide, kPlaces, batch);
  for (std::int64_t i = 0; i < kCount; ++i) {
    const auto record = made_record(kSmall, i);
    const auto at = static_cast<std::size_t>(i);
    ASSERT_EQ(batch.labels[at], static_cast<float>(record[0]));
    ASSERT_EQ(batch.dense[2 * at + 1], std::log(static_cast<float>(record[2]) + 1.0F));
    for (std::size_t table = 0; table < 3; ++table) {
      ASSERT_EQ(batch.ids[table * kPlaces + at], record[3 + table]);
    }
  }
}

TEST(DecodeClicks, TakesLogarithmsWithinOneUnitInTheLastPlace) {
  const ClickFormat one{1, 0};
  std::vector<std::int32_t> records;
  const auto add = [&](std::int64_t count) {
    records.insert(records.end(), {0, static_cast<std::int32_t>(count)});
  };
  for (std::int64_t count = 0; count < 100'000; ++count) add(count);
  for (std::int64_t count = 100'000; count < 2'147'483'647; count += count / 1000) add(count);
  add(2'147'483'647);
  const auto samples = static_cast<std::int64_t>(records.size() / 2);
  ClickBatch batch;
  decode_clicks("a.bin", one, 0, records, {}, samples, batch);
  for (std::size_t i = 0; i < batch.dense.size(); ++i) {
    const float argument = static_cast<float>(records[2 * i + 1]) + 1.0F;
    const double exact = std::log(static_cast<double>(argument));
    const auto rounded = static_cast<float>(exact);
    const double unit = std::nextafter(rounded, std::numeric_limits<float>::infinity()) - rounded;
    ASSERT_LE(std::abs(static_cast<double>(batch.dense[i]) - exact), unit) << records[2 * i + 1];
  }
}

TEST(DecodeClicks, TakesIdsModuloTheRange) {
  const ClickIds ids{{10, 7, 10}, 10};
  ClickBatch batch;
  decode_clicks("a.bin", kSmall, 0, std::vector<std::int32_t>{0, 0, 0, 9, 16, 2147483647}, ids, 1,
                batch);
  EXPECT_THAT(batch.ids, ElementsAre(9, 6, 7));
  EXPECT_THAT(data_error([&] {
                decode_clicks("a.bin", kSmall, 0, std::vector<std::int32_t>{0, 0, 0, 0, 17, 0}, ids,
                              1, batch);
              }),
              HasSubstr("column 4 (id of table 1): expected 0 to 6 (modulo 10), found 17"));
}

TEST(DecodeClicks, NamesWhatIsWrongAndWhere) {
  const ClickIds ids{{10, 7, 10}, 0};
  const auto message = [&](std::size_t place, std::int32_t value) {
    std::vector<std::int32_t> records = {0, 0, 0, 0, 0, 0, 1, 5, 5, 9, 6, 9};
    records[place] = value;
    ClickBatch batch;
    return data_error([&] { decode_clicks("day.bin", kSmall, 40, records, ids, 2, batch); });
  };
  EXPECT_EQ(message(0, 2), "day.bin: record 40: column 0 (label): expected 0 or 1, found 2");
  EXPECT_EQ(message(6, -1), "day.bin: record 41: column 0 (label): expected 0 or 1, found -1");
  EXPECT_EQ(message(8, -3),
            "day.bin: record 41: column 2 (count 1): expected a count of 0 or more, found -3");
  EXPECT_EQ(message(10, 7),
            "day.bin: record 41: column 4 (id of table 1): expected 0 to 6, found 7");
  EXPECT_EQ(message(3, -1),
            "day.bin: record 40: column 3 (id of table 0): expected 0 to 9, found -1");
}

TEST(ClickIds, NeedRowsForEveryTable) {
  EXPECT_NO_THROW(check_click_ids(kSmall, kWide));
  EXPECT_THROW(check_click_ids(kSmall, {{1, 2}, 0}), base::ConfigError);
  EXPECT_THROW(check_click_ids(kSmall, {{1, 0, 2}, 0}), base::ConfigError);
  EXPECT_THROW(check_click_ids(kSmall, {{1, 1, 2}, -1}), base::ConfigError);
}

TEST_F(Clicks, RemarkOnAFileThatIsOverwrittenWhileItIsRead) {
  const std::string path = write_clicks(folder_, "a.bin", kSmall, 10);
  const ClickFile file(path, kSmall);
  std::vector<std::int32_t> records(static_cast<std::size_t>(kSmall.record_values()));
  file.read(0, 1, records);
  EXPECT_TRUE(file.take_remarks().empty());
  using std::filesystem::last_write_time;
  last_write_time(path, last_write_time(path) + std::chrono::seconds(1));
  file.read(1, 1, records);
  EXPECT_THAT(file.take_remarks(), ElementsAre(HasSubstr("a.bin: changed while it was used")));
}

}  // namespace
}  // namespace dataset
