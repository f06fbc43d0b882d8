// The manifest of a staged set.
#include "staging/manifest.h"

#include <fmt/core.h>
#include <xxhash.h>

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

using nlohmann::json;

constexpr const char* kFormat = "trainmark-staged-1";
/// A part, which a rank wrote, takes about 150 bytes.
constexpr std::int64_t kMostBytes = 16 << 20;

json part_json(const PackedPart& part) {
  return {{"file", part.file},
          {"index_file", part.index_file},
          {"samples", part.samples},
          {"bytes", part.bytes},
          {"index_hash", part.index_hash}};
}

PackedPart part_of(const base::ObjectReader& in) {
  PackedPart part;
  part.file = in.required<std::string>("file", "of samples");
  part.index_file = in.required<std::string>("index_file", "where each sample is");
  part.samples = in.required<std::int64_t>("samples", "in the file");
  part.bytes = in.required<std::int64_t>("bytes", "of the file");
  part.index_hash = in.required<std::string>("index_hash", "of the index file");
  // A manifest must never cause reads or deletions outside its folder.
  for (const std::string& name : {part.file, part.index_file}) {
    if (name.empty() || name.find('/') != std::string::npos || name.front() == '.') {
      throw base::DataError(fmt::format("a part named '{}'", name));
    }
  }
  return part;
}

/// The counts are trusted with memory.
void require_sums(const Manifest& manifest) {
  constexpr std::int64_t kMost = std::int64_t{1} << 50;
  std::int64_t samples = 0, bytes = 0;
  for (const PackedPart& part : manifest.parts) {
    for (const std::int64_t count : {part.samples, part.bytes}) {
      if (count < 0 || count > kMost) {
        throw base::DataError(fmt::format("{} samples or bytes in a part", count));
      }
    }
    samples += part.samples;
    bytes += part.bytes;
    if (samples > kMost || bytes > kMost) {
      throw base::DataError(fmt::format("expected at most {} samples and bytes in all", kMost));
    }
  }
  if (samples == manifest.samples && bytes == manifest.bytes) return;
  throw base::DataError(
      fmt::format("expected {} samples and {} bytes in the parts, found {} and {}",
                  manifest.samples, manifest.bytes, samples, bytes));
}

Manifest manifest_of(const base::ObjectReader& in) {
  Manifest manifest;
  if (in.required<std::string>("format", "of this file") != kFormat) {
    throw base::DataError("another format");
  }
  manifest.identity = in.required<std::string>("identity", "of the samples");
  manifest.source = in.required<std::string>("source", "where they were copied from");
  manifest.samples = in.required<std::int64_t>("samples", "of all parts");
  manifest.bytes = in.required<std::int64_t>("bytes", "of all parts");
  for (const base::ObjectReader& part : in.objects("parts", "a file and its index each")) {
    manifest.parts.push_back(part_of(part));
  }
  require_sums(manifest);
  manifest.made_by = in.optional<std::string>("made_by", "", "who copied");
  // A set without this key may be in use by others: do not delete it.
  manifest.is_kept = in.optional("keep", true, "for later runs");
  return manifest;
}

/// `read` of the object in `text`. Throws DataError, as no configuration is read.
template <class Read>
auto read_object(const std::string& text, const std::string& name, Read read) {
  try {
    const json object = base::parse_strict_json(text, name, base::JsonComments::kRefused);
    return read(base::ObjectReader(object, name));
  } catch (const base::ConfigError& e) {
    throw base::DataError(e.what());
  }
}

}  // namespace

std::string hash_text(const void* data, std::size_t size) {
  const XXH128_hash_t hash = XXH3_128bits(data, size);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string to_text(const PackedPart& part) { return base::json_line(part_json(part)); }

PackedPart part_from_text(const std::string& text) { return read_object(text, "part", part_of); }

void write_manifest(const std::string& directory, const Manifest& manifest) {
  json object = {{"format", kFormat},           {"identity", manifest.identity},
                 {"source", manifest.source},   {"samples", manifest.samples},
                 {"bytes", manifest.bytes},     {"parts", json::array()},
                 {"made_by", manifest.made_by}, {"keep", manifest.is_kept}};
  for (const PackedPart& part : manifest.parts) object["parts"].push_back(part_json(part));
  base::write_file(directory + "/" + kManifestFile, base::json_text(object));
  sync_folder(directory);
}

Manifest read_manifest(const std::string& directory) {
  const std::string path = directory + "/" + kManifestFile;
  const dataset::File file(path);
  if (file.size() > kMostBytes) {
    throw base::DataError(fmt::format("{}: not a manifest: expected at most {} bytes, found {}",
                                      path, kMostBytes, file.size()));
  }
  std::string text(static_cast<std::size_t>(file.size()), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  try {
    return read_object(text, "its JSON", manifest_of);
  } catch (const base::DataError& e) {
    throw base::DataError(fmt::format("{}: not a manifest: {}", path, e.what()));
  }
}

}  // namespace staging
