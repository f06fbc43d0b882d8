// Weights and model outputs in HDF5. HDF5 is not thread-safe: call from one thread only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runner/workload.h"

namespace staging {

class H5File;

/// Writes arrays as row-major float32 datasets and integers as scalar int64, under their names ('/'
/// makes groups). Until finish() returns, the file is `path`.part, which the destructor removes.
/// Throws SystemError naming file and dataset.
class H5StateWriter final : public runner::StateWriter {
 public:
  explicit H5StateWriter(const std::string& path);
  ~H5StateWriter() override;
  /// Throws ShapeError when the size of `data` differs from the product of `shape`.
  void write(const std::string& name, const std::vector<std::int64_t>& shape,
             std::span<const float> data) override;
  void write(const std::string& name, std::int64_t value) override;
  /// Flushes to the device and renames the file to `path`.
  void finish() override;

 private:
  std::unique_ptr<H5File> file_;
};

/// Reads files of H5StateWriter or of any HDF5 program; floating point of 16, 32 or 64 bits is
/// converted to float32. If all names begin with a wrapper's ("module.", as PyTorch's data
/// parallelism writes), they are known without it. Throws DataError naming file and dataset.
class H5StateReader final : public runner::StateReader {
 public:
  explicit H5StateReader(const std::string& path);
  ~H5StateReader() override;
  bool has(const std::string& name) const override;
  /// All datasets, those in groups as "group/name", sorted bytewise.
  std::vector<std::string> names() const override;
  std::vector<float> read(const std::string& name,
                          const std::vector<std::int64_t>& shape) const override;
  std::int64_t read_integer(const std::string& name) const override;

 private:
  /// The name in the file. Throws DataError if it is not there, with some that are.
  std::string stored_name(const std::string& name) const;

  class Opened;
  std::unique_ptr<Opened> opened_;
  std::string wrapper_;  ///< what all names in the file begin with
};

/// Writes the datasets `outputs`, float32 [N, width], and `labels`, int32 [N] or, for targets,
/// float32 [N, values of a target]. Ranks evaluate different parts, so rows may arrive in any
/// order; each must arrive exactly once. As with H5StateWriter, the file appears with finish().
/// Throws ShapeError for rows of another size, and for repeated or missing rows.
class H5OutputSink final : public runner::OutputSink {
 public:
  explicit H5OutputSink(const std::string& path);
  ~H5OutputSink() override;
  void write(std::int64_t first, std::int64_t width, std::span<const float> outputs,
             std::span<const std::int32_t> labels) override;
  void write_targets(std::int64_t first, std::int64_t width, std::span<const float> outputs,
                     std::span<const float> targets) override;
  void finish() override;

 private:
  /// Values for rows of the dataset "labels".
  struct Labels {
    const void* values;
    std::int64_t rows, columns;  ///< columns 0: `labels` is one-dimensional
    std::int64_t stored_type, memory_type;
  };
  void write_rows(std::int64_t first, std::int64_t width, std::span<const float> outputs,
                  const Labels& labels);
  void note_rows(std::int64_t first, std::int64_t last);

  std::unique_ptr<H5File> file_;
  std::int64_t width_ = 0, label_columns_ = 0;
  std::map<std::int64_t, std::int64_t> written_;  ///< half-open ranges of rows: first row -> end
};

}  // namespace staging
