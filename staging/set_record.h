// What is recorded of a staged set beside its packs: begun.json from its beginning on, and
// manifest.json when all that was needed is there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace staging {

struct SetRecord {
  std::string identity, source;
  std::int64_t packs = 0, samples = 0, bytes = 0;  ///< of the whole dataset
  std::string made_by;   ///< for human readers: "job 12, node3, process 345"
  bool is_kept = false;  ///< for later runs; otherwise the last run that uses the set removes it
  /// Of the format that had a file for each rank, and no packs; such sets are only removed.
  bool is_former() const { return packs == 0 && samples > 0; }
};

/// A pack that is in the set.
struct PackRecord {
  std::int64_t number = 0;
  std::int64_t bytes = 0;  ///< of its file
  std::uint64_t hash = 0;  ///< PackFacts::hash
};

inline constexpr const char* kBegunRecord = "begun.json";
inline constexpr const char* kPacksRecord = "manifest.json";
/// In a set of the former format that had a damaged sample.
inline constexpr const char* kFormerDamageMark = "damaged";

/// Replaces an earlier record atomically. Throws SystemError.
void write_record(const std::string& folder, const SetRecord& record);
/// Throws DataError when the record is missing, damaged, or of another format.
SetRecord read_record(const std::string& folder);
/// The same for a set of the former format; its samples and bytes are those in the set.
SetRecord read_former_record(const std::string& folder);
/// Whether sets of the former format had files of this name: "part-0.bin", "part-0.index".
bool is_former_part(const std::string& name);

/// Replaces an earlier list atomically; the new one and the folder are flushed to the device. Must
/// be the last file written. Throws SystemError.
void write_pack_records(const std::string& folder, const SetRecord& record,
                        const std::vector<PackRecord>& packs);
/// Throws DataError when the list is missing, damaged, or of another set.
std::vector<PackRecord> read_pack_records(const std::string& folder, const SetRecord& record);

}  // namespace staging
