// Click logs in the Criteo Terabyte benchmark's binary form: files of records, and what a record
// means. Hides the byte layout, positioned reads and checks.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "staging/dataset/dataset.h"
#include "staging/dataset/file.h"

namespace dataset {

/// Records of a file at most; what is planned for them is counted in bytes.
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

/// A file of click records. It is never held in memory; threads may read at once.
class ClickFile {
 public:
  /// Throws DataError when it cannot be opened, is empty, or no whole number of records long.
  explicit ClickFile(std::string path, ClickFormat format = {});
  /// The same records, read from `copy`, which holds pieces() or the part of them that is asked
  /// for. A read then takes in whole pieces, so that the copy can check what it gives; who goes on
  /// where the last one ended has it in its LastPiece.
  ClickFile(const ClickFile& original, std::shared_ptr<const Dataset> copy);

  const std::string& path() const { return file_->path(); }
  const ClickFormat& format() const { return format_; }
  std::int64_t samples() const { return samples_; }
  /// What a reader took in last from a copy; of one thread.
  struct LastPiece {
    std::int64_t index = -1;
    std::vector<std::byte> bytes;
  };
  /// Records [first, first + count) into `records`, [count, record_values]; returns the bytes that
  /// were read for it. Throws DataError naming path and offset when the file became shorter or
  /// cannot be read, or when a piece of the copy has another size than the file's.
  std::int64_t read(std::int64_t first, std::int64_t count, std::span<std::int32_t> records,
                    LastPiece& last) const;
  std::int64_t read(std::int64_t first, std::int64_t count, std::span<std::int32_t> records) const {
    LastPiece none;
    return read(first, count, records, none);
  }

  static constexpr std::int64_t kPieceBytes = 1 << 20;
  /// The file as a dataset of pieces of kPieceBytes (the last one shorter): what can be copied.
  std::shared_ptr<const Dataset> pieces() const;
  /// Half-open range of the pieces that hold records [first, last).
  std::pair<std::int64_t, std::int64_t> pieces_of(std::int64_t first, std::int64_t last) const;

 private:
  ClickFormat format_;
  std::shared_ptr<const File> file_;
  std::shared_ptr<const Dataset> copy_;  ///< null: the file is read in place
  std::int64_t samples_ = 0;
};

/// Decoded records.
struct ClickBatch {
  std::int64_t samples = 0;
  std::vector<float> dense;       ///< [samples, dense]: log(count + 1)
  std::vector<float> labels;      ///< [samples]: 0 or 1; -1 marks a place that holds no sample
  std::vector<std::int32_t> ids;  ///< [tables, samples]
};

/// What ids mean.
struct ClickIds {
  std::vector<std::int64_t> rows;  ///< of each table
  std::int64_t max_ind_range = 0;  ///< ids are taken modulo this; 0: as they are
};

/// Throws ConfigError when `ids` does not have one positive number of rows for each table of
/// `format`, or a negative range.
void check_click_ids(const ClickFormat& format, const ClickIds& ids);

/// Decodes `records`, which begin with record `first` of the file `path`, into the first places of
/// `batch`; it gets `samples` places (at least as many as there are records), and those beyond hold
/// no sample: label -1, the rest 0. The logarithm is taken in float, of float(count) + 1, and is
/// right within one unit in the last place. Throws DataError naming file, record, column, and value
/// for a label other than 0 and 1, a negative count, and an id beyond its table.
void decode_clicks(const std::string& path, const ClickFormat& format, std::int64_t first,
                   std::span<const std::int32_t> records, const ClickIds& ids, std::int64_t samples,
                   ClickBatch& batch);

}  // namespace dataset
