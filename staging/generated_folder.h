// The folder of a generated dataset: written as `output`.part, resumed after an interruption, and
// published by one rename.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace staging {

/// A dataset in the folder `output`, identified by its manifest: `identity` (everything that its
/// bytes depend on) and, once the dataset is complete, its results. Methods throw ConfigError when
/// something else occupies the path and SystemError when the file system refuses.
class GeneratedFolder {
 public:
  /// A trailing slash of `output` is dropped. Results must not share keys with `identity`.
  GeneratedFolder(std::string output, std::string manifest_name, nlohmann::json identity);
  const std::string& output() const { return output_; }
  const nlohmann::json& identity() const { return identity_; }
  /// Whether the complete dataset exists. Throws ConfigError when anything else does.
  bool is_there() const;
  /// The identity and results of the complete dataset.
  nlohmann::json manifest() const;
  /// Creates `output`.part, or keeps what an interrupted run of the same identity left there.
  /// Returns its path. Throws ConfigError when something else occupies that path.
  std::string begin() const;
  /// Writes identity and `results` into the manifest and renames `output`.part to `output`.
  void publish(const nlohmann::json& results) const;

 private:
  nlohmann::json manifest_in(const std::string& folder) const;
  bool is_ours(const nlohmann::json& manifest) const;
  void write_manifest(const nlohmann::json& results) const;

  std::string output_, part_, manifest_name_;
  nlohmann::json identity_;
};

}  // namespace staging
