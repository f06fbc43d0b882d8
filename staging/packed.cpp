// Packed files of samples with an index: the format of a node's staged samples.
#include "staging/packed.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <span>
#include <utility>

#include "runner/base/error.h"
#include "runner/stop_signals.h"
#include "staging/dataset/file.h"
#include "staging/dataset/remark.h"
#include "staging/hash.h"
#include "staging/output_file.h"
#include "staging/own_folder.h"

namespace staging {
namespace {

[[noreturn]] void differs(const std::string& path, const PackedSample& sample) {
  throw base::DataError(
      fmt::format("{}: offset {}: {} bytes of sample {} differ from what was staged (XXH3)", path,
                  sample.offset, sample.size, sample.index));
}

/// Makes later runs reject the set in `directory` and copy it again.
void mark_as_damaged(const std::string& directory) {
  std::ofstream(directory + "/" + kDamagedFile).flush();
}

/// Reports progress; throws Error(kStopped) if the process was told to end.
void report_progress(base::Activity& activity) {
  activity.progress();
  if (runner::is_told_to_end()) {
    throw base::Error(base::ExitCode::kStopped, "staging: stopped by a signal");
  }
}

/// Reads a finished part in blocks of about 8 MiB and compares every checksum.
void read_back(const std::string& path, const std::vector<PackedSample>& samples,
               base::Activity& activity) {
  constexpr std::int64_t kPiece = 8 << 20;
  const dataset::File file(path);
  std::vector<std::byte> piece;
  for (std::size_t first = 0; first < samples.size();) {
    std::size_t last = first + 1;
    const auto end_of = [&](std::size_t i) { return samples[i].offset + samples[i].size; };
    const std::int64_t begin = samples[first].offset;
    while (last < samples.size() && end_of(last) - begin <= kPiece) ++last;
    piece.resize(static_cast<std::size_t>(end_of(last - 1) - begin));
    file.read(begin, piece);
    report_progress(activity);
    for (; first < last; ++first) {
      const PackedSample& sample = samples[first];
      const auto bytes = std::span(piece).subspan(static_cast<std::size_t>(sample.offset - begin),
                                                  static_cast<std::size_t>(sample.size));
      if (hash_of(bytes) != sample.hash) differs(path, sample);
    }
  }
}

/// Reads the index of a part. Throws DataError when it contradicts the manifest.
std::vector<PackedSample> read_index(const std::string& directory, const PackedPart& part) {
  const dataset::File file(directory + "/" + part.index_file);
  constexpr auto kEntry = static_cast<std::int64_t>(sizeof(PackedSample));
  if (file.size() % kEntry != 0 || file.size() / kEntry != part.samples) {
    throw base::DataError(fmt::format("{}: expected {} entries of {} bytes, found {} bytes",
                                      file.path(), part.samples, kEntry, file.size()));
  }
  std::vector<PackedSample> samples(static_cast<std::size_t>(part.samples));
  const auto bytes = std::as_writable_bytes(std::span(samples));
  file.read(0, bytes);
  if (hash_text(bytes.data(), bytes.size()) != part.index_hash) {
    throw base::DataError(fmt::format("{}: differs from its checksum", file.path()));
  }
  return samples;
}

void check_part(const std::string& directory, const PackedPart& part) {
  const dataset::File file(directory + "/" + part.file);
  if (file.size() != part.bytes) {
    throw base::DataError(
        fmt::format("{}: expected {} bytes, found {}", file.path(), part.bytes, file.size()));
  }
}

/// Serves a source's samples from packed files. Takes 40 bytes of memory a sample.
class PackedDataset final : public dataset::Dataset {
 public:
  PackedDataset(std::shared_ptr<const dataset::Dataset> source, const std::string& directory,
                const std::string& earlier_damage)
      : source_(std::move(source)), directory_(directory) {
    if (!earlier_damage.empty()) damage_.note(earlier_damage + "; copied anew");
    const Manifest manifest = read_manifest(directory);
    places_.reserve(static_cast<std::size_t>(manifest.samples));
    for (const PackedPart& part : manifest.parts) {
      check_part(directory, part);
      for (const PackedSample& sample : read_index(directory, part)) {
        places_.push_back({sample, static_cast<std::int32_t>(files_.size())});
      }
      files_.emplace_back(directory + "/" + part.file);
    }
    std::sort(places_.begin(), places_.end(),
              [](const Place& a, const Place& b) { return a.sample.index < b.sample.index; });
  }

  std::int64_t size() const override { return source_->size(); }
  const std::vector<std::string>& class_names() const override { return source_->class_names(); }
  std::int32_t label(std::int64_t index) const override { return source_->label(index); }
  std::int64_t bytes(std::int64_t index) const override { return place_of(index).sample.size; }
  std::string name(std::int64_t index) const override { return source_->name(index); }
  std::string source() const override { return source_->source(); }

  void read(std::int64_t index, std::vector<std::byte>& out) const override {
    const Place& place = place_of(index);
    try {
      read_copy(place, out);
    } catch (const base::DataError& e) {
      mark_as_damaged(directory_);
      read_source(place.sample, e.what(), out);
      damage_.note(fmt::format("{}; read from {} instead, and the next run copies anew", e.what(),
                               source_->name(index)));
    }
  }

  std::vector<std::string> take_remarks() const override {
    std::vector<std::string> remarks = source_->take_remarks();
    damage_.take_into(remarks);
    return remarks;
  }

 private:
  struct Place {
    PackedSample sample;
    std::int32_t part = 0;
  };

  void read_copy(const Place& place, std::vector<std::byte>& out) const {
    const dataset::File& file = files_[static_cast<std::size_t>(place.part)];
    out.resize(static_cast<std::size_t>(place.sample.size));
    file.read(place.sample.offset, out);
    if (hash_of(out) != place.sample.hash) differs(file.path(), place.sample);
  }

  /// For a sample whose copy is damaged as `damage` says.
  void read_source(const PackedSample& sample, const char* damage,
                   std::vector<std::byte>& out) const {
    try {
      source_->read(sample.index, out);
    } catch (const base::DataError& e) {
      throw base::DataError(fmt::format("{}; and its source: {}", damage, e.what()));
    }
    if (hash_of(out) == sample.hash) return;
    throw base::DataError(
        fmt::format("{}; and {} differs from it as well", damage, source_->name(sample.index)));
  }

  const Place& place_of(std::int64_t index) const {
    const auto place = std::lower_bound(
        places_.begin(), places_.end(), index,
        [](const Place& a, std::int64_t wanted) { return a.sample.index < wanted; });
    if (place == places_.end() || place->sample.index != index) {
      throw base::Error(
          base::ExitCode::kInternal,
          fmt::format("{}: sample {} was not staged on this node", source_->source(), index));
    }
    return *place;
  }

  const std::shared_ptr<const dataset::Dataset> source_;
  const std::string directory_;
  std::vector<dataset::File> files_;
  std::vector<Place> places_;  ///< sorted by index
  mutable dataset::Remark damage_;
};

}  // namespace

PackResult write_part(const dataset::Dataset& source, const std::vector<std::int64_t>& indices,
                      const std::string& directory, int number, base::Activity& activity) {
  PackResult result;
  PackedPart& part = result.part;
  part.file = fmt::format("part-{}.bin", number);
  part.index_file = fmt::format("part-{}.index", number);
  std::vector<PackedSample> samples;
  samples.reserve(indices.size());
  OutputFile file(directory + "/" + part.file);
  result.source_reads =
      source.read_many(indices, [&](std::int64_t index, std::span<const std::byte> bytes) {
        samples.push_back(
            {index, file.size(), static_cast<std::int64_t>(bytes.size()), hash_of(bytes)});
        file.append(bytes);
        report_progress(activity);
      });
  file.finish();
  read_back(file.path(), samples, activity);
  const auto index_bytes = std::as_bytes(std::span(samples));
  OutputFile index_file(directory + "/" + part.index_file);
  index_file.append(index_bytes);
  index_file.finish();
  part.samples = static_cast<std::int64_t>(samples.size());
  part.bytes = file.size();
  part.index_hash = hash_text(index_bytes.data(), index_bytes.size());
  return result;
}

bool holds_staged_set(const std::string& directory, const std::string& identity) {
  if (!is_own_folder(directory)) return false;
  try {
    const Manifest manifest = read_manifest(directory);
    if (manifest.identity != identity) return false;
    if (std::filesystem::exists(directory + "/" + kDamagedFile)) return false;
    for (const PackedPart& part : manifest.parts) {
      check_part(directory, part);
      read_index(directory, part);
    }
    return true;
  } catch (const base::DataError&) {
    return false;
  }
}

std::string find_damage(const std::string& directory, base::Activity& activity) {
  try {
    for (const PackedPart& part : read_manifest(directory).parts) {
      check_part(directory, part);
      read_back(directory + "/" + part.file, read_index(directory, part), activity);
    }
    return "";
  } catch (const base::DataError& e) {
    mark_as_damaged(directory);
    return e.what();
  }
}

std::shared_ptr<const dataset::Dataset> open_packed(std::shared_ptr<const dataset::Dataset> source,
                                                    const std::string& directory,
                                                    const std::string& earlier_damage) {
  return std::make_shared<PackedDataset>(std::move(source), directory, earlier_damage);
}

}  // namespace staging
