// Opening a dataset on many ranks with one walk over the file system.
// Hides who lists and how the others learn.
#include "staging/collective_open.h"

#include <functional>

#include "runner/agreed_error.h"
#include "staging/dataset/universe_folder.h"

namespace staging {

namespace {

/// What `list` gives on rank 0, on every rank.
dataset::Listing list_collective(const runner::Communicator& world,
                                 const std::function<dataset::Listing()>& list) {
  // First byte: the exit code; then a message or the listing.
  std::string word;
  dataset::Listing listing;
  if (world.rank() == 0) {
    try {
      listing = list();
      word = static_cast<char>(base::ExitCode::kSuccess) + dataset::to_bytes(listing);
    } catch (const base::Error& e) {
      word = static_cast<char>(e.code()) + std::string(e.what());
    }
  }
  word = world.broadcast(word, 0);
  const auto code = static_cast<base::ExitCode>(word.front());
  if (code != base::ExitCode::kSuccess) throw runner::AgreedError(code, word.substr(1));
  if (world.rank() != 0) listing = dataset::listing_from_bytes(std::string_view(word).substr(1));
  return listing;
}

}  // namespace

std::shared_ptr<const dataset::Dataset> open_dataset_collective(
    const runner::Communicator& world, const std::string& path,
    const dataset::OpenOptions& options) {
  return dataset::open_dataset(
      list_collective(world, [&] { return dataset::list_samples(path, options); }));
}

std::shared_ptr<const dataset::Dataset> open_universes_collective(const runner::Communicator& world,
                                                                  const std::string& path) {
  return dataset::open_universes(
      list_collective(world, [&] { return dataset::list_universes(path, &world.activity()); }));
}

}  // namespace staging
