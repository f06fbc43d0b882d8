// A source's samples from wherever they are: the node's copy, as far as it has arrived, else the
// source.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "staging/dataset/dataset.h"
#include "staging/dataset/remark.h"
#include "staging/level_counts.h"
#include "staging/pack_list.h"
#include "staging/pack_store.h"

namespace staging {

/// Same indices, labels and bytes as the source, but that samples of compressed files may come
/// expanded from the copy. Every sample of the copy is checked against its XXH3; a damaged one is
/// read from the source and repaired, and take_remarks() says so. Only if the source differs, too,
/// reading it throws DataError. Takes 16 bytes a sample of the packs that have arrived. Reads are
/// thread-safe, also while packs arrive.
class StoredDataset final : public dataset::Dataset {
 public:
  StoredDataset(std::shared_ptr<const dataset::Dataset> source, PackStore store,
                std::shared_ptr<const PackList> list);

  /// From now on the pack's samples are read from the copy. Throws DataError if the file there is
  /// not this pack. Not thread-safe; at most once a pack.
  void arrived(std::int64_t number);
  /// The pack may come at any time, from any process of the node. Until it is there, its samples
  /// are read from the source; so they are if what comes is not this pack, which take_remarks()
  /// tells. Not thread-safe; at most once a pack.
  void expect(std::int64_t number);
  /// A remark for take_remarks().
  void note(const std::string& remark) { damage_.note(remark); }
  /// What read() returned since the last call, by where it was. A damaged sample counts as one of
  /// the source. Thread-safe.
  LevelCounts take_levels() const { return levels_.take(); }

  std::int64_t size() const override { return source_->size(); }
  const std::vector<std::string>& class_names() const override { return source_->class_names(); }
  std::int32_t label(std::int64_t index) const override { return source_->label(index); }
  std::int64_t bytes(std::int64_t index) const override;
  void read(std::int64_t index, std::vector<std::byte>& out) const override;
  std::string name(std::int64_t index) const override { return source_->name(index); }
  std::string source() const override { return source_->source(); }
  std::vector<std::string> take_remarks() const override;

 private:
  enum class Whereabouts : std::uint8_t { kAbsent, kExpected, kHere };
  /// A pack as this process knows it. `places` are written before `where` becomes kHere.
  struct Arrival {
    std::vector<SamplePlace> places;
    std::atomic<Whereabouts> where{Whereabouts::kAbsent};
  };

  /// Throws Error(kInternal) for a sample that does not exist.
  std::int64_t pack_of(std::int64_t index) const;
  std::vector<SamplePlace> places_in(std::int64_t number) const;
  /// Whether a pack that is expected has come.
  bool has_come(std::int64_t number) const;
  /// Of a sample whose pack has arrived; else null.
  const SamplePlace* place_of(std::int64_t index, std::int64_t number) const;
  /// Reads the source and repairs the copy, which is damaged as `damage` says.
  void replace_damaged(std::int64_t index, std::int64_t number, const SamplePlace& place,
                       const std::string& damage, std::vector<std::byte>& out) const;
  void read_source(std::int64_t index, std::vector<std::byte>& out) const;

  std::shared_ptr<const dataset::Dataset> source_;
  PackStore store_;
  std::shared_ptr<const PackList> list_;
  mutable std::vector<Arrival> packs_;
  mutable std::mutex arrivals_;  ///< of packs that are expected
  mutable dataset::Remark damage_;
  mutable LevelCounter levels_;
};

}  // namespace staging
