// Writing and checked reading of a checkpoint's header.
#include "staging/checkpoint_header.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>

#include "runner/base/error.h"
#include "runner/base/strict_json.h"
#include "staging/hash.h"

namespace staging {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kMagic = "trainmark checkpoint format ";
constexpr int kVersion = 1;
constexpr std::size_t kLengthDigits = 12, kHashDigits = 16;

std::string hash_digits(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

const char* element_name(base::ElementType element) {
  switch (element) {
    case base::ElementType::kFloat32:
      return "float32";
    case base::ElementType::kFloat64:
      return "float64";
    case base::ElementType::kInt64:
      return "int64";
  }
  return "";
}

/// Reads members of one JSON object; every error names the member's place.
class Reader {
 public:
  Reader(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
    if (!json.is_object()) fail("", "an object", &json);
  }

  std::int64_t number(const char* key) const {
    const Json& value = member(key);
    if (!value.is_number_integer() || value < 0 ||
        value > std::numeric_limits<std::int64_t>::max()) {
      fail(key, "a whole number from 0 on", &value);
    }
    return value.get<std::int64_t>();
  }
  std::string text(const char* key) const {
    const Json& value = member(key);
    if (!value.is_string()) fail(key, "text", &value);
    return value.get<std::string>();
  }
  std::uint64_t hash(const char* key) const { return hash(member(key), key); }
  std::uint64_t hash(const Json& value, const char* key) const {
    const std::string digits = value.is_string() ? value.get<std::string>() : "";
    std::uint64_t hash = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), hash, 16);
    if (digits.size() != kHashDigits || error != std::errc() ||
        end != digits.data() + digits.size()) {
      fail(key, "16 hexadecimal digits", &value);
    }
    return hash;
  }
  const Json& list(const char* key) const {
    const Json& value = member(key);
    if (!value.is_array()) fail(key, "a list", &value);
    return value;
  }
  [[noreturn]] void fail(const std::string& key, const std::string& expected,
                         const Json* found) const {
    throw base::DataError(fmt::format("{}{}{}: expected {}, found {}", where_,
                                      key.empty() ? "" : "/", key, expected,
                                      found == nullptr ? "nothing" : base::brief_json(*found)));
  }
  const std::string& where() const { return where_; }

 private:
  const Json& member(const char* key) const {
    const auto found = json_.find(key);
    if (found == json_.end()) fail(key, "a value", nullptr);
    return *found;
  }
  const Json& json_;
  std::string where_;
};

base::ElementType parse_element(const Reader& in) {
  const std::string name = in.text("element");
  for (const auto element :
       {base::ElementType::kFloat32, base::ElementType::kFloat64, base::ElementType::kInt64}) {
    if (name == element_name(element)) return element;
  }
  const Json found = name;
  in.fail("element", "float32, float64 or int64", &found);
}

/// Throws DataError unless the array takes at most `limit` bytes.
std::vector<std::int64_t> parse_shape(const Reader& in, std::int64_t element_bytes,
                                      std::int64_t limit) {
  std::vector<std::int64_t> shape;
  std::int64_t bytes = element_bytes;
  for (const Json& extent : in.list("shape")) {
    const bool whole = extent.is_number_integer() && extent > 0 && extent <= limit;
    const std::int64_t value = whole ? extent.get<std::int64_t>() : 0;
    if (value == 0 || bytes > limit / value) {
      in.fail("shape", fmt::format("extents from 1 on of at most {} bytes", limit), &extent);
    }
    bytes *= value;
    shape.push_back(value);
  }
  if (shape.empty()) in.fail("shape", "at least one extent", &in.list("shape"));
  return shape;
}

CheckpointArray parse_array(const Json& json, const std::string& where, std::int64_t file_bytes) {
  const Reader in(json, where);
  CheckpointArray array;
  array.name = in.text("name");
  array.element = parse_element(in);
  array.shape = parse_shape(in, base::size_of(array.element), file_bytes);
  array.offset = in.number("offset");
  std::int64_t left = array.total_bytes();
  for (const Json& segment : in.list("segments")) {
    const Reader part(segment, where + "/segments");
    array.segments.push_back({part.number("bytes"), part.hash("hash")});
    const std::int64_t bytes = array.segments.back().bytes;
    if (bytes < 1 || bytes > left) part.fail("bytes", fmt::format("1 to {}", left), &segment);
    left -= bytes;
  }
  if (left != 0) in.fail("segments", fmt::format("{} bytes more", left), nullptr);
  return array;
}

/// Throws DataError unless the arrays lie in order after the user block, inside the file, without
/// overlap.
void check_places(const CheckpointHeader& header, const std::string& name) {
  std::int64_t free_from = header.block_bytes;
  for (const CheckpointArray& array : header.arrays) {
    const std::int64_t room = header.file_bytes - array.total_bytes();
    if (array.offset < free_from || array.offset > room) {
      throw base::DataError(fmt::format("{}: array {}: expected an offset in {} to {}, found {}",
                                        name, array.name, free_from, room, array.offset));
    }
    free_from = array.offset + array.total_bytes();
  }
}

Json to_json(const CheckpointArray& array) {
  Json segments = Json::array();
  for (const CheckpointSegment& segment : array.segments) {
    segments.push_back({{"bytes", segment.bytes}, {"hash", hash_digits(segment.hash)}});
  }
  return {{"name", array.name},
          {"element", element_name(array.element)},
          {"shape", array.shape},
          {"offset", array.offset},
          {"segments", std::move(segments)}};
}

}  // namespace

std::int64_t CheckpointArray::total_bytes() const {
  return std::accumulate(shape.begin(), shape.end(), base::size_of(element), std::multiplies<>());
}

std::vector<FramePart> frame_of(const CheckpointHeader& header) {
  std::vector<FramePart> parts;
  std::int64_t from = header.block_bytes;
  const auto up_to = [&](std::int64_t end) {
    if (end > from) parts.push_back({from, end - from});
  };
  for (const CheckpointArray& array : header.arrays) {
    up_to(array.offset);
    from = array.offset + array.total_bytes();
  }
  up_to(header.file_bytes);
  return parts;
}

std::string header_line(std::string_view json) {
  // "trainmark checkpoint format 1 <12 digits> bytes <16 hex digits>\n", padded with spaces.
  const std::string line = fmt::format("{}{} {:012} bytes {}", kMagic, kVersion, json.size(),
                                       hash_digits(hash_of(std::as_bytes(std::span(json)))));
  return fmt::format("{:<{}}\n", line, kHeaderLineBytes - 1);
}

std::string to_text(const CheckpointHeader& header) {
  Json arrays = Json::array();
  for (const CheckpointArray& array : header.arrays) arrays.push_back(to_json(array));
  const std::string json = Json{
      {"block_bytes", header.block_bytes},
      {"file_bytes", header.file_bytes},
      {"frame_hash", hash_digits(header.hdf5_bytes_hash)},
      {"arrays", std::move(arrays)},
      {"about", header.about}}.dump(-1, ' ', true, Json::error_handler_t::replace);
  return header_line(json) + json;
}

std::int64_t header_length(std::string_view line, std::int64_t file_bytes,
                           const std::string& name) {
  if (!line.starts_with(kMagic)) {
    throw base::DataError(name + ": expected a checkpoint (or one that was finished), found " +
                          (file_bytes == 0 ? "an empty file" : "another file"));
  }
  const std::string_view rest = line.substr(kMagic.size());
  int version = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), version);
  if (error != std::errc() || version != kVersion) {
    throw base::DataError(fmt::format("{}: expected checkpoint format {}, found {}", name, kVersion,
                                      rest.substr(0, rest.find(' '))));
  }
  std::int64_t length = -1;
  const std::string_view digits = rest.substr(
      std::min<std::size_t>(static_cast<std::size_t>(end - rest.data()) + 1, rest.size()));
  const auto parsed = std::from_chars(
      digits.data(), digits.data() + std::min(digits.size(), kLengthDigits), length);
  if (parsed.ec != std::errc() || length < 0 || length > file_bytes - kHeaderLineBytes) {
    throw base::DataError(fmt::format("{}: expected a header of at most {} bytes, found {}", name,
                                      file_bytes - kHeaderLineBytes,
                                      digits.substr(0, kLengthDigits)));
  }
  return kHeaderLineBytes + length;
}

CheckpointHeader parse_header(std::string_view text, std::int64_t file_bytes,
                              const std::string& name) {
  const std::int64_t length = header_length(text, file_bytes, name);
  if (static_cast<std::int64_t>(text.size()) < length) {
    throw base::DataError(
        fmt::format("{}: expected a header of {} bytes, found {}", name, length, text.size()));
  }
  const std::string_view json =
      text.substr(0, static_cast<std::size_t>(length)).substr(std::size_t{kHeaderLineBytes});
  if (header_line(json) != text.substr(0, std::size_t{kHeaderLineBytes})) {
    throw base::DataError(name + ": the header differs from its checksum (XXH3)");
  }
  const Json parsed = base::parse_strict_json(json, name, base::JsonComments::kRefused);
  const Reader in(parsed, name + ": ");
  CheckpointHeader header;
  header.block_bytes = in.number("block_bytes");
  header.file_bytes = in.number("file_bytes");
  header.hdf5_bytes_hash = in.hash("frame_hash");
  header.about = in.text("about");
  if (header.file_bytes != file_bytes) {
    throw base::DataError(fmt::format("{}: expected a file of {} bytes, found {}", name,
                                      header.file_bytes, file_bytes));
  }
  if (header.block_bytes < length || header.block_bytes > file_bytes) {
    throw base::DataError(fmt::format("{}: expected a block of {} to {} bytes, found {}", name,
                                      length, file_bytes, header.block_bytes));
  }
  std::size_t index = 0;
  for (const Json& array : in.list("arrays")) {
    header.arrays.push_back(
        parse_array(array, fmt::format("{}: /arrays/{}", name, index++), file_bytes));
  }
  check_places(header, name);
  return header;
}

}  // namespace staging
