// The packs of one staged set in its folder. A pack has its name only once it is whole, so a set
// that a dead job left unfinished can be completed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "staging/pack_file.h"
#include "staging/set_record.h"

namespace staging {

/// "pack-00000017".
std::string pack_file_name(std::int64_t number);
/// The number of a pack, or of a part of one that is being written; nullopt for other names.
std::optional<std::int64_t> number_of_pack_file(const std::string& name);

/// What a pack that was put survives. Either way its checksums tell when it is damaged.
enum class Durability {
  kCached,   ///< the end of its process
  kFlushed,  ///< a power cut, too
  kOnDevice  ///< the same, and it is read back from the device
};

/// How a pack gets to the device.
enum class WriteWay {
  kCached,  ///< through the page cache, which keeps it for readers
  kDirect   ///< around it (O_DIRECT), but for the last bytes of the file
};
/// A pack that goes kDirect begins in memory at a multiple of this.
inline constexpr std::size_t kDirectAlignment = 4096;

/// All calls but finish() may come from any process and thread of the node at the same time: equal
/// packs have equal bytes, and each replaces the other as a whole.
class PackStore {
 public:
  /// `folder`, which exists and which only this user can change.
  PackStore(std::string folder, SetRecord record);
  /// Reads the record of an existing set. Throws DataError.
  static PackStore of(const std::string& folder);

  const std::string& folder() const { return folder_; }
  const SetRecord& record() const { return record_; }
  std::string path(std::int64_t number) const;
  PackName name(std::int64_t number) const { return {set_, number}; }

  /// Which packs are there, by names, sizes, trailers and the places of their samples. `damage`
  /// receives what is wrong with one that is there and is none. Throws SystemError.
  std::vector<bool> have(std::string* damage = nullptr) const;
  /// Reads a pack in full. Returns what is damaged, with path and offset; "" if it is whole.
  std::string find_damage(std::int64_t number) const;
  /// Removes what writers that have died left unfinished.
  void remove_dead_parts() const;

  /// Writes a pack, and gives it its name when it is whole. Returns the way that it went: kCached
  /// also where the file system, or the image's size or place in memory, does not allow kDirect.
  /// Throws SystemError naming host, path and offset, and DataError for one that reads back
  /// differently.
  WriteWay put(std::int64_t number, std::span<const std::byte> image, Durability durability,
               WriteWay way = WriteWay::kCached) const;
  /// Overwrites a damaged sample. Throws SystemError.
  void repair(std::int64_t number, const SamplePlace& place,
              std::span<const std::byte> sample) const;
  /// Writes the list of the packs that are there: the set is complete for who needs these.
  void finish() const;
  /// Whether finish() was called for this set, by this or an earlier run.
  bool is_finished() const;

 private:
  std::string folder_;
  SetRecord record_;
  std::uint64_t set_ = 0;
};

}  // namespace staging
