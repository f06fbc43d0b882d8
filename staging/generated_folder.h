// The life of a generated dataset's folder: written under another name, continued when interrupted,
// made visible by one rename. Hides the manifest, and what is in the way.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace staging {

/// A dataset in the folder `output`, told from others by its manifest: `identity` (all that its
/// bytes depend on) and, once it is whole, its results. Errors are ConfigErrors for what is in the
/// way and SystemErrors for what the file system refuses.
class GeneratedFolder {
 public:
  /// A slash behind `output` is left out. Results must not share keys with `identity`.
  GeneratedFolder(std::string output, std::string manifest_name, nlohmann::json identity);
  const std::string& output() const { return output_; }
  const nlohmann::json& identity() const { return identity_; }
  /// Whether the whole dataset is there. Throws ConfigError when anything else is.
  bool is_there() const;
  /// Of the whole dataset: identity and results.
  nlohmann::json manifest() const;
  /// Makes `output`.part, and keeps what an interrupted run of the same identity left in it.
  /// Returns its path. Throws ConfigError when something else is in the way.
  std::string begin() const;
  /// Writes identity and `results` into the manifest of `output`.part and renames it.
  void publish(const nlohmann::json& results) const;

 private:
  nlohmann::json manifest_in(const std::string& folder) const;
  bool is_ours(const nlohmann::json& manifest) const;
  void write_manifest(const nlohmann::json& results) const;

  std::string output_, part_, manifest_name_;
  nlohmann::json identity_;
};

}  // namespace staging
