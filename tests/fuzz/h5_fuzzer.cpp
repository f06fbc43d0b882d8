// HDF5 files of any content as samples, statistics and weights: a DataError, or values in range,
// never a crash. The bytes choose what is in the file (made_h5.h).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runner/base/error.h"
#include "staging/dataset/climate.h"
#include "staging/dataset/climate_statistics.h"
#include "staging/dataset/universe.h"
#include "staging/h5.h"
#include "tests/fuzz/made_h5.h"
#include "tests/fuzz/memory_file.h"

namespace {

using Bytes = std::span<const std::byte>;

constexpr dataset::UniverseShape kUniverse{{2, 2, 2}, 2};
constexpr dataset::ClimateShape kClimate{2, 3, dataset::kClimateChannels};

template <class Call>
void try_to(const Call& call) {
  try {
    call();
  } catch (const base::DataError&) {
  }
}

void decode_universe(Bytes bytes) {
  const dataset::Universe whole = dataset::decode_universe(bytes, kUniverse, "fuzz");
  fuzz::require(whole.counts.size() == 16);
  for (const std::int16_t count : whole.counts) fuzz::require(count >= 0);
  for (const float target : whole.targets) fuzz::require(std::abs(target) <= 1.5F);
  const dataset::UniverseRegion region{{1, 0, 1}, {1, 2, 1}};
  const auto part = dataset::decode_universe_region(bytes, kUniverse, region, "fuzz");
  fuzz::require(part.targets == whole.targets && part.counts.size() == 4);
  for (std::size_t row = 0; row < 2; ++row) {  // [1, row, 1, :] of the whole
    const auto first = whole.counts.begin() + static_cast<std::ptrdiff_t>(8 + 4 * row + 2);
    fuzz::require(
        std::equal(first, first + 2, part.counts.begin() + static_cast<std::ptrdiff_t>(2 * row)));
  }
}

void decode_climate(Bytes bytes, const std::string& path) {
  dataset::ClimateSample sample, of_file;
  dataset::decode_climate_into(bytes, kClimate, "fuzz", sample);
  fuzz::require(sample.values.size() == 96 && sample.labels.size() == 6);
  for (const float value : sample.values) fuzz::require(std::isfinite(value));
  for (const std::uint8_t label : sample.labels) {
    fuzz::require(label < dataset::kClimateClasses);
  }
  const dataset::File file(path);
  const std::int64_t bytes_read = dataset::read_climate_into(file, kClimate, of_file);
  fuzz::require(bytes_read > 0);
  fuzz::require(of_file.values == sample.values && of_file.labels == sample.labels);
}

void read_statistics(const std::string& path) {
  const dataset::ClimateStatistics statistics = dataset::read_climate_statistics(path);
  for (std::size_t channel = 0; channel < statistics.minval.size(); ++channel) {
    const float low = statistics.minval[channel], high = statistics.maxval[channel];
    fuzz::require(std::isfinite(low) && std::isfinite(high) && low < high);
  }
}

void read_weights(const std::string& path) {
  const staging::H5StateReader reader(path);
  const std::vector<std::string> names = reader.names();
  fuzz::require(std::ranges::is_sorted(names));
  for (const std::string& name : names) {
    fuzz::require(reader.has(name));
    try_to([&] { fuzz::require(reader.read(name, {2, 3}).size() == 6); });
    try_to([&] { fuzz::require(reader.read(name, {4}).size() == 4); });
    try_to([&] { (void)reader.read_integer(name); });
  }
  try_to([&] {
    (void)reader.read_integer("absent");
    fuzz::require(false);
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<std::byte> made = fuzz::make_h5(std::span(data, size));
  const fuzz::MemoryFile file(reinterpret_cast<const std::uint8_t*>(made.data()), made.size());
  try_to([&] { decode_universe(made); });
  try_to([&] { decode_climate(made, file.path()); });
  try_to([&] { read_statistics(file.path()); });
  try_to([&] { read_weights(file.path()); });
  return 0;
}
