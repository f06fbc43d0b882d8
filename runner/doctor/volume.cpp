// Identifies file systems by their magic numbers.
#include <fmt/format.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "runner/doctor/folder_checks.h"

namespace doctor {
namespace {

enum class Place { kDisk, kNetwork, kMemory };

struct KnownType {
  std::uint64_t magic;
  const char* name;
  Place place;
};

/// From linux/magic.h, and of file systems outside of Linux.
constexpr auto kTypes = std::to_array<KnownType>({{0x01021994, "tmpfs", Place::kMemory},
                                                  {0x858458f6, "ramfs", Place::kMemory},
                                                  {0xef53, "ext4", Place::kDisk},
                                                  {0x58465342, "xfs", Place::kDisk},
                                                  {0x9123683e, "btrfs", Place::kDisk},
                                                  {0x2fc12fc1, "zfs", Place::kDisk},
                                                  {0xf2f52010, "f2fs", Place::kDisk},
                                                  {0x794c7630, "overlay", Place::kDisk},
                                                  {0x6969, "nfs", Place::kNetwork},
                                                  {0x0bd00bd0, "lustre", Place::kNetwork},
                                                  {0x47504653, "gpfs", Place::kNetwork},
                                                  {0x19830326, "beegfs", Place::kNetwork},
                                                  {0x00c36400, "ceph", Place::kNetwork},
                                                  {0xff534d42, "cifs", Place::kNetwork},
                                                  {0xfe534d42, "smb2", Place::kNetwork},
                                                  {0x01021997, "9p", Place::kNetwork},
                                                  {0x65735546, "fuse", Place::kDisk}});

}  // namespace

Volume volume_of(const std::string& folder) {
  struct statfs kind {};
  struct statvfs space {};
  if (::statfs(folder.c_str(), &kind) != 0 || ::statvfs(folder.c_str(), &space) != 0) {
    throw base::system_error(folder + ": its file system cannot be looked at", errno);
  }
  const auto magic = static_cast<std::uint64_t>(kind.f_type) & 0xffffffffU;
  const auto known = std::ranges::find(kTypes, magic, &KnownType::magic);
  Volume volume;
  volume.type = known == kTypes.end() ? fmt::format("file system {:#x}", magic) : known->name;
  volume.is_network = known != kTypes.end() && known->place == Place::kNetwork;
  volume.is_in_memory = known != kTypes.end() && known->place == Place::kMemory;
  volume.free_bytes = static_cast<std::int64_t>(space.f_bavail * space.f_frsize);
  if (space.f_files > 0) volume.free_inodes = static_cast<std::int64_t>(space.f_favail);
  return volume;
}

}  // namespace doctor
