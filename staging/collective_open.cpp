// Opening a dataset on many ranks while only rank 0 lists or reads the files.
#include "staging/collective_open.h"

#include <cstring>
#include <functional>
#include <type_traits>

#include "runner/agreed_error.h"
#include "staging/dataset/climate_folder.h"
#include "staging/dataset/list_samples.h"
#include "staging/dataset/universe_folder.h"
#include "staging/dataset/universe_parts.h"
#include "staging/naming_host.h"

namespace staging {

namespace {

/// Runs `find` on rank 0 and returns its result on every rank.
std::string found_collective(const runner::Communicator& world,
                             const std::function<std::string()>& find) {
  // First byte: the exit code; then the error message or the result.
  std::string word;
  if (world.rank() == 0) {
    try {
      word = static_cast<char>(base::ExitCode::kSuccess) + find();
    } catch (const base::Error& e) {
      // Of several nodes, others may see these files.
      const bool names_host = world.size() > 1 && e.code() != base::ExitCode::kUsage;
      word = static_cast<char>(e.code()) + (names_host ? on_this_host(e.what()) : e.what());
    }
  }
  word = world.broadcast(word, 0);
  const auto code = static_cast<base::ExitCode>(word.front());
  word.erase(0, 1);
  if (code != base::ExitCode::kSuccess) throw runner::AgreedError(code, word);
  return word;
}

/// Runs `list` on rank 0 and returns its result on every rank.
dataset::Listing list_collective(const runner::Communicator& world,
                                 const std::function<dataset::Listing()>& list) {
  dataset::Listing listing;
  const std::string received = found_collective(world, [&] {
    listing = list();
    return dataset::to_bytes(listing);
  });
  return world.rank() == 0 ? listing : dataset::listing_from_bytes(received);
}

}  // namespace

std::shared_ptr<const dataset::Dataset> open_dataset_collective(
    const runner::Communicator& world, const std::string& path,
    const dataset::OpenOptions& options) {
  return dataset::open_dataset(
      list_collective(world, [&] { return dataset::list_samples(path, options); }));
}

std::shared_ptr<const dataset::Dataset> open_universes_collective(
    const runner::Communicator& world, const std::string& path,
    const dataset::UniverseShape& shape) {
  return dataset::open_universes(list_collective(world, [&] {
    dataset::Listing listing = dataset::list_universes(path, &world.activity());
    const auto counts = dataset::counts_of(shape);
    listing.most_bytes = dataset::most_file_bytes(counts * std::int64_t{sizeof(std::int16_t)});
    return listing;
  }));
}

std::shared_ptr<const dataset::Dataset> open_climate_collective(
    const runner::Communicator& world, const std::string& path,
    const dataset::ClimateShape& shape) {
  return dataset::open_climate(list_collective(world, [&] {
    dataset::Listing listing = dataset::list_climate(path, &world.activity());
    const auto values = dataset::values_of(shape);
    listing.most_bytes = dataset::most_file_bytes(values * std::int64_t{sizeof(double)});
    return listing;
  }));
}

dataset::ClimateStatistics read_climate_statistics_collective(const runner::Communicator& world,
                                                              const std::string& path) {
  dataset::ClimateStatistics statistics;
  static_assert(std::is_trivially_copyable_v<dataset::ClimateStatistics>);
  const std::string received = found_collective(world, [&] {
    statistics = dataset::read_climate_statistics(path);
    return std::string(reinterpret_cast<const char*>(&statistics), sizeof statistics);
  });
  std::memcpy(&statistics, received.data(), sizeof statistics);
  return statistics;
}

}  // namespace staging
