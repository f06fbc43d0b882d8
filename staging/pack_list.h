// How a dataset is cut into packs: the unit in which samples are planned, copied and verified.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runner/communicator.h"
#include "staging/dataset/dataset.h"
#include "staging/ranges.h"
#include "staging/staging_config.h"

namespace staging {

/// Consecutive samples of a dataset, at least one.
struct Pack {
  std::int64_t first = 0;   ///< index of its first sample
  std::int64_t bytes = 0;   ///< of its samples, as their files have them
  std::uint64_t stamp = 0;  ///< the sum of hash_of_stamp() of its samples
  /// That samples take more in a copy, as they are expanded there; an upper bound, which is exact
  /// if they are what their files state.
  std::int64_t more_bytes = 0;
};

/// A hash of a sample's position, size, time and name; not of its label, which is no part of a
/// copy.
std::uint64_t hash_of_stamp(std::int64_t index, const dataset::Dataset::Stamp& stamp);

/// Bytes after which the next sample begins another pack: a power of two, such that a dataset of
/// `total` bytes has 32 to 64 packs, but at least 4 KiB and at most 32 MiB; more only where there
/// would be more than 2^18 packs.
std::int64_t pack_bytes_for(std::int64_t total);

/// The packs of a dataset, in its order. They depend on the dataset alone: not on ranks, nodes or
/// what is needed of it, so that a copy serves any later job. Takes 32 bytes a pack.
class PackList {
 public:
  PackList(std::vector<Pack> packs, std::int64_t samples);

  std::int64_t count() const { return static_cast<std::int64_t>(packs_.size()); }
  std::int64_t samples() const { return samples_; }
  std::int64_t bytes() const;
  /// Of samples as a copy holds them.
  std::int64_t copy_bytes() const;
  const Pack& operator[](std::int64_t number) const {
    return packs_[static_cast<std::size_t>(number)];
  }
  /// One beyond the last sample of a pack.
  std::int64_t last(std::int64_t number) const {
    return number + 1 < count() ? (*this)[number + 1].first : samples_;
  }
  std::int64_t pack_of(std::int64_t index) const;
  /// The packs that hold samples of `ranges`, ascending, each once.
  std::vector<std::int64_t> packs_of(const Ranges& ranges) const;
  /// Hash of what a copy depends on: path, size and class names of `source`, and the packs. Equal
  /// for Compressed::kKept and kExpanded only if there is nothing to expand.
  std::string identity(const dataset::Dataset& source) const;

 private:
  std::vector<Pack> packs_;
  std::int64_t samples_ = 0;
};

/// A sample as it is cut into packs.
struct ListedSample {
  std::int64_t bytes = 0;
  std::uint64_t stamp = 0;  ///< hash_of_stamp()
  std::int64_t more_bytes = 0;
};

/// The consecutive samples of one pack among those that a rank has examined.
struct PackPart {
  std::int64_t key = 0;  ///< equal for all parts of a pack, and ascending
  Pack part;
};

/// Cuts `samples`, of which the first has this index in the dataset and `before` bytes, as a copy
/// holds them, before it.
std::vector<PackPart> cut(std::span<const ListedSample> samples, std::int64_t first_index,
                          std::int64_t before, std::int64_t pack_bytes);

/// Collective over all ranks of `world`. Examines each sample of `source` once in the job, shared
/// out among the ranks: by stamp(), or to expand it by stamp_to_expand(). Throws AgreedError for a
/// sample that cannot be examined, and AgreedError(kStopped) when a signal tells a rank to end
/// meanwhile.
PackList list_packs(const dataset::Dataset& source, const runner::Communicator& world,
                    Compressed compressed = Compressed::kExpanded);

}  // namespace staging
