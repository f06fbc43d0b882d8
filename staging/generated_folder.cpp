// The folder of a generated dataset: written as `output`.part, resumed after an interruption, and
// published by one rename.
#include "staging/generated_folder.h"

#include <fmt/core.h>

#include <filesystem>
#include <utility>

#include "runner/base/error.h"
#include "runner/base/input_file.h"
#include "runner/base/json_text.h"
#include "runner/base/replaced_file.h"
#include "runner/base/strict_json.h"
#include "staging/output_file.h"

namespace staging {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

/// Runs `work`, turning filesystem_error into SystemError.
template <class Work>
auto checked(Work&& work) {
  try {
    return work();
  } catch (const fs::filesystem_error& e) {
    throw base::SystemError(e.what());
  }
}

}  // namespace

GeneratedFolder::GeneratedFolder(std::string output, std::string manifest_name, json identity)
    : output_(without_slash(std::move(output))),
      part_(output_ + ".part"),
      manifest_name_(std::move(manifest_name)),
      identity_(std::move(identity)) {}

json GeneratedFolder::manifest_in(const std::string& folder) const {
  const std::string path = folder + "/" + manifest_name_;
  std::string problem;
  const auto text = base::read_text(path, problem);
  if (!text) return {};
  try {
    return base::parse_strict_json(*text, path, base::JsonComments::kRefused);
  } catch (const base::DataError&) {
    return {};
  }
}

json GeneratedFolder::manifest() const { return manifest_in(output_); }

/// Compares the identity's keys only: a manifest may also hold results.
bool GeneratedFolder::is_ours(const json& manifest) const {
  if (!manifest.is_object()) return false;
  json found = json::object();
  for (const auto& item : identity_.items()) {
    if (manifest.contains(item.key())) found[item.key()] = manifest[item.key()];
  }
  return found == identity_;
}

bool GeneratedFolder::is_there() const {
  return checked([this] {
    if (!fs::exists(output_)) return false;
    const json found = manifest();
    if (is_ours(found)) return true;
    if (found.is_object()) {
      throw base::ConfigError(fmt::format(
          "{}: holds a dataset of other options ({}); remove it or choose another --output",
          output_, base::json_line(found)));
    }
    if (fs::is_directory(output_) && fs::is_empty(output_)) return false;
    throw base::ConfigError(
        fmt::format("{}: is there already and is no generated dataset", output_));
  });
}

std::string GeneratedFolder::begin() const {
  return checked([this] {
    if (fs::exists(part_)) {
      const json found = manifest_in(part_);
      if (!found.is_object() && !fs::is_empty(part_)) {
        throw base::ConfigError(part_ + ": is in the way and is no generated dataset");
      }
      if (!is_ours(found)) fs::remove_all(part_);
    }
    fs::create_directories(part_);
    write_manifest(json::object());
    return part_;
  });
}

void GeneratedFolder::write_manifest(const json& results) const {
  json manifest = identity_;
  manifest.update(results);
  base::write_file(part_ + "/" + manifest_name_, base::json_text(manifest));
}

void GeneratedFolder::publish(const json& results) const {
  checked([&] {
    write_manifest(results);
    fs::remove(output_);  // an empty folder, if it exists
    fs::rename(part_, output_);
    sync_folder(fs::absolute(output_).parent_path().string());
    return true;
  });
}

}  // namespace staging
