// Weights and model outputs in HDF5.
#include "staging/h5.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <iterator>
#include <numeric>
#include <system_error>

#include "runner/base/error.h"
#include "runner/base/printable.h"
#include "staging/dataset/h5_array.h"
#include "staging/h5_file.h"

namespace staging {
namespace {

std::int64_t count_of(const std::vector<std::int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

bool has_class(const H5Dataset& dataset, H5T_class_t wanted) {
  const H5Type type(H5Dget_type(dataset.get()));
  return H5Tget_class(type.get()) == wanted;
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

/// All datasets, those in groups as "group/name", sorted bytewise.
std::vector<std::string> names_in(const H5File& file) {
  const H5Section section;
  std::vector<std::string> found;
  const auto visit = [](hid_t, const char* name, const H5O_info_t* info, void* out) -> herr_t {
    if (info->type == H5O_TYPE_DATASET)
      static_cast<std::vector<std::string>*>(out)->push_back(name);
    return 0;
  };
  file.check(H5Ovisit2(file.id(), H5_INDEX_NAME, H5_ITER_INC, visit, &found, H5O_INFO_BASIC), "/",
             "cannot be listed");
  std::sort(found.begin(), found.end());
  return found;
}

/// What wrappers of a model put before all names of its parameters: PyTorch's data parallelism, its
/// compiler, Lightning, and groups named after what they hold.
std::string common_wrapper(const std::vector<std::string>& names) {
  constexpr std::array kWrappers = {"module.",           "_orig_mod.",  "model.",
                                    "model_state_dict/", "state_dict/", "model/"};
  std::string wrapper;
  const auto begins_all = [&](const std::string& text) {
    return std::ranges::all_of(names, [&](const auto& name) { return name.starts_with(text); });
  };
  for (bool is_longer = !names.empty(); is_longer;) {
    const auto* const next = std::ranges::find_if(
        kWrappers, [&](const char* word) { return begins_all(wrapper + word); });
    is_longer = next != kWrappers.end();
    if (is_longer) wrapper += *next;
  }
  return wrapper;
}

/// "161 others, such as 'a', 'b', 'c'"; up to three names alone.
std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 3;
  if (names.empty()) return "no dataset";
  std::string text = names.size() <= kShown ? "" : fmt::format("{} others, such as ", names.size());
  for (std::size_t i = 0; i < std::min(kShown, names.size()); ++i) {
    text += fmt::format("{}'{}'", i == 0 ? "" : ", ", base::printable(names[i]));
  }
  return text;
}

/// What the user names may be a link of the user's, as for other outputs.
std::string behind_links(const std::string& path) {
  std::error_code absent;
  const std::filesystem::path there = std::filesystem::canonical(path, absent);
  return absent ? path : there.string();
}

}  // namespace

H5StateWriter::H5StateWriter(const std::string& path)
    : file_(std::make_unique<H5File>(path, H5File::Purpose::kWrite)) {}
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

H5StateReader::H5StateReader(const std::string& path)
    : file_(std::make_unique<H5File>(path, H5File::Purpose::kRead)),
      wrapper_(common_wrapper(names_in(*file_))) {}
H5StateReader::~H5StateReader() = default;

bool H5StateReader::has(const std::string& name) const { return file_->has(wrapper_ + name); }

std::vector<std::string> H5StateReader::names() const {
  std::vector<std::string> found = names_in(*file_);
  for (std::string& name : found) name.erase(0, wrapper_.size());
  return found;
}

std::string H5StateReader::stored_name(const std::string& name) const {
  if (has(name)) return wrapper_ + name;
  const std::vector<std::string> found = names_in(*file_);
  throw base::DataError(
      fmt::format("{}: expected a dataset '{}', found {}", file_->path(), name, some_of(found)));
}

std::vector<float> H5StateReader::read(const std::string& name,
                                       const std::vector<std::int64_t>& shape) const {
  const H5Section section;
  const H5Dataset dataset = file_->open(stored_name(name));
  const std::vector<std::int64_t> found = file_->shape_of(dataset);
  if (!has_class(dataset, H5T_FLOAT) || found != shape) {
    throw base::DataError(fmt::format(
        "{}: {}: expected floating point of shape [{}], found {} of shape [{}]", file_->path(),
        name, fmt::join(shape, ", "), dataset::type_in_words(dataset), fmt::join(found, ", ")));
  }
  std::vector<float> data(static_cast<std::size_t>(count_of(shape)));
  file_->check(H5Dread(dataset.get(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data.data()),
               name, "read failed");
  return data;
}

std::int64_t H5StateReader::read_integer(const std::string& name) const {
  const H5Section section;
  const H5Dataset dataset = file_->open(stored_name(name));
  const std::vector<std::int64_t> found = file_->shape_of(dataset);
  if (!has_class(dataset, H5T_INTEGER) || count_of(found) != 1) {
    throw base::DataError(fmt::format("{}: {}: expected one whole number, found {} of shape [{}]",
                                      file_->path(), name, dataset::type_in_words(dataset),
                                      fmt::join(found, ", ")));
  }
  std::int64_t value = 0;
  file_->check(H5Dread(dataset.get(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value),
               name, "read failed");
  return value;
}

H5OutputSink::H5OutputSink(const std::string& path)
    : file_(std::make_unique<H5File>(behind_links(path), H5File::Purpose::kWrite)) {}
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
