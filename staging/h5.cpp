// Weights and model outputs in HDF5.
#include "staging/h5.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iterator>
#include <numeric>
#include <system_error>

#include "runner/base/error.h"
#include "staging/h5_file.h"

namespace staging {
namespace {

std::int64_t count_of(const std::vector<std::int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

/// Writes `shape[0]` rows, beginning at row `first`, into a dataset that it resizes to `rows` rows.
void put_rows(const H5File& file, const std::string& name, hid_t type, std::int64_t rows,
              std::int64_t first, const std::vector<std::int64_t>& shape, const void* data) {
  const H5Dataset dataset = file.open(name);
  std::vector<hsize_t> extent = to_dims(shape), offset(shape.size(), 0);
  const std::vector<hsize_t> count = extent;
  offset[0] = static_cast<hsize_t>(first);
  extent[0] = static_cast<hsize_t>(rows);
  file.check(H5Dset_extent(dataset.get(), extent.data()), name, "cannot grow");
  const H5Space place(H5Dget_space(dataset.get()));
  file.check(H5Sselect_hyperslab(place.get(), H5S_SELECT_SET, offset.data(), nullptr, count.data(),
                                 nullptr),
             name, "rows cannot be selected");
  const H5Space memory(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr));
  file.check(H5Dwrite(dataset.get(), type, memory.get(), place.get(), H5P_DEFAULT, data), name,
             "write failed");
}

/// What the user names may be a link of the user's, as for other outputs.
std::string behind_links(const std::string& path) {
  std::error_code absent;
  const std::filesystem::path there = std::filesystem::canonical(path, absent);
  return absent ? path : there.string();
}

}  // namespace

H5StateWriter::H5StateWriter(const std::string& path) : file_(std::make_unique<H5File>(path)) {}
H5StateWriter::~H5StateWriter() = default;

void H5StateWriter::write(const std::string& name, const std::vector<std::int64_t>& shape,
                          std::span<const float> data) {
  if (count_of(shape) != static_cast<std::int64_t>(data.size())) {
    throw base::ShapeError(fmt::format("{}: {}: expected {} values for shape [{}], got {}",
                                       file_->path(), name, count_of(shape), fmt::join(shape, ", "),
                                       data.size()));
  }
  const H5Section section;
  const H5Dataset dataset = file_->create(name, H5T_IEEE_F32LE, to_dims(shape));
  if (data.empty()) return;
  file_->check(
      H5Dwrite(dataset.get(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data.data()), name,
      "write failed");
}

void H5StateWriter::write(const std::string& name, std::int64_t value) {
  const H5Section section;
  const H5Dataset dataset = file_->create(name, H5T_STD_I64LE, {});
  file_->check(H5Dwrite(dataset.get(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value),
               name, "write failed");
}

void H5StateWriter::finish() { file_->finish(); }

H5OutputSink::H5OutputSink(const std::string& path)
    : file_(std::make_unique<H5File>(behind_links(path))) {}
H5OutputSink::~H5OutputSink() = default;

void H5OutputSink::write(std::int64_t first, std::int64_t width, std::span<const float> outputs,
                         std::span<const std::int32_t> labels) {
  write_rows(first, width, outputs,
             {labels.data(), static_cast<std::int64_t>(labels.size()), 0, H5T_STD_I32LE,
              H5T_NATIVE_INT32});
}

void H5OutputSink::write_targets(std::int64_t first, std::int64_t width,
                                 std::span<const float> outputs, std::span<const float> targets) {
  const auto values = static_cast<std::int64_t>(targets.size());
  const std::int64_t rows = width < 1 ? 0 : static_cast<std::int64_t>(outputs.size()) / width;
  if (rows == 0 && targets.empty()) return;
  if (rows == 0 || values % rows != 0 || (width_ != 0 && values / rows != label_columns_)) {
    throw base::ShapeError(fmt::format("{}: expected targets for {} rows of outputs, got {}",
                                       file_->path(), rows, values));
  }
  write_rows(first, width, outputs,
             {targets.data(), rows, values / rows, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT});
}

void H5OutputSink::write_rows(std::int64_t first, std::int64_t width,
                              std::span<const float> outputs, const Labels& labels) {
  const std::int64_t rows = labels.rows;
  const bool fits = width > 0 && static_cast<std::int64_t>(outputs.size()) == rows * width;
  if (!fits || (width_ != 0 && width != width_)) {
    throw base::ShapeError(
        fmt::format("{}: expected rows of {} outputs, got width {}, {} outputs for {} labels",
                    file_->path(), width_, width, outputs.size(), rows));
  }
  note_rows(first, first + rows);
  const H5Section section;
  if (width_ == 0) {
    constexpr std::int64_t kChunkFloats = 1 << 16;
    const auto columns = static_cast<hsize_t>(width);
    const auto chunk = static_cast<hsize_t>(std::max<std::int64_t>(kChunkFloats / width, 1));
    file_->create("outputs", H5T_IEEE_F32LE, {0, columns}, {H5S_UNLIMITED, columns},
                  {chunk, columns});
    if (labels.columns == 0) {
      file_->create("labels", labels.stored_type, {0}, {H5S_UNLIMITED}, {kChunkFloats});
    } else {
      const auto targets = static_cast<hsize_t>(labels.columns);
      file_->create("labels", labels.stored_type, {0, targets}, {H5S_UNLIMITED, targets},
                    {chunk, targets});
    }
    width_ = width;
    label_columns_ = labels.columns;
  }
  if (rows == 0) return;
  const std::int64_t end = written_.rbegin()->second;
  put_rows(*file_, "outputs", H5T_NATIVE_FLOAT, end, first, {rows, width}, outputs.data());
  const std::vector<std::int64_t> shape =
      labels.columns == 0 ? std::vector{rows} : std::vector{rows, labels.columns};
  put_rows(*file_, "labels", labels.memory_type, end, first, shape, labels.values);
}

void H5OutputSink::note_rows(std::int64_t first, std::int64_t last) {
  if (first == last) return;
  auto next = written_.lower_bound(first);
  const auto before = next == written_.begin() ? written_.end() : std::prev(next);
  if (first < 0 || (next != written_.end() && next->first < last) ||
      (before != written_.end() && before->second > first)) {
    throw base::ShapeError(fmt::format("{}: expected every row once, got rows {} to {} again",
                                       file_->path(), first, last - 1));
  }
  if (next != written_.end() && next->first == last) {
    last = next->second;
    written_.erase(next);
  }
  if (before != written_.end() && before->second == first) {
    before->second = last;
  } else {
    written_[first] = last;
  }
}

void H5OutputSink::finish() {
  if (written_.size() > 1 || (!written_.empty() && written_.begin()->first != 0)) {
    throw base::ShapeError(fmt::format("{}: expected all rows below {}, some never came",
                                       file_->path(), written_.rbegin()->second));
  }
  file_->finish();
}

}  // namespace staging
