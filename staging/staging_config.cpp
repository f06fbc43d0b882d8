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
  for (const StagingMode mode : {StagingMode::kAuto, StagingMode::kStream, StagingMode::kShard,
                                 StagingMode::kScatter, StagingMode::kFull}) {
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
    case StagingMode::kScatter:
      return "scatter";
    case StagingMode::kFull:
      return "full";
    case StagingMode::kAuto:
      return "auto";
  }
  return "";
}

StagingConfig parse_staging(const base::ObjectReader& section) {
  StagingConfig config;
  config.mode = section.choice<StagingMode>(
      "mode", config.mode, staging_modes(),
      "shard: copy what a node's ranks need to its own storage; scatter: the same, read once and "
      "sent to all nodes that need it; full: the whole set; stream: read in place; auto: stream, "
      "shard or scatter, whichever takes the least time");
  config.directory = section.optional<std::string>("directory", default_directory(),
                                                   "node-local folder", base::whole_path());
  const bool keep = section.optional<bool>("keep", false, "leave the staged copy for later runs");
  config.afterwards = keep ? Afterwards::kKeep : Afterwards::kRemove;
  const bool verify = section.optional<bool>("verify", false,
                                             "read a copy that is there in full, and copy its "
                                             "damaged packs anew; flush a new one and read "
                                             "it back");
  config.reuse = verify ? Reuse::kVerified : Reuse::kUnread;
  config.overlap = section.optional<bool>(
      "overlap", false, "train while samples are copied, reading each from where it is");
  const bool expand = section.optional<bool>(
      "expand", true,
      "copies hold samples of compressed files expanded, so that no epoch expands them again");
  config.compressed = expand ? Compressed::kExpanded : Compressed::kKept;
  config.direct_io = section.choice<DirectIo>(
      "direct_io", config.direct_io,
      {{"auto", DirectIo::kAuto}, {"always", DirectIo::kAlways}, {"never", DirectIo::kNever}},
      "write copies around the page cache; auto: where copies go to the device while they are "
      "made, and the first packs show that it is faster");
  config.memory_bytes = section.optional<std::int64_t>(
      "memory_bytes", config.memory_bytes, "memory of a node for samples on their way to its copy",
      base::at_least(1));
  config.readers = section.optional<std::int64_t>(
      "readers", config.readers, "threads of a copying rank that read", base::within(1, 64));
  config.writers = section.optional<std::int64_t>(
      "writers", config.writers, "threads of a copying rank that write", base::within(1, 64));
  config.given = parse_rates(
      section.object("rates", "of storage and network, for auto and for plans; else measured"));
  return config;
}

}  // namespace staging
