// Parsing of the "staging" section of a configuration.
#include "staging/staging_config.h"

#include <unistd.h>

#include <cstdlib>
#include <utility>
#include <vector>

namespace staging {
namespace {

std::string default_directory() {
  const char* temporary = std::getenv("TMPDIR");
  return std::string(temporary != nullptr && *temporary != '\0' ? temporary : "/tmp") +
         "/trainmark-staging-" + std::to_string(getuid());
}

std::vector<std::pair<std::string, StagingMode>> staging_modes() {
  std::vector<std::pair<std::string, StagingMode>> modes;
  for (const StagingMode mode : {StagingMode::kStream, StagingMode::kShard, StagingMode::kFull}) {
    modes.emplace_back(to_string(mode), mode);
  }
  return modes;
}

}  // namespace

const char* to_string(StagingMode mode) {
  switch (mode) {
    case StagingMode::kStream:
      return "stream";
    case StagingMode::kShard:
      return "shard";
    case StagingMode::kFull:
      return "full";
  }
  return "";
}

StagingConfig parse_staging(const base::ObjectReader& section) {
  StagingConfig config;
  config.mode = section.choice<StagingMode>(
      "mode", config.mode, staging_modes(),
      "shard: copy what a node's ranks need to its own storage; full: the whole set; stream: read "
      "in place");
  config.directory = section.optional<std::string>("directory", default_directory(),
                                                   "node-local folder", base::whole_path());
  const bool keep = section.optional<bool>("keep", false, "leave the staged copy for later runs");
  config.afterwards = keep ? Afterwards::kKeep : Afterwards::kRemove;
  const bool verify = section.optional<bool>(
      "verify", false, "read a copy that is there in full, and copy its damaged packs anew");
  config.reuse = verify ? Reuse::kVerified : Reuse::kUnread;
  return config;
}

}  // namespace staging
