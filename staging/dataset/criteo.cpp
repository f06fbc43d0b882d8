// Click logs in the Criteo Terabyte benchmark's binary form: files of records.
#include "staging/dataset/criteo.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <string_view>
#include <utility>

#include "runner/base/ceil_div.h"
#include "runner/base/error.h"
#include "staging/dataset/expand.h"

namespace dataset {
namespace {

static_assert(std::endian::native == std::endian::little, "records are read as they lie");

/// A flat file cut into pieces of equal size.
class Pieces final : public Dataset {
 public:
  explicit Pieces(std::shared_ptr<const File> file) : file_(std::move(file)) {}
  std::int64_t size() const override {
    return base::ceil_div(file_->size(), ClickFile::kPieceBytes);
  }
  const std::vector<std::string>& class_names() const override { return no_classes_; }
  std::int32_t label(std::int64_t) const override { return 0; }
  std::int64_t bytes(std::int64_t index) const override {
    return std::min(ClickFile::kPieceBytes, file_->size() - index * ClickFile::kPieceBytes);
  }
  void read(std::int64_t index, std::vector<std::byte>& out) const override {
    out.resize(static_cast<std::size_t>(bytes(index)));
    file_->read(index * ClickFile::kPieceBytes, out);
  }
  std::int64_t read_many(std::span<const std::int64_t> indices, const Room& room) const override {
    for (const std::int64_t index : indices) {
      Stamp found = stamp(index);
      if (file_->has_changed()) found.mtime_ns = ~found.mtime_ns;  // any other time
      file_->read(index * ClickFile::kPieceBytes, room(index, found));
    }
    return std::ssize(indices);
  }
  std::string name(std::int64_t index) const override {
    return fmt::format("{}: piece {}", file_->path(), index);
  }
  std::string source() const override { return file_->path(); }
  Stamp stamp(std::int64_t index) const override { return {bytes(index), file_->mtime_ns()}; }

 private:
  std::shared_ptr<const File> file_;
  std::vector<std::string> no_classes_;
};

/// Fills `out` from `offset` of the flat file that `pieces` make up. Returns the number of bytes
/// read.
std::int64_t read_pieces(const Dataset& pieces, std::int64_t offset, std::span<std::byte> out,
                         ClickFile::LastPiece& last) {
  std::int64_t read = 0;
  while (!out.empty()) {
    const std::int64_t index = offset / ClickFile::kPieceBytes;
    if (index != last.index) {
      last.index = -1;  // in case the read fails
      pieces.read(index, last.bytes);
      if (std::cmp_not_equal(last.bytes.size(), pieces.bytes(index))) {
        throw base::DataError(fmt::format("{}: expected {} bytes, the copy has {}",
                                          pieces.name(index), pieces.bytes(index),
                                          last.bytes.size()));
      }
      last.index = index;
      read += std::ssize(last.bytes);
    }
    const auto usable =
        std::span(last.bytes).subspan(static_cast<std::size_t>(offset % ClickFile::kPieceBytes));
    const std::size_t taken = std::min(usable.size(), out.size());
    std::copy_n(usable.begin(), taken, out.begin());
    out = out.subspan(taken);
    offset += static_cast<std::int64_t>(taken);
  }
  return read;
}

void check_format(const ClickFormat& format) {
  constexpr std::int64_t kMost = 1 << 16;
  if (format.dense < 0 || format.tables < 0 || format.dense > kMost || format.tables > kMost) {
    throw base::ConfigError(
        fmt::format("click records: expected 0 to {} dense features and as many tables, got {} "
                    "dense features and {} tables",
                    kMost, format.dense, format.tables));
  }
}

/// Whether a file begins like the text in which Criteo publishes its logs: a label, a tab, counts
/// and hexadecimal ids between tabs.
bool is_criteo_text(std::string_view begin) {
  constexpr std::string_view kUsed = "0123456789abcdefABCDEF-\t\r\n";
  return begin.size() > 2 && (begin[0] == '0' || begin[0] == '1') && begin[1] == '\t' &&
         begin.find_first_not_of(kUsed) == std::string_view::npos;
}

/// Forms of click logs that other programs read, in words; "" for any other content. No record
/// begins like one of them, as it begins with a label.
std::string other_form(const File& file) {
  constexpr std::string_view kArrays = "\x93NUMPY", kZip = "PK\x03\x04", kParquet = "PAR1";
  std::string head(4096, '\0');
  head.resize(
      static_cast<std::size_t>(file.read_some(0, std::as_writable_bytes(std::span<char>(head)))));
  if (is_criteo_text(head)) {
    return "Criteo's text, lines of values between tabs; the preprocessing of MLPerf's reference "
           "makes records of it (github.com/facebookresearch/dlrm: data_utils.py, then "
           "data_loader_terabyte.py)";
  }
  if (compression_of(std::as_bytes(std::span<const char>(head))) == Compression::kGzip) {
    return "a gzip file, as Criteo publishes its text; expand it, and make records of the text";
  }
  if (head.starts_with(kArrays) || head.starts_with(kZip)) {
    return "NumPy's arrays, a step of the preprocessing; data_loader_terabyte.py of MLPerf's "
           "reference (github.com/facebookresearch/dlrm) makes records of them";
  }
  if (head.starts_with(kParquet)) return "Parquet";
  return head.empty() ? "an empty file" : "";
}

}  // namespace

ClickFile::ClickFile(std::string path, ClickFormat format)
    : format_(format), file_(std::make_shared<File>(std::move(path))) {
  check_format(format_);
  const std::string other = other_form(*file_);
  if (!other.empty()) {
    throw base::DataError(
        fmt::format("{}: expected records of {} bytes (int32: label, {} counts, {} ids), found {}",
                    file_->path(), format_.record_bytes(), format_.dense, format_.tables, other));
  }
  const std::int64_t size = file_->size(), record = format_.record_bytes();
  if (size % record != 0) {
    throw base::DataError(fmt::format(
        "{}: expected a whole number of {}-byte records (label, {} counts, {} ids), found {} "
        "bytes: {} records and {} bytes",
        file_->path(), record, format_.dense, format_.tables, size, size / record, size % record));
  }
  samples_ = size / record;
}

ClickFile::ClickFile(const ClickFile& original, std::shared_ptr<const Dataset> copy)
    : format_(original.format_),
      file_(original.file_),
      copy_(std::move(copy)),
      samples_(original.samples_) {}

std::int64_t ClickFile::read(std::int64_t first, std::int64_t count,
                             std::span<std::int32_t> records, LastPiece& last) const {
  if (first < 0 || count < 0 || first + count > samples_ ||
      static_cast<std::int64_t>(records.size()) != count * format_.record_values()) {
    throw base::Error(base::ExitCode::kInternal,
                      fmt::format("{}: records {} to {} of {} were asked for, with room for {} "
                                  "values",
                                  path(), first, first + count, samples_, records.size()));
  }
  const std::int64_t offset = first * format_.record_bytes();
  const auto out = std::as_writable_bytes(records);
  if (copy_) return read_pieces(*copy_, offset, out, last);
  file_->read(offset, out);
  if (file_->has_changed()) has_changed_ = true;
  return std::ssize(out);
}

std::vector<std::string> ClickFile::take_remarks() const {
  if (copy_) return copy_->take_remarks();
  if (!has_changed_.exchange(false)) return {};
  return {change_remark(path())};
}

std::shared_ptr<const Dataset> ClickFile::pieces() const { return std::make_shared<Pieces>(file_); }

std::pair<std::int64_t, std::int64_t> ClickFile::pieces_of(std::int64_t first,
                                                           std::int64_t last) const {
  if (first >= last) return {0, 0};
  return {first * format_.record_bytes() / kPieceBytes,
          base::ceil_div(last * format_.record_bytes(), kPieceBytes)};
}

}  // namespace dataset
