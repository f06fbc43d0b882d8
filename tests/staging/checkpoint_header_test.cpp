// Tests of the header of checkpoints: round trip, and rejection of damage.
#include "staging/checkpoint_header.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runner/base/error.h"
#include "runner/base/thrown_message.h"

namespace staging {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr std::int64_t kFileBytes = 5000;

CheckpointHeader example() {
  return {1024,
          kFileBytes,
          0x0123456789abcdef,
          {{"conv1.weight", base::ElementType::kFloat32, {2, 3}, 2048, {{16, 1}, {8, ~0ULL}}},
           {"resume/part", base::ElementType::kFloat64, {4, 1}, 4000, {{32, 3}}}},
          "{\"position\": 1}"};
}

/// The message for the example's JSON after `change`, with a valid checksum.
std::string refused(const std::function<void(json&)>& change) {
  json parsed = json::parse(to_text(example()).substr(kHeaderLineBytes));
  change(parsed);
  const std::string text = parsed.dump();
  return base::thrown_message<base::DataError>(
      [&] { parse_header(header_line(text) + text, kFileBytes, "a.h5"); });
}

TEST(CheckpointHeader, ComesBackAsItWas) {
  const CheckpointHeader all = example();
  const std::string text = to_text(all);
  EXPECT_EQ(header_length(text, kFileBytes, "a.h5"), static_cast<std::int64_t>(text.size()));
  const CheckpointHeader back = parse_header(text + std::string(100, '\0'), kFileBytes, "a.h5");
  EXPECT_EQ(to_text(back), text);
  EXPECT_EQ(back.about, all.about);
  EXPECT_EQ(back.arrays[0].segments[1].hash, ~0ULL);
  EXPECT_EQ(back.arrays[1].total_bytes(), 32);
}

TEST(CheckpointHeader, IsAsLongWhateverTheHashes) {
  CheckpointHeader header = example();
  const std::size_t length = to_text(header).size();
  header.hdf5_bytes_hash = 0;
  header.arrays[0].segments[0].hash = 0xfedcba9876543210;
  EXPECT_EQ(to_text(header).size(), length);
}

TEST(CheckpointHeader, FramesWhatNoArrayCovers) {
  std::vector<std::pair<std::int64_t, std::int64_t>> parts;
  for (const FramePart& part : frame_of(example())) parts.emplace_back(part.offset, part.bytes);
  const std::vector<std::pair<std::int64_t, std::int64_t>> expected = {
      {1024, 1024}, {2072, 1928}, {4032, 968}};
  EXPECT_EQ(parts, expected);
}

TEST(CheckpointHeader, NoticesEveryChangedByte) {
  const std::string text = to_text(example());
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_THROW(parse_header(changed, kFileBytes, "a.h5"), base::DataError) << i;
  }
}

TEST(CheckpointHeader, SaysWhatAFileIsInstead) {
  const auto told = [](const std::string& text, std::int64_t bytes) {
    return base::thrown_message<base::DataError>([&] { parse_header(text, bytes, "a.h5"); });
  };
  EXPECT_THAT(
      told("", 0),
      HasSubstr("a.h5: expected a checkpoint (or one that was finished), found an empty file"));
  EXPECT_THAT(told(std::string(4000, '\0'), 4000), HasSubstr("found another file"));
  EXPECT_THAT(told("trainmark checkpoint format 2 x", 4000),
              HasSubstr("expected checkpoint format 1, found 2"));
  EXPECT_THAT(told("trainmark checkpoint format 1", 4000),
              HasSubstr("expected a header of at most"));
  const std::string text = to_text(example());
  EXPECT_THAT(told(text.substr(0, text.size() - 1), kFileBytes),
              HasSubstr("expected a header of " + std::to_string(text.size()) + " bytes"));
  EXPECT_THAT(told(text, kFileBytes - 1), HasSubstr("expected a file of 5000 bytes, found 4999"));
}

TEST(CheckpointHeader, RefusesWhatDoesNotFitTogether) {
  EXPECT_THAT(refused([](json& h) { h.erase("arrays"); }),
              HasSubstr("a.h5: /arrays: expected a value, found nothing"));
  EXPECT_THAT(refused([](json& h) { h["block_bytes"] = 1; }), HasSubstr("expected a block of"));
  EXPECT_THAT(refused([](json& h) { h["frame_hash"] = "12"; }),
              HasSubstr("expected 16 hexadecimal digits"));
  EXPECT_THAT(refused([](json& h) { h["arrays"][0]["element"] = "int8"; }),
              HasSubstr("/arrays/0/element: expected float32, float64 or int64"));
  EXPECT_THAT(refused([](json& h) { h["arrays"][0]["shape"][0] = 0; }),
              HasSubstr("/arrays/0/shape: expected extents"));
  EXPECT_THAT(refused([](json& h) {
                h["arrays"][0]["shape"] = {1LL << 40, 1LL << 40};
              }),
              HasSubstr("/arrays/0/shape: expected extents"));
  EXPECT_THAT(refused([](json& h) { h["arrays"][0]["shape"] = json::array(); }),
              HasSubstr("at least one extent"));
  EXPECT_THAT(refused([](json& h) { h["arrays"][0]["segments"].erase(1); }),
              HasSubstr("expected 8 bytes more"));
  EXPECT_THAT(refused([](json& h) { h["arrays"][0]["segments"][1]["bytes"] = 9; }),
              HasSubstr("expected 1 to 8"));
  EXPECT_THAT(refused([](json& h) { h["arrays"][0]["offset"] = 1000; }),
              HasSubstr("array conv1.weight: expected an offset in 1024 to 4976, found 1000"));
  EXPECT_THAT(refused([](json& h) { h["arrays"][1]["offset"] = 2060; }),
              HasSubstr("array resume/part: expected an offset in 2072"));
  EXPECT_THAT(refused([](json& h) { h["arrays"][1]["offset"] = 4990; }), HasSubstr("found 4990"));
  EXPECT_THAT(refused([](json& h) { h["arrays"][1]["offset"] = 1e300; }),
              HasSubstr("expected a whole number"));
  EXPECT_THAT(refused([](json& h) { h["about"] = 3; }), HasSubstr("/about: expected text"));
}

}  // namespace
}  // namespace staging
