// What is recorded of a staged set beside its packs.
#include "staging/set_record.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <span>

#include "runner/base/error.h"
#include "runner/base/json_text.h"
#include "runner/base/object_reader.h"
#include "runner/base/replaced_file.h"
#include "runner/base/strict_json.h"
#include "staging/dataset/file.h"
#include "staging/output_file.h"

namespace staging {
namespace {

constexpr const char* kSetFormat = "trainmark-staged-2";
constexpr const char* kFormerFormat = "trainmark-staged-1";
/// A list takes about 60 bytes a pack.
constexpr std::int64_t kMostRecordBytes = 64 << 20;
constexpr std::int64_t kMostCount = std::int64_t{1} << 50;
/// More than any PackList has; the number is trusted with memory.
constexpr std::int64_t kMostPacksOfRecord = 1 << 20;
constexpr int kRecordHashDigits = 16;

std::int64_t count_of(const base::ObjectReader& in, const std::string& key,
                      const std::string& meaning, std::int64_t most = kMostCount) {
  const auto count = in.required<std::int64_t>(key, meaning);
  if (count >= 0 && count <= most) return count;
  throw base::DataError(fmt::format("/{}: expected 0 to {}, found {}", key, most, count));
}

bool is_hexadecimal(const std::string& text) {
  return text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

void require_set_format(const base::ObjectReader& in, const char* expected = kSetFormat) {
  const auto format = in.required<std::string>("format", "of this file");
  if (format == expected) return;
  throw base::DataError(fmt::format("/format: expected {}, found {}", expected, format));
}

SetRecord record_of(const base::ObjectReader& in) {
  require_set_format(in);
  SetRecord record;
  record.identity = in.required<std::string>("identity", "of the samples");
  if (record.identity.size() < kRecordHashDigits || !is_hexadecimal(record.identity)) {
    throw base::DataError("/identity: expected at least 16 hexadecimal digits");
  }
  record.source = in.required<std::string>("source", "where they are copied from");
  record.packs = count_of(in, "packs", "of the whole dataset", kMostPacksOfRecord);
  record.samples = count_of(in, "samples", "of the whole dataset");
  record.bytes = count_of(in, "bytes", "of the whole dataset");
  record.made_by = in.optional<std::string>("made_by", "", "who copied");
  // A set without this key may be in use by others: do not delete it.
  record.is_kept = in.optional("keep", true, "for later runs");
  return record;
}

SetRecord former_record_of(const base::ObjectReader& in) {
  require_set_format(in, kFormerFormat);
  SetRecord record;
  record.identity = in.required<std::string>("identity", "of the samples");
  record.source = in.required<std::string>("source", "where they were copied from");
  record.samples = count_of(in, "samples", "of all parts");
  record.bytes = count_of(in, "bytes", "of all parts");
  record.made_by = in.optional<std::string>("made_by", "", "who copied");
  record.is_kept = in.optional("keep", true, "for later runs");
  return record;
}

PackRecord pack_record_of(const base::ObjectReader& in) {
  PackRecord pack;
  pack.number = count_of(in, "pack", "its number");
  pack.bytes = count_of(in, "bytes", "of its file");
  const auto hash = in.required<std::string>("xxh3", "of its trailer");
  const char* const end = hash.data() + hash.size();
  const auto [stop, error] = std::from_chars(hash.data(), end, pack.hash, kRecordHashDigits);
  if (hash.size() == kRecordHashDigits && error == std::errc() && stop == end &&
      is_hexadecimal(hash)) {
    return pack;
  }
  throw base::DataError(fmt::format("/xxh3: expected 16 hexadecimal digits, found '{}'", hash));
}

/// Numbers lead to file names, which may be deleted.
void require_numbers(const std::vector<PackRecord>& packs, const SetRecord& record) {
  std::int64_t least = 0;
  for (const PackRecord& pack : packs) {
    if (pack.number < least || pack.number >= record.packs) {
      throw base::DataError(
          fmt::format("expected ascending numbers below {}, found pack {} where {} or more was due",
                      record.packs, pack.number, least));
    }
    least = pack.number + 1;
  }
}

/// `read` of the object in a file. Throws DataError, as no configuration is read.
template <class Read>
auto read_record_file(const std::string& path, Read read) {
  const dataset::File file(path);
  try {
    if (file.size() > kMostRecordBytes) {
      throw base::DataError(
          fmt::format("expected at most {} bytes, found {}", kMostRecordBytes, file.size()));
    }
    std::string text(static_cast<std::size_t>(file.size()), '\0');
    file.read(0, std::as_writable_bytes(std::span(text)));
    const nlohmann::json object =
        base::parse_strict_json(text, "its JSON", base::JsonComments::kRefused);
    return read(base::ObjectReader(object, "its JSON"));
  } catch (const base::ConfigError& e) {
    throw base::DataError(fmt::format("{}: not of a staged set: {}", path, e.what()));
  } catch (const base::DataError& e) {
    throw base::DataError(fmt::format("{}: not of a staged set: {}", path, e.what()));
  }
}

}  // namespace

void write_record(const std::string& folder, const SetRecord& record) {
  const nlohmann::json object = {{"format", kSetFormat},      {"identity", record.identity},
                                 {"source", record.source},   {"packs", record.packs},
                                 {"samples", record.samples}, {"bytes", record.bytes},
                                 {"made_by", record.made_by}, {"keep", record.is_kept}};
  base::write_file(folder + "/" + kBegunRecord, base::json_text(object));
}

SetRecord read_record(const std::string& folder) {
  return read_record_file(folder + "/" + kBegunRecord, record_of);
}

SetRecord read_former_record(const std::string& folder) {
  return read_record_file(folder + "/" + kPacksRecord, former_record_of);
}

bool is_former_part(const std::string& name) {
  constexpr std::string_view kBegin = "part-", kDigits = "0123456789";
  if (!name.starts_with(kBegin)) return false;
  const std::size_t end = name.find_first_not_of(kDigits, kBegin.size());
  if (end == std::string::npos || end == kBegin.size()) return false;
  const std::string rest = name.substr(end);
  return rest == ".bin" || rest == ".index";
}

void write_pack_records(const std::string& folder, const SetRecord& record,
                        const std::vector<PackRecord>& packs) {
  nlohmann::json object = {
      {"format", kSetFormat}, {"identity", record.identity}, {"packs", nlohmann::json::array()}};
  for (const PackRecord& pack : packs) {
    object["packs"].push_back({{"pack", pack.number},
                               {"bytes", pack.bytes},
                               {"xxh3", fmt::format("{:016x}", pack.hash)}});
  }
  base::write_file(folder + "/" + kPacksRecord, base::json_line(object) + "\n");
  sync_folder(folder);
}

std::vector<PackRecord> read_pack_records(const std::string& folder, const SetRecord& record) {
  return read_record_file(folder + "/" + kPacksRecord, [&](const base::ObjectReader& in) {
    require_set_format(in);
    const auto identity = in.required<std::string>("identity", "of the samples");
    if (identity != record.identity) {
      throw base::DataError(
          fmt::format("/identity: expected {}, found {}", record.identity, identity));
    }
    std::vector<PackRecord> packs;
    for (const base::ObjectReader& pack : in.objects("packs", "that are in the set")) {
      packs.push_back(pack_record_of(pack));
    }
    require_numbers(packs, record);
    return packs;
  });
}

}  // namespace staging
