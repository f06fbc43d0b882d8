// Opening a dataset on many ranks with one walk over the file system.
// Hides who lists and how the others learn.
#include "staging/collective_open.h"

#include <utility>

#include "runner/agreed_error.h"

namespace staging {

std::shared_ptr<const dataset::Dataset> open_dataset_collective(
    const runner::Communicator& world, const std::string& path,
    const dataset::OpenOptions& options) {
  // First byte: the exit code; then a message or the listing.
  std::string word;
  dataset::Listing listing;
  if (world.rank() == 0) {
    try {
      listing = dataset::list_samples(path, options);
      word = static_cast<char>(base::ExitCode::kSuccess) + dataset::to_bytes(listing);
    } catch (const base::Error& e) {
      word = static_cast<char>(e.code()) + std::string(e.what());
    }
  }
  word = world.broadcast(word, 0);
  const auto code = static_cast<base::ExitCode>(word.front());
  if (code != base::ExitCode::kSuccess) throw runner::AgreedError(code, word.substr(1));
  if (world.rank() != 0) listing = dataset::listing_from_bytes(std::string_view(word).substr(1));
  return dataset::open_dataset(std::move(listing));
}

}  // namespace staging
