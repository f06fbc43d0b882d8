// Statistics of the channels of a climate dataset.
#include "staging/dataset/climate_statistics.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "runner/base/archive_path.h"
#include "runner/base/error.h"
#include "staging/dataset/file.h"
#include "staging/dataset/h5_array.h"
#include "staging/dataset/tar_listing.h"

namespace dataset {
namespace {

constexpr const char* kMinimum = "climate/minval";
constexpr const char* kMaximum = "climate/maxval";

StoredArray find(const H5Arrays& arrays, const char* path) {
  if (!arrays.has(path)) {
    throw base::DataError(fmt::format("{}: expected a dataset, found none{}", arrays.label(path),
                                      arrays.broken_link(path)));
  }
  return arrays.find_floats(path, kClimateChannels);
}

void check(const ClimateStatistics& statistics, const std::string& path) {
  for (std::size_t channel = 0; channel < statistics.minval.size(); ++channel) {
    const float low = statistics.minval[channel], high = statistics.maxval[channel];
    if (std::isfinite(low) && std::isfinite(high) && high > low && std::isfinite(high - low)) {
      continue;
    }
    throw base::DataError(
        fmt::format("{}: channel {}: expected a finite maximum above a finite minimum, found {} "
                    "and {}",
                    path, channel, high, low));
  }
}

template <class Value, class Of>
void write(const H5FileHandle& file, const char* path, hid_t type, const ClimateSummary& summary,
           const Of& of) {
  std::array<Value, kClimateChannels> values{};
  std::transform(summary.channels.begin(), summary.channels.end(), values.begin(), of);
  write_h5_array(file, path, type, {values.size()}, values.data());
}

ClimateStatistics read_from(H5Storage& storage, const std::string& path) {
  StoredArray minimum, maximum;
  {
    const H5Section section;
    const H5Arrays arrays(storage, path);
    minimum = find(arrays, kMinimum);
    maximum = find(arrays, kMaximum);
  }
  ClimateStatistics statistics;
  read_floats(storage, minimum, statistics.minval);
  read_floats(storage, maximum, statistics.maxval);
  check(statistics, path);
  return statistics;
}

}  // namespace

ClimateStatistics read_climate_statistics(const std::string& path) {
  constexpr std::int64_t kMostBytes = std::int64_t{64} << 20;
  const auto inside = base::archive_path(path);
  if (!inside || inside->below.empty()) {
    const File file(path);
    H5FileParts parts(file);
    return read_from(parts, path);
  }
  const std::vector<std::byte> bytes = read_member(*inside, kMostBytes);
  H5Memory memory(bytes, path);
  return read_from(memory, path);
}

ClimateSummary summarize(const ClimateSample& sample) {
  if (sample.channels != kClimateChannels || sample.values.empty()) {
    throw base::ShapeError(
        fmt::format("climate sample: expected values of {} channels, got {} of "
                    "{}",
                    kClimateChannels, sample.values.size(), sample.channels));
  }
  ClimateSummary summary;
  for (std::size_t channel = 0; channel < summary.channels.size(); ++channel) {
    auto& seen = summary.channels[channel];
    seen.count = static_cast<std::int64_t>(sample.labels.size());
    seen.minval = seen.maxval = sample.values[channel];
  }
  for (std::size_t at = 0; at < sample.values.size(); at += summary.channels.size()) {
    for (std::size_t channel = 0; channel < summary.channels.size(); ++channel) {
      auto& seen = summary.channels[channel];
      const float value = sample.values[at + channel];
      seen.sum += static_cast<double>(value);
      seen.squares += static_cast<double>(value) * static_cast<double>(value);
      seen.minval = std::min(seen.minval, value);
      seen.maxval = std::max(seen.maxval, value);
    }
  }
  return summary;
}

void merge(ClimateSummary& into, const ClimateSummary& other) {
  for (std::size_t channel = 0; channel < into.channels.size(); ++channel) {
    auto& seen = into.channels[channel];
    const auto& more = other.channels[channel];
    if (more.count == 0) continue;
    seen.minval = seen.count == 0 ? more.minval : std::min(seen.minval, more.minval);
    seen.maxval = seen.count == 0 ? more.maxval : std::max(seen.maxval, more.maxval);
    seen.count += more.count;
    seen.sum += more.sum;
    seen.squares += more.squares;
  }
}

std::vector<std::byte> encode_climate_statistics(const ClimateSummary& summary) {
  using Channel = ClimateSummary::Channel;
  H5Buffer buffer;
  const H5Section section;
  {
    const H5FileHandle file = create_h5(buffer, H5P_DEFAULT, "statistics");
    write<std::int64_t>(file, "climate/count", H5T_STD_I64LE, summary,
                        [](const Channel& channel) { return channel.count; });
    write<double>(file, "climate/mean", H5T_IEEE_F64LE, summary, [](const Channel& channel) {
      return channel.sum / static_cast<double>(channel.count);
    });
    write<double>(file, "climate/sqmean", H5T_IEEE_F64LE, summary, [](const Channel& channel) {
      return channel.squares / static_cast<double>(channel.count);
    });
    write<float>(file, kMinimum, H5T_IEEE_F32LE, summary,
                 [](const Channel& channel) { return channel.minval; });
    write<float>(file, kMaximum, H5T_IEEE_F32LE, summary,
                 [](const Channel& channel) { return channel.maxval; });
    flush_h5(file, "statistics");
  }
  return std::move(buffer.bytes);
}

}  // namespace dataset
