// Tests of TFRecord files: checksums, framing, and Examples.
#include "staging/dataset/tfrecord.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>

#include "runner/base/error.h"
#include "runner/base/thrown_message.h"
#include "staging/dataset/crc32c.h"
#include "staging/dataset/example.h"
#include "staging/dataset/universes.h"

namespace dataset {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using Bytes = std::vector<std::byte>;

std::string message(const std::function<void()>& action) {
  return base::thrown_message<base::DataError>(action);
}

/// Bit by bit, following the definition.
std::uint32_t plain_crc32c(std::span<const std::byte> bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const std::byte byte : bytes) {
    crc ^= std::to_integer<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1U) != 0 ? crc >> 1U ^ 0x82f63b78 : crc >> 1U;
  }
  return ~crc;
}

TEST(Crc32c, HasThePublishedValues) {
  EXPECT_EQ(crc32c(bytes_of("123456789")), 0xe3069283);
  EXPECT_EQ(crc32c(Bytes(32, std::byte{0})), 0x8a9136aa);  // RFC 3720, B.4
  EXPECT_EQ(crc32c(Bytes(32, std::byte{0xff})), 0x62a8ab43);
  EXPECT_EQ(crc32c({}), 0u);
}

TEST(Crc32c, AgreesWithThePlainLoopAtEveryLengthAndAlignment) {
  Bytes bytes;
  for (unsigned i = 0; i < 100; ++i) bytes.push_back(static_cast<std::byte>(i * 37 + i / 7));
  for (std::size_t first = 0; first < 9; ++first) {
    for (std::size_t size = 0; first + size <= bytes.size(); ++size) {
      const auto part = std::span(bytes).subspan(first, size);
      EXPECT_EQ(crc32c(part), plain_crc32c(part)) << first << " " << size;
    }
  }
}

std::vector<std::string> records_of(const Bytes& file) {
  std::vector<std::string> records;
  RecordReader reader(file, "a.tfrecord");
  for (auto data = reader.next(); data; data = reader.next()) {
    EXPECT_EQ(file.data() + reader.data_offset(), data->data());
    records.push_back(text_of(*data));
  }
  EXPECT_EQ(reader.offset(), static_cast<std::int64_t>(file.size()));
  return records;
}

TEST(Records, AreFramedAsTensorFlowDoes) {
  Bytes file;
  append_record(file, bytes_of("abc"));
  EXPECT_EQ(text_of(file), std::string("\3\0\0\0\0\0\0\0\xb0\x99\x49\x0e"
                                       "abc\x6e\x57\xf1\x21",
                                       19));
}

TEST(Records, ComeBackInTheirOrder) {
  Bytes file;
  const std::vector<std::string> records = {"abc", "", std::string(100000, 'x'), "d"};
  for (const std::string& record : records) append_record(file, bytes_of(record));
  EXPECT_EQ(records_of(file), records);
  EXPECT_TRUE(records_of({}).empty());
}

TEST(Records, AreRefusedWhenCutAnywhere) {
  Bytes file;
  append_record(file, bytes_of("abc"));
  for (std::size_t size = 1; size < file.size(); ++size) {
    const std::string said = message([&] {
      records_of({file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size)});
    });
    EXPECT_THAT(said, StartsWith("a.tfrecord: offset ")) << size;
    EXPECT_THAT(said, HasSubstr("the file is cut"));
  }
}

TEST(Records, AreRefusedWithAnyBitFlipped) {
  Bytes file;
  append_record(file, bytes_of("abc"));
  for (std::size_t bit = 0; bit < 8 * file.size(); ++bit) {
    Bytes damaged = file;
    damaged[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_THAT(message([&] { records_of(damaged); }), StartsWith("a.tfrecord: offset ")) << bit;
  }
}

TEST(Records, NameOffsetAndBothChecksums) {
  Bytes file;
  append_record(file, bytes_of("abc"));
  Bytes wrong_length = file, wrong_data = file;
  wrong_length[8] = std::byte{0};
  wrong_data[18] = std::byte{0};
  EXPECT_EQ(
      message([&] { records_of(wrong_length); }),
      "a.tfrecord: offset 8: expected the checksum 0e4999b0 of a record's length, found 0e499900");
  EXPECT_EQ(
      message([&] { records_of(wrong_data); }),
      "a.tfrecord: offset 15: expected the checksum 21f1576e of a record's data, found 00f1576e");
}

TEST(Records, MayNotClaimMoreThanThereIs) {
  for (const std::uint64_t length : {std::uint64_t{5}, std::uint64_t{1} << 62, UINT64_MAX}) {
    Bytes file(8);
    std::memcpy(file.data(), &length, sizeof(length));
    const std::uint32_t checksum = masked_crc32c(file);
    file.resize(12 + 4);
    std::memcpy(file.data() + 8, &checksum, sizeof(checksum));
    EXPECT_THAT(message([&] { records_of(file); }),
                HasSubstr("expected " + std::to_string(length) + " bytes of a record's data"));
  }
}

const std::string kOne("\0\0\x80\x3f", 4);  ///< 1.0F as little-endian bytes

TEST(Examples, AreWrittenAsProtocolBuffers) {
  const Bytes value = bytes_of("\1\2");
  const Example example = {
      {"i", Int64List{1, 300}}, {"x", BytesList{value}}, {"y", FloatList{1.0F}}};
  const std::string expected =
      "\n\x2a"
      "\n\x0c\n\1i\x12\7\x1a\5\n\3\1\xac\2"
      "\n\x0b\n\1x\x12\6\n\4\n\2\1\2"
      "\n\x0d\n\1y\x12\x08\x12\6\n\4" +
      kOne;
  EXPECT_EQ(text_of(serialise_example(example)), expected);
}

TEST(Examples, ComeBackWithTheSameValues) {
  const Bytes a = bytes_of("first"), b = bytes_of("");
  const Example example = {{"bytes", BytesList{a, b}},
                           {"floats", FloatList{0.5F, -3e38F, 1e-42F}},
                           {"integers", Int64List{0, -1, 127, 128, INT64_MAX, INT64_MIN}},
                           {"none", {}}};
  const Bytes message = serialise_example(example);
  const Example got = parse_example(message, "a.tfrecord");
  ASSERT_EQ(got.size(), 4u);
  EXPECT_EQ(std::get<FloatList>(got.at("floats")), std::get<FloatList>(example.at("floats")));
  EXPECT_EQ(std::get<Int64List>(got.at("integers")), std::get<Int64List>(example.at("integers")));
  EXPECT_EQ(got.at("none").index(), 0u);
  const auto& bytes = std::get<BytesList>(got.at("bytes"));
  ASSERT_EQ(bytes.size(), 2u);
  EXPECT_EQ(text_of(bytes[0]) + "|" + text_of(bytes[1]), "first|");
}

/// One field of a message, shorter than 16384 bytes.
std::string field(int number, const std::string& content) {
  const auto size = static_cast<unsigned>(content.size());
  std::string bytes(1, static_cast<char>(number << 3 | 2));
  if (size >= 128) bytes += static_cast<char>(size % 128 | 128);
  return bytes + static_cast<char>(size < 128 ? size : size / 128) + content;
}

Feature feature_of(const std::string& feature) {
  static std::vector<Bytes> kept;  // memory that a BytesList points into
  kept.push_back(bytes_of(field(1, field(1, field(1, "k") + field(2, feature)))));
  return parse_example(kept.back(), "a.tfrecord").at("k");
}

TEST(Examples, HoldNumbersPackedOrNot) {
  const std::string unpacked = "\x0d" + kOne + "\x0d" + kOne + field(1, kOne + kOne);
  EXPECT_THAT(std::get<FloatList>(feature_of(field(2, unpacked))), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(std::get<Int64List>(feature_of(field(3, "\x08\x05" + field(1, "\1\2")))),
              ElementsAre(5, 1, 2));
}

TEST(Examples, MayHaveOtherFieldsEverywhere) {
  const std::string others =
      field(9, "unknown") + "\x50\xff\x01" + "\x5d" + "1234" + "\x61" + "12345678";
  const std::string list = field(2, others + field(1, kOne) + others);
  const std::string entry = others + field(2, others + list) + field(1, "k") + others;
  const Bytes bytes = bytes_of(others + field(1, others + field(1, entry)) + others);
  EXPECT_THAT(std::get<FloatList>(parse_example(bytes, "a").at("k")), ElementsAre(1));
}

TEST(Examples, TakeTheLastOfSeveralKindsAndEntries) {
  EXPECT_THAT(std::get<Int64List>(feature_of(field(2, field(1, kOne)) + field(3, field(1, "\1")))),
              ElementsAre(1));
  const std::string one = field(1, field(1, "k") + field(2, field(3, field(1, "\1"))));
  const std::string two = field(1, field(1, "k") + field(2, field(3, field(1, "\2"))));
  const Bytes bytes = bytes_of(field(1, one) + field(1, two));
  EXPECT_THAT(std::get<Int64List>(parse_example(bytes, "a").at("k")), ElementsAre(2));
}

TEST(Examples, AreRefusedWithOffsetWhenDamaged) {
  const auto said = [](const std::string& text) {
    return message([&] { parse_example(bytes_of(text), "a.tfrecord", 100); });
  };
  EXPECT_EQ(said("\n\5ab"),
            "a.tfrecord: offset 102: the message is cut: expected 5 bytes, found 2");
  EXPECT_THAT(said("\x08" + std::string(10, '\xff')), HasSubstr("101: a number of more than 64"));
  EXPECT_THAT(said(std::string("\x08") + std::string(9, '\xff') + "\2"),
              HasSubstr("more than 64 bits"));
  EXPECT_THAT(said("\x0b"), HasSubstr("offset 100: field 1 has the unknown type 3"));
  EXPECT_THAT(said(std::string("\0\0", 2)), HasSubstr("expected the tag of a field, found 0"));
  EXPECT_THAT(said("\x82\x80\x80\x80\x80\1"), HasSubstr("expected the tag of a field"));
  EXPECT_THAT(said("\n" + std::string(9, '\xff') + "\1"),
              HasSubstr("expected 18446744073709551615 bytes, found 0"));
  EXPECT_THAT(said(field(1, field(1, field(2, field(2, field(1, "abc")))))),
              HasSubstr("offset 110: expected packed floats, found 3 bytes"));
  EXPECT_THAT(said(field(1, field(1, field(2, field(3, field(1, "\x80")))))),
              HasSubstr("the message is cut: expected 1 bytes, found 0"));
}

TEST(Examples, NeverCrashWhateverTheBytes) {
  const Bytes value = bytes_of("some bytes");
  const Bytes whole = serialise_example(
      {{"i", Int64List{-5, 300}}, {"x", BytesList{value}}, {"y", FloatList{1.0F, 2.0F}}});
  const auto parse = [](Bytes bytes) {
    bytes.shrink_to_fit();  // so that sanitizers detect reads beyond the end
    try {
      parse_example(bytes, "a.tfrecord");
    } catch (const base::DataError&) {
    }
  };
  for (std::size_t i = 0; i < whole.size(); ++i) {
    parse({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(i)});
    for (int other = 0; other < 256; ++other) {
      Bytes damaged = whole;
      damaged[i] = static_cast<std::byte>(other);
      parse(std::move(damaged));
    }
  }
}

}  // namespace
}  // namespace dataset
