// Samples of the CosmoFlow benchmark, encoded and decoded.
#include "staging/dataset/universe.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "runner/base/error.h"
#include "runner/base/file_format.h"
#include "staging/dataset/example.h"
#include "staging/dataset/expand.h"
#include "staging/dataset/gzip.h"
#include "staging/dataset/h5_array.h"
#include "staging/dataset/listing.h"
#include "staging/dataset/tfrecord.h"
#include "staging/dataset/universe_h5.h"
#include "staging/dataset/universe_parts.h"

namespace dataset {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::size_t kFormatBytes = 64;

/// A sample whose parts were found and checked, except for the values of the counts.
struct Opened {
  Bytes counts;  ///< of the whole sample, in the encoded bytes or in `expanded`
  std::vector<std::byte> expanded;
  std::array<float, 4> targets{};
};

template <class List>
const List& feature_of(const Example& example, const char* feature, const char* kind,
                       std::size_t values, const std::string& name) {
  const auto found = example.find(feature);
  if (found == example.end()) {
    throw base::DataError(fmt::format("{}: expected a feature '{}'", name, feature));
  }
  const List* list = std::get_if<List>(&found->second);
  if (list == nullptr) {
    throw base::DataError(
        fmt::format("{}: {}: expected {}, found another kind of values", name, feature, kind));
  }
  if (list->size() != values) {
    throw base::DataError(fmt::format("{}: {}: expected {} of {} values, found {}", name, feature,
                                      kind, values, list->size()));
  }
  return *list;
}

Opened open_tfrecord(Bytes bytes, const UniverseShape& shape, const std::string& name) {
  RecordReader reader(bytes, name);
  const auto record = reader.next();
  if (!record) throw base::DataError(name + ": expected a record, found an empty file");
  if (reader.offset() != static_cast<std::int64_t>(bytes.size())) {
    throw base::DataError(fmt::format("{}: offset {}: expected one record, found more than that",
                                      name, reader.offset()));
  }
  const Example example = parse_example(*record, name, reader.data_offset());
  Opened opened;
  opened.counts = feature_of<BytesList>(example, "x", "a list of bytes", 1, name).front();
  const std::int64_t expected = counts_of(shape) * kCountBytes;
  if (static_cast<std::int64_t>(opened.counts.size()) != expected) {
    throw base::DataError(
        fmt::format("{}: x: expected {} bytes, found {}", name, expected, opened.counts.size()));
  }
  const auto& targets =
      feature_of<FloatList>(example, "y", "a list of floats", opened.targets.size(), name);
  std::copy(targets.begin(), targets.end(), opened.targets.begin());
  return opened;
}

Opened open_hdf5(Bytes bytes, const UniverseShape& shape, const std::string& name) {
  H5Memory memory(bytes, name);
  UniverseInH5 found = inspect_h5(memory, shape, OtherCounts::kConvert, name);
  Opened opened;
  opened.targets = found.targets;
  if (found.offset >= 0) {
    opened.counts = bytes.subspan(static_cast<std::size_t>(found.offset),
                                  static_cast<std::size_t>(counts_of(shape) * kCountBytes));
  } else {
    opened.expanded = std::move(found.counts);
    opened.counts = opened.expanded;
  }
  return opened;
}

bool is_named_h5(const std::string& name) {
  const std::string_view file = without_compression(name);
  return file.ends_with(".hdf5") || file.ends_with(".h5");
}

/// `file` and `name` differ for bytes that were expanded: then `name` says so.
Opened open_plain(Bytes bytes, const UniverseShape& shape, const std::string& file,
                  const std::string& name) {
  if (is_h5(bytes)) return open_hdf5(bytes, shape, name);
  if (!is_tfrecord(bytes)) {
    const Bytes begin = bytes.first(std::min(bytes.size(), kFormatBytes));
    if (is_named_h5(file) || !base::format_in_words(begin).empty()) {
      throw base::DataError(fmt::format("{}: expected a sample in HDF5 or TFRecord, found {}", name,
                                        base::found_in_words(begin, std::ssize(bytes))));
    }
  }
  return open_tfrecord(bytes, shape, name);
}

Opened open_sample(Bytes bytes, const UniverseShape& shape, const std::string& name) {
  if (compression_of(bytes) == Compression::kNone) return open_plain(bytes, shape, name, name);
  auto expanded = expand(bytes, most_file_bytes(counts_of(shape) * kCountBytes), name);
  Opened opened = open_plain(expanded, shape, name, name + " (expanded)");
  // Keeps the bytes of opened.counts in place, unless they were converted.
  if (opened.expanded.empty()) opened.expanded = std::move(expanded);
  return opened;
}

}  // namespace

std::string_view universe_extension(UniverseFormat format) {
  return format == UniverseFormat::kHdf5 ? ".hdf5" : ".tfrecord";
}

std::vector<std::byte> encode_universe(const Universe& universe, UniverseFormat format) {
  const std::int64_t counts = counts_of({universe.extents, universe.channels});
  if (static_cast<std::int64_t>(universe.counts.size()) != counts) {
    throw base::ShapeError(
        fmt::format("universe: expected {} counts, got {}", counts, universe.counts.size()));
  }
  if (format == UniverseFormat::kHdf5) return encode_h5(universe);
  const Example example = {{"x", BytesList{std::as_bytes(std::span(universe.counts))}},
                           {"y", FloatList(universe.targets.begin(), universe.targets.end())}};
  std::vector<std::byte> file;
  append_record(file, serialise_example(example));
  return format == UniverseFormat::kTfrecord ? file : gzip(file);
}

void decode_into(std::span<const std::byte> bytes, const UniverseShape& shape,
                 const UniverseRegion& region, const std::string& name, Universe& out) {
  const Opened opened = open_sample(bytes, shape, name);
  prepare(region, shape, out);
  out.targets = opened.targets;
  auto* to = reinterpret_cast<std::byte*>(out.counts.data());
  for (const Run& run : runs_of(region, shape)) {
    std::memcpy(to, opened.counts.data() + run.offset, static_cast<std::size_t>(run.bytes));
    to += run.bytes;
  }
  check_targets(out.targets, name);
  check_counts(out.counts, region, shape, name);
}

Universe decode_universe(std::span<const std::byte> bytes, const UniverseShape& shape,
                         const std::string& name) {
  return decode_universe_region(bytes, shape, whole_of(shape), name);
}

Universe decode_universe_region(std::span<const std::byte> bytes, const UniverseShape& shape,
                                const UniverseRegion& region, const std::string& name) {
  check_region(region, shape);
  Universe universe;
  decode_into(bytes, shape, region, name, universe);
  return universe;
}

}  // namespace dataset
