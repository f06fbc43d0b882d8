// Labels of flat datasets, read from a text file.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "runner/base/error.h"
#include "runner/base/narrow.h"
#include "staging/dataset/arrange.h"
#include "staging/dataset/file.h"
#include "staging/dataset/ilsvrc2012.h"

namespace dataset {
namespace {

constexpr std::string_view kBlanks = " \t";

struct Line {
  std::string_view file;  ///< empty: labels are in the order of the files
  std::string_view label;
};

/// Parses the labels of one file; messages name the line.
class LabelParser {
 public:
  /// `own_numbers`: the class names by ImageNet's own numbers, if the integers are those; else
  /// empty.
  LabelParser(const OpenOptions& options, const std::vector<std::string>& class_names,
              std::vector<std::string> own_numbers)
      : options_(options), own_numbers_(std::move(own_numbers)) {
    for (const auto& name : class_names) {
      ids_.emplace(name, base::narrow<std::int32_t>(ids_.size()));
    }
  }

  [[noreturn]] void fail(std::size_t line, const std::string& what) const {
    throw base::DataError(fmt::format("{}: line {}: {}", options_.labels_file, line + 1, what));
  }

  Line split(const std::string& text, std::size_t line) const {
    const std::size_t begin = text.find_first_not_of(kBlanks);
    if (begin == std::string::npos) fail(line, "expected a label, found an empty line");
    const std::size_t end = text.find_last_not_of(kBlanks) + 1;
    const std::string_view trimmed = std::string_view(text).substr(begin, end - begin);
    const std::size_t blank = trimmed.find_last_of(kBlanks);
    if (blank == std::string_view::npos) return {{}, trimmed};
    const std::string_view file = trimmed.substr(0, trimmed.find_last_not_of(kBlanks, blank) + 1);
    return {file, trimmed.substr(blank + 1)};
  }

  std::int32_t id(std::string_view label, std::size_t line) {
    const auto known = ids_.find(label);
    if (known != ids_.end()) return known->second;
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(label.begin(), label.end(), value);
    if (error != std::errc() || end != label.end()) {
      fail(line, fmt::format("expected an integer{}, found '{}'",
                             ids_.empty() ? "" : " or one of the known class names", label));
    }
    return own_numbers_.empty() ? id_at(value, line) : id_of_own(value, line);
  }

  /// Whether a label was taken as the position of a class.
  bool has_positions() const { return has_positions_; }

 private:
  std::int32_t id_at(std::int64_t value, std::size_t line) {
    constexpr std::int64_t kMaxClasses = 1 << 20;  // each gets a name
    const std::int64_t first = options_.first_label;
    const std::int64_t count = ids_.empty() ? kMaxClasses : static_cast<std::int64_t>(ids_.size());
    if (value < first || value >= first + count) {
      fail(line,
           fmt::format("expected a label of {} to {}, found {}", first, first + count - 1, value));
    }
    has_positions_ = true;
    return static_cast<std::int32_t>(value - first);
  }

  std::int32_t id_of_own(std::int64_t value, std::size_t line) const {
    if (value < 1 || value > static_cast<std::int64_t>(own_numbers_.size())) {
      fail(line, fmt::format("expected one of ImageNet's own numbers, 1 to {}, found {}",
                             own_numbers_.size(), value));
    }
    const std::string& name = own_numbers_[static_cast<std::size_t>(value - 1)];
    const auto known = ids_.find(name);
    if (known == ids_.end()) {
      fail(line, fmt::format("{}, ImageNet's number {}, is not one of the {} known classes", name,
                             value, ids_.size()));
    }
    return known->second;
  }

  const OpenOptions& options_;
  const std::vector<std::string> own_numbers_;
  std::unordered_map<std::string_view, std::int32_t> ids_;
  bool has_positions_ = false;
};

std::size_t place_of(const std::vector<std::string_view>& file_names, std::string_view name,
                     const LabelParser& parser, std::size_t line) {
  const auto place = std::lower_bound(file_names.begin(), file_names.end(), name);
  if (place == file_names.end() || *place != name) {
    parser.fail(line, fmt::format("'{}' is not among the images", name));
  }
  return static_cast<std::size_t>(place - file_names.begin());
}

/// The lines without blanks at their ends, and without empty ones at the end.
std::vector<std::string> trimmed_lines(const std::string& path) {
  std::vector<std::string> lines = read_lines(path);
  for (std::string& line : lines) line.erase(line.find_last_not_of(kBlanks) + 1);
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

}  // namespace

std::vector<std::int32_t> read_labels(const std::vector<std::string_view>& file_names,
                                      const OpenOptions& options, Listing& listing) {
  const std::vector<std::string> lines = trimmed_lines(options.labels_file);
  if (lines.size() != file_names.size()) {
    throw base::DataError(fmt::format("{}: expected {} labels, one for each image, found {}",
                                      options.labels_file, file_names.size(), lines.size()));
  }
  std::vector<std::string> own_numbers;
  listing.class_names = options.class_names;
  const bool has_wordnet_names = are_wordnet_ids(options.class_names);
  const bool is_ground_truth = is_ilsvrc2012_ground_truth(lines);
  if (is_ground_truth && has_wordnet_names) {
    own_numbers = ilsvrc2012_wordnet_ids();
    if (listing.class_names.empty()) {
      listing.class_names = own_numbers;
      std::ranges::sort(listing.class_names);
    }
  }
  LabelParser parser(options, listing.class_names, std::move(own_numbers));
  std::vector<std::int32_t> labels(lines.size(), -1);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Line line = parser.split(lines[i], i);
    const std::size_t place = line.file.empty() ? i : place_of(file_names, line.file, parser, i);
    if (labels[place] >= 0) {
      parser.fail(i, fmt::format("a second label for '{}'", file_names[place]));
    }
    labels[place] = parser.id(line.label, i);
  }
  const bool may_be_own = is_ground_truth || (has_wordnet_names && !options.class_names.empty());
  if (parser.has_positions() && may_be_own) {
    listing.remark = fmt::format(
        "{}: its integers are taken as positions of the sorted class folders, from {} on; if they "
        "are ImageNet's own numbers (ILSVRC2012_ID), every label is wrong: write WordNet ids "
        "instead",
        options.labels_file, options.first_label);
  }
  if (listing.class_names.empty()) {
    const std::int32_t largest = *std::max_element(labels.begin(), labels.end());
    for (std::int32_t id = 0; id <= largest; ++id)
      listing.class_names.push_back(std::to_string(id));
  }
  return labels;
}

}  // namespace dataset
