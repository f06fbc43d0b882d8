// Weights read from HDF5 files of any program.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>

#include "runner/base/error.h"
#include "runner/base/file_format.h"
#include "runner/base/printable.h"
#include "staging/dataset/file.h"
#include "staging/dataset/h5_array.h"
#include "staging/dataset/h5_numbers.h"
#include "staging/h5.h"

namespace staging {
namespace {

using dataset::H5Section;

/// What a file that is no HDF5 file is, in words, and what to do; "" if that is not known.
std::string known_format(const dataset::File& file) {
  using namespace std::string_view_literals;
  std::array<char, 64> head{};
  const auto bytes = std::as_writable_bytes(std::span(head));
  const auto size = static_cast<std::size_t>(file.read_some(0, bytes));
  const std::string_view begin(head.data(), size);
  constexpr const char* kByHand = "; write the arrays of its state_dict to HDF5 under their names";
  constexpr std::size_t kHeaderBytes = 8;  // of safetensors, before its JSON
  if (size > kHeaderBytes && begin[kHeaderBytes] == '{') {
    return fmt::format("a safetensors file{}", kByHand);
  }
  const std::string words = base::format_in_words(bytes.first(size));
  if (begin.starts_with("\x89HDF"sv)) return "";  // damaged behind its signature
  if (begin.starts_with("PK"sv)) {
    return fmt::format("{}, as torch.save and numpy.savez write{}", words, kByHand);
  }
  if (begin.starts_with("\x80\x02"sv)) {
    return fmt::format("{}, as old versions of torch.save write{}", words, kByHand);
  }
  return begin.starts_with("\x1f\x8b"sv) ? words + "; expand it" : words;
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

std::string shape_in_words(const std::vector<hsize_t>& dims) {
  return fmt::format("[{}]", fmt::join(dims, ", "));
}

}  // namespace

/// The file. HDF5 only finds the values: it reads beyond its buffers where a file is damaged.
class H5StateReader::Opened {
 public:
  explicit Opened(const std::string& path) : path_(path), file_(path), parts_(file_) {
    const H5Section section;
    try {
      arrays_.emplace(parts_, path_);
    } catch (const base::DataError&) {
      const std::string format = known_format(file_);
      if (format.empty()) throw;
      throw base::DataError(fmt::format("{}: expected an HDF5 file, found {}", path_, format));
    }
  }
  ~Opened() {
    const H5Section section;
    arrays_.reset();
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  const std::string& path() const { return path_; }
  dataset::H5Arrays& arrays() { return *arrays_; }  ///< within an H5Section
  dataset::H5FileParts& parts() { return parts_; }

 private:
  std::string path_;
  dataset::File file_;
  dataset::H5FileParts parts_;
  std::optional<dataset::H5Arrays> arrays_;
};

H5StateReader::H5StateReader(const std::string& path) : opened_(std::make_unique<Opened>(path)) {
  wrapper_ = common_wrapper(names());
}
H5StateReader::~H5StateReader() = default;

bool H5StateReader::has(const std::string& name) const {
  const H5Section section;
  return opened_->arrays().has(wrapper_ + name);
}

std::vector<std::string> H5StateReader::names() const {
  const H5Section section;
  std::vector<std::string> found = opened_->arrays().all_names();
  for (std::string& name : found) name.erase(0, wrapper_.size());
  return found;
}

std::string H5StateReader::stored_name(const std::string& name) const {
  if (has(name)) return wrapper_ + name;
  const H5Section section;
  throw base::DataError(fmt::format("{}: expected a dataset '{}', found {}{}", opened_->path(),
                                    name, some_of(opened_->arrays().all_names()),
                                    opened_->arrays().broken_link(wrapper_ + name)));
}

std::vector<float> H5StateReader::read(const std::string& name,
                                       const std::vector<std::int64_t>& shape) const {
  const std::string path = stored_name(name);
  const std::vector<hsize_t> expected(shape.begin(), shape.end());
  std::vector<float> data(
      std::accumulate(expected.begin(), expected.end(), std::size_t{1}, std::multiplies<>()));
  dataset::StoredArray array;
  {
    const H5Section section;
    const dataset::H5Dataset dataset = opened_->arrays().open(path);
    const bool is_float = number_of(dataset).kind == dataset::H5Number::Kind::kFloat;
    const std::vector<hsize_t> found = dims_of(dataset);
    if (!is_float || found != expected) {
      throw base::DataError(fmt::format(
          "{}: {}: expected floating point of shape {}, found {} of shape {}", opened_->path(),
          name, shape_in_words(expected), type_in_words(dataset), shape_in_words(found)));
    }
    if (data.empty()) return data;
    array = opened_->arrays().find(dataset, path);
  }
  read_floats(opened_->parts(), array, data);
  return data;
}

std::int64_t H5StateReader::read_integer(const std::string& name) const {
  const std::string path = stored_name(name);
  dataset::StoredArray array;
  {
    const H5Section section;
    const dataset::H5Dataset dataset = opened_->arrays().open(path);
    const std::vector<hsize_t> dims = dims_of(dataset);
    const dataset::H5Number number = number_of(dataset);
    const bool is_whole = number.kind == dataset::H5Number::Kind::kSigned ||
                          number.kind == dataset::H5Number::Kind::kUnsigned;
    if (!is_whole || std::ranges::any_of(dims, [](hsize_t extent) { return extent != 1; })) {
      throw base::DataError(fmt::format("{}: {}: expected one whole number, found {} of shape {}",
                                        opened_->path(), name, type_in_words(dataset),
                                        shape_in_words(dims)));
    }
    array = opened_->arrays().find(dataset, path);
  }
  const std::vector<std::byte> value = read_values(opened_->parts(), array);
  if (value.size() != array.number.bytes) {  // an array without any shape has none
    throw base::DataError(fmt::format("{}: {}: expected one whole number, found {} bytes",
                                      opened_->path(), name, value.size()));
  }
  return dataset::whole_number(array.number, value);
}

}  // namespace staging
