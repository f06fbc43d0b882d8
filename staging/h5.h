// Weights, checkpoints and outputs in HDF5.
// Hides HDF5's handles, types and error stack. HDF5 is not thread-safe: one thread only.
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

/// Writes arrays as plain row-major float32 datasets and numbers as scalar int64, under their names
/// ('/' makes groups). The file appears under its name when finish() returns: until then it is
/// `path`.part, which goes away with the writer. Errors are SystemErrors naming file and dataset.
class H5StateWriter final : public runner::StateWriter {
 public:
  explicit H5StateWriter(const std::string& path);
  ~H5StateWriter() override;
  /// Throws ShapeError when data has not as many values as `shape` says.
  void write(const std::string& name, const std::vector<std::int64_t>& shape,
             std::span<const float> data) override;
  void write(const std::string& name, std::int64_t value) override;
  /// Flushes to the device and gives the file its name.
  void finish() override;

 private:
  std::unique_ptr<H5File> file_;
};

/// Reads what H5StateWriter or any HDF5 program wrote; floating point of any width is converted.
/// Throws DataError naming file and dataset.
class H5StateReader final : public runner::StateReader {
 public:
  explicit H5StateReader(const std::string& path);
  ~H5StateReader() override;
  bool has(const std::string& name) const override;
  /// All datasets, groups as "group/name", in byte order.
  std::vector<std::string> names() const override;
  std::vector<float> read(const std::string& name,
                          const std::vector<std::int64_t>& shape) const override;
  std::int64_t read_integer(const std::string& name) const override;

 private:
  std::unique_ptr<H5File> file_;
};

/// Writes datasets `outputs` [N, width] float32 and `labels`, [N] int32 or of targets
/// [N, of a sample] float32, that grow by what arrives, in any order, as ranks evaluate parts of
/// their own; in the end every row must have come once. As for H5StateWriter the file appears with
/// finish(). Throws ShapeError for rows that do not fit.
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
  /// What stands in "labels": of each row so many of a type.
  struct Labels {
    const void* values;
    std::int64_t rows, columns;  ///< columns 0: one number a row
    std::int64_t stored_type, memory_type;
  };
  void write_rows(std::int64_t first, std::int64_t width, std::span<const float> outputs,
                  const Labels& labels);
  void note_rows(std::int64_t first, std::int64_t last);

  std::unique_ptr<H5File> file_;
  std::int64_t width_ = 0, label_columns_ = 0;
  std::map<std::int64_t, std::int64_t> written_;  ///< ranges of rows, first to behind the last
};

}  // namespace staging
