// The manifest of a staged set.
#include "staging/manifest.h"

#include <fmt/core.h>
#include <xxhash.h>

#include <nlohmann/json.hpp>
#include <span>

#include "runner/base/error.h"
#include "runner/base/replaced_file.h"
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

PackedPart part_of(const json& object) {
  PackedPart part;
  object.at("file").get_to(part.file);
  object.at("index_file").get_to(part.index_file);
  object.at("samples").get_to(part.samples);
  object.at("bytes").get_to(part.bytes);
  object.at("index_hash").get_to(part.index_hash);
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

}  // namespace

std::string hash_text(const void* data, std::size_t size) {
  const XXH128_hash_t hash = XXH3_128bits(data, size);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string to_text(const PackedPart& part) { return part_json(part).dump(); }

PackedPart part_from_text(const std::string& text) { return part_of(json::parse(text)); }

void write_manifest(const std::string& directory, const Manifest& manifest) {
  json object = {{"format", kFormat},           {"identity", manifest.identity},
                 {"source", manifest.source},   {"samples", manifest.samples},
                 {"bytes", manifest.bytes},     {"parts", json::array()},
                 {"made_by", manifest.made_by}, {"keep", manifest.is_kept}};
  for (const PackedPart& part : manifest.parts) object["parts"].push_back(part_json(part));
  const std::string text = object.dump(1) + "\n";
  base::write_file(directory + "/" + kManifestFile, text);
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
    const json object = json::parse(text);
    if (object.at("format") != kFormat) throw base::DataError("another format");
    Manifest manifest;
    object.at("identity").get_to(manifest.identity);
    object.at("source").get_to(manifest.source);
    object.at("samples").get_to(manifest.samples);
    object.at("bytes").get_to(manifest.bytes);
    for (const json& part : object.at("parts")) manifest.parts.push_back(part_of(part));
    require_sums(manifest);
    manifest.made_by = object.value("made_by", "");
    // A set without this key may be in use by others: do not delete it.
    manifest.is_kept = object.value("keep", true);
    return manifest;
  } catch (const json::exception& e) {
    throw base::DataError(fmt::format("{}: not a manifest: {}", path, e.what()));
  } catch (const base::DataError& e) {
    throw base::DataError(fmt::format("{}: not a manifest: {}", path, e.what()));
  }
}

}  // namespace staging
