// Click logs in the Criteo Terabyte benchmark's binary form: files of records, and their decoding.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "staging/dataset/dataset.h"
#include "staging/dataset/file.h"

namespace dataset {

/// Upper limit on the records of a file, so that sizes in bytes fit int64.
inline constexpr std::int64_t kMostClicks = 100'000'000'000;
/// The benchmark takes ids modulo this.
inline constexpr std::int64_t kCriteoIndRange = 40'000'000;

/// A record is a run of little-endian int32 without any header: the label (0 or 1), `dense` counts
/// (negative ones already replaced by 0, no logarithm taken yet), one id per table.
struct ClickFormat {
  std::int64_t dense = 13, tables = 26;
  std::int64_t record_values() const { return 1 + dense + tables; }
  std::int64_t record_bytes() const {
    return record_values() * static_cast<std::int64_t>(sizeof(std::int32_t));
  }
};

/// A file of click records, never held in memory as a whole. Thread-safe.
class ClickFile {
 public:
  /// Throws DataError when the file cannot be opened, is empty, is not a whole number of records
  /// long, or begins like click logs in another form, which it names.
  explicit ClickFile(std::string path, ClickFormat format = {});
  /// The same records, read from `copy`, which holds pieces() or at least those that will be read.
  /// Each read takes whole pieces, so that the copy can verify them. A reader that continues where
  /// its last read ended finds the piece in its LastPiece.
  ClickFile(const ClickFile& original, std::shared_ptr<const Dataset> copy);

  const std::string& path() const { return file_->path(); }
  const ClickFormat& format() const { return format_; }
  std::int64_t samples() const { return samples_; }
  /// The piece that a reader last read from a copy. Each thread needs its own.
  struct LastPiece {
    std::int64_t index = -1;
    std::vector<std::byte> bytes;
  };
  /// Reads records [first, first + count) into `records`, [count, record_values]. Returns the
  /// number of bytes read from storage. Throws DataError naming path and offset when the file
  /// became shorter or cannot be read, or when a piece of the copy differs in size from the file's.
  std::int64_t read(std::int64_t first, std::int64_t count, std::span<std::int32_t> records,
                    LastPiece& last) const;
  std::int64_t read(std::int64_t first, std::int64_t count, std::span<std::int32_t> records) const {
    LastPiece none;
    return read(first, count, records, none);
  }

  /// See Dataset::take_remarks().
  std::vector<std::string> take_remarks() const;

  static constexpr std::int64_t kPieceBytes = 1 << 20;
  /// The file as a dataset of pieces of kPieceBytes (the last one shorter), which staging can copy.
  std::shared_ptr<const Dataset> pieces() const;
  /// Half-open range of the pieces that hold records [first, last).
  std::pair<std::int64_t, std::int64_t> pieces_of(std::int64_t first, std::int64_t last) const;

 private:
  ClickFormat format_;
  std::shared_ptr<const File> file_;
  std::shared_ptr<const Dataset> copy_;  ///< null: the file is read in place
  std::int64_t samples_ = 0;
  mutable std::atomic<bool> has_changed_{false};
};

/// Decoded records.
struct ClickBatch {
  std::int64_t samples = 0;
  std::vector<float> dense;       ///< [samples, dense]: log(count + 1)
  std::vector<float> labels;      ///< [samples]: 0 or 1; -1 marks an empty slot
  std::vector<std::int32_t> ids;  ///< [tables, samples]
};

/// How ids map to the rows of the tables.
struct ClickIds {
  std::vector<std::int64_t> rows;  ///< number of rows of each table
  std::int64_t max_ind_range = 0;  ///< ids are taken modulo this; 0: unchanged
};

/// Throws ConfigError unless `ids` has one positive number of rows for each table of `format` and a
/// range of 0 or more.
void check_click_ids(const ClickFormat& format, const ClickIds& ids);

/// Decodes `records`, the first of which is record `first` of the file `path`, into the first slots
/// of `batch`. The batch gets `samples` slots, at least as many as there are records; the rest are
/// empty: label -1, everything else 0. The logarithm is computed in float, of float(count) + 1, and
/// is right within one unit in the last place. Throws DataError naming file, record, column and
/// value for a label other than 0 and 1, a negative count, and an id beyond its table.
void decode_clicks(const std::string& path, const ClickFormat& format, std::int64_t first,
                   std::span<const std::int32_t> records, const ClickIds& ids, std::int64_t samples,
                   ClickBatch& batch);

}  // namespace dataset
