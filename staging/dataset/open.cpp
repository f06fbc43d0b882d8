// The two kinds of datasets: one file per sample, and samples inside one archive.
#include "staging/dataset/open.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/random.h"
#include "staging/dataset/expand.h"
#include "staging/dataset/file.h"
#include "staging/dataset/list_samples.h"
#include "staging/dataset/remark.h"
#include "staging/dataset/tar.h"

namespace dataset {
namespace {

class ListedDataset : public Dataset {
 public:
  explicit ListedDataset(Listing listing) : listing_(std::move(listing)) {}
  std::int64_t size() const override { return static_cast<std::int64_t>(listing_.samples.size()); }
  const std::vector<std::string>& class_names() const override { return listing_.class_names; }
  std::int32_t label(std::int64_t index) const override { return sample(index).label; }
  std::string source() const override { return listing_.root; }
  std::int64_t most_expanded_bytes() const override { return listing_.most_bytes; }
  std::vector<std::string> take_remarks() const override {
    if (listing_.remark.empty() || is_remark_taken_.exchange(true)) return {};
    return {listing_.remark};
  }

 protected:
  const Listing::Sample& sample(std::int64_t index) const {
    if (index < 0 || index >= size()) {
      throw base::Error(base::ExitCode::kInternal,
                        fmt::format("{}: no sample {} among {}", listing_.root, index, size()));
    }
    return listing_.samples[static_cast<std::size_t>(index)];
  }
  const Listing& listing() const { return listing_; }

 private:
  Listing listing_;
  mutable std::atomic<bool> is_remark_taken_{false};
};

class FolderDataset final : public ListedDataset {
 public:
  explicit FolderDataset(Listing listing)
      : ListedDataset(std::move(listing)), seen_(this->listing().samples.size()) {}

  std::int64_t bytes(std::int64_t index) const override { return stamp(index).bytes; }

  Stamp stamp(std::int64_t index) const override {
    const FileStamp found = stamp_of(path(index));
    require_size(index, found.size);
    return stamp_with(index, found);
  }

  Stamp stamp_to_expand(std::int64_t index) const override {
    const std::string path = this->path(index);
    if (!may_be_compressed(path)) return stamp(index);
    const File file(path);
    require_size(index, file.size());
    return {file.size(), file.mtime_ns(), base::hash_name(name_in_root(index)),
            stated_bytes(file, 0, file.size(), most_expanded_bytes()).value_or(0)};
  }

  void read(std::int64_t index, std::vector<std::byte>& out) const override {
    const File file(path(index));
    note_opened(index, {file.size(), file.mtime_ns()});
    out.resize(static_cast<std::size_t>(file.size()));
    file.read(0, out);
  }

  std::int64_t read_many(std::span<const std::int64_t> indices, const Room& room) const override {
    for (const std::int64_t index : indices) {
      const File file(path(index));
      note_opened(index, {file.size(), file.mtime_ns()});
      file.read(0, room(index, stamp_with(index, {file.size(), file.mtime_ns()})));
    }
    return std::ssize(indices);
  }

  void note_opened(std::int64_t index, const Stamp& found) const override {
    require_size(index, found.bytes);
    const std::uint32_t now = mark_of(found);
    const std::uint32_t before =
        seen_[static_cast<std::size_t>(index)].exchange(now, std::memory_order_relaxed);
    if (before != 0 && before != now) changed_.note(change_remark(path(index)));
  }

  std::vector<std::string> take_remarks() const override {
    std::vector<std::string> remarks = ListedDataset::take_remarks();
    changed_.take_into(remarks);
    return remarks;
  }

  std::string name(std::int64_t index) const override { return path(index); }

  std::string path(std::int64_t index) const override {
    return fmt::format("{}/{}", listing().root, name_in_root(index));
  }

 private:
  Stamp stamp_with(std::int64_t index, const FileStamp& file) const {
    return {file.size, file.mtime_ns, base::hash_name(name_in_root(index))};
  }

  std::string name_in_root(std::int64_t index) const {
    const Listing::Sample& found = sample(index);
    const char* file = listing().names.data() + found.position;
    if (listing().is_flat) return file;
    const std::string& folder = listing().folder_names[static_cast<std::size_t>(found.label)];
    return fmt::format("{}/{}", folder, file);
  }

  /// A sparse file may claim any size.
  void require_size(std::int64_t index, std::int64_t bytes) const {
    if (bytes <= listing().most_bytes) return;
    throw base::DataError(fmt::format("{}: expected a sample of at most {} bytes, found {}",
                                      path(index), listing().most_bytes, bytes));
  }

  /// A hash that is not 0.
  static std::uint32_t mark_of(const Stamp& stamp) {
    constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;
    const auto bytes = static_cast<std::uint64_t>(stamp.bytes);
    const auto time = static_cast<std::uint64_t>(stamp.mtime_ns);
    return static_cast<std::uint32_t>(((bytes * kGolden) ^ time) * kGolden >> 32) | 1U;
  }

  mutable std::vector<std::atomic<std::uint32_t>> seen_;  ///< mark of each sample read; else 0
  mutable Remark changed_;
};

class TarDataset final : public ListedDataset {
 public:
  explicit TarDataset(Listing listing)
      : ListedDataset(std::move(listing)), file_(this->listing().root) {
    if (file_.size() != this->listing().file_size) {
      throw base::DataError(fmt::format("{}: expected {} bytes as when it was listed, found {}",
                                        file_.path(), this->listing().file_size, file_.size()));
    }
    for (const Listing::Sample& one : this->listing().samples) {
      if (one.size <= this->listing().most_bytes) continue;
      throw base::DataError(
          fmt::format("{}: offset {}: expected a sample of at most {} bytes, found {}",
                      file_.path(), one.position, this->listing().most_bytes, one.size));
    }
  }

  std::int64_t bytes(std::int64_t index) const override { return sample(index).size; }
  Stamp stamp(std::int64_t index) const override { return stamp_with(index, listing().mtime_ns); }
  Stamp stamp_to_expand(std::int64_t index) const override {
    Stamp found = stamp(index);
    if (!listing().may_be_compressed) return found;
    found.expanded_bytes =
        stated_bytes(file_, sample(index).position, found.bytes, most_expanded_bytes()).value_or(0);
    return found;
  }

  void read(std::int64_t index, std::vector<std::byte>& out) const override {
    out.resize(static_cast<std::size_t>(sample(index).size));
    try {
      file_.read(sample(index).position, out);
      look_for_change();
    } catch (const base::DataError& e) {
      throw base::DataError(fmt::format("{} (in {})", e.what(), name_or_offset(index)));
    }
  }

  std::int64_t read_many(std::span<const std::int64_t> indices, const Room& room) const override {
    std::vector<std::int64_t> order(indices.begin(), indices.end());
    std::sort(order.begin(), order.end(), [this](std::int64_t a, std::int64_t b) {
      return sample(a).position < sample(b).position;
    });
    std::int64_t reads = 0;
    std::vector<std::byte> piece;
    for (std::size_t first = 0; first < order.size(); ++reads) {
      const std::size_t last = end_of_piece(order, first);
      const std::int64_t begin = sample(order[first]).position;
      if (first + 1 == last) {
        file_.read(begin, room(order[first], stamp_with(order[first], look_for_change())));
        look_for_change();
        ++first;
        continue;
      }
      piece.resize(static_cast<std::size_t>(end_of(order[last - 1]) - begin));
      file_.read(begin, piece);
      const std::int64_t mtime_ns = look_for_change();
      for (; first < last; ++first) {
        const Listing::Sample& found = sample(order[first]);
        std::copy_n(piece.begin() + (found.position - begin), found.size,
                    room(order[first], stamp_with(order[first], mtime_ns)).begin());
      }
    }
    return reads;
  }

  std::vector<std::string> take_remarks() const override {
    std::vector<std::string> remarks = ListedDataset::take_remarks();
    if (has_changed_.exchange(false)) remarks.push_back(change_remark(file_.path()));
    return remarks;
  }

  /// Reads the header again, since names are not stored.
  std::string name(std::int64_t index) const override {
    const Listing::Sample& found = sample(index);
    const std::int64_t begin = found.position - found.header_size;
    TarMember member;
    TarWalker(file_, file_.path(), begin, file_.size()).next(member);
    const std::string& class_name = class_names()[static_cast<std::size_t>(found.label)];
    const bool tells_class = listing().is_flat || member.name.find('/') != std::string::npos;
    return fmt::format("{}: {}", file_.path(),
                       tells_class ? member.name : class_name + "/" + member.name);
  }

 private:
  Stamp stamp_with(std::int64_t index, std::int64_t mtime_ns) const {
    return {bytes(index), mtime_ns, static_cast<std::uint64_t>(sample(index).position)};
  }

  /// Returns the archive's time of modification; another time if it has changed since it was
  /// opened.
  std::int64_t look_for_change() const {
    if (!file_.has_changed()) return file_.mtime_ns();
    has_changed_ = true;
    return ~file_.mtime_ns();
  }

  std::int64_t end_of(std::int64_t index) const {
    return sample(index).position + sample(index).size;
  }

  /// The end of the samples that one read takes: those near each other, up to kPiece bytes in all.
  std::size_t end_of_piece(const std::vector<std::int64_t>& order, std::size_t first) const {
    constexpr std::int64_t kPiece = 8 << 20, kGap = 64 << 10;
    const std::int64_t begin = sample(order[first]).position;
    std::size_t last = first + 1;
    while (last < order.size() && sample(order[last]).position - end_of(order[last - 1]) <= kGap &&
           end_of(order[last]) - begin <= kPiece) {
      ++last;
    }
    return last;
  }

  std::string name_or_offset(std::int64_t index) const {
    try {
      return name(index);
    } catch (const base::DataError&) {
      return fmt::format("sample {}", index);
    }
  }

  File file_;
  mutable std::atomic<bool> has_changed_{false};
};

}  // namespace

std::int64_t Dataset::read_many(std::span<const std::int64_t> indices, const Room& room) const {
  std::vector<std::byte> bytes;
  for (const std::int64_t index : indices) {
    read(index, bytes);
    Stamp found = stamp(index);
    found.bytes = std::ssize(bytes);
    std::copy(bytes.begin(), bytes.end(), room(index, found).begin());
  }
  return static_cast<std::int64_t>(indices.size());
}

std::unique_ptr<Dataset> open_dataset(const std::string& path, const OpenOptions& options) {
  return open_dataset(list_samples(path, options));
}

std::unique_ptr<Dataset> open_dataset(Listing listing) {
  if (listing.kind == Listing::Kind::kTar) return std::make_unique<TarDataset>(std::move(listing));
  return std::make_unique<FolderDataset>(std::move(listing));
}

}  // namespace dataset
