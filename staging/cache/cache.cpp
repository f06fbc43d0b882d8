// Reads the samples of a streamed training set from what is kept of them, else from their source.
#include "staging/cache/cache.h"

#include <utility>

namespace cache {

Cache::Cache(std::shared_ptr<const dataset::Dataset> source, Schedule schedule, int rank,
             std::unique_ptr<Store> store, Shared shared)
    : source_(std::move(source)),
      schedule_(std::move(schedule)),
      rank_(rank),
      store_(std::move(store)),
      shared_(std::move(shared)) {}

void Cache::read(std::int64_t epoch, std::int64_t index, std::vector<std::byte>& out) {
  if (!shared_.peers) {
    return read_as_keeper(index, schedule_.next_draw_by(rank_, index, epoch), out);
  }
  const std::int64_t next_use = schedule_.next_draw(index, epoch);
  const int home = schedule_.reader(index, first_epoch_);
  if (home == rank_) return read_as_keeper(index, next_use, out);
  read_as_guest(home, epoch, index, next_use, out);
}

void Cache::read_as_keeper(std::int64_t index, std::int64_t next_use, std::vector<std::byte>& out) {
  const auto found = store_->get(index, next_use, out);
  if (!found) {
    read_source(index, out);
    store_->put(index, out, next_use);
  } else if (found->level == Level::kMemory) {
    levels_.count_from_memory(std::ssize(out));
  } else {
    levels_.count_from_disk(std::ssize(out));
  }
}

void Cache::read_as_guest(int home, std::int64_t epoch, std::int64_t index, std::int64_t next_use,
                          std::vector<std::byte>& out) {
  // Before the second epoch nobody has drawn it.
  const bool may_be_there = epoch > first_epoch_;
  const auto answer =
      may_be_there ? shared_.peers->get(home, index, next_use, out) : Peers::Answer::kWanted;
  if (answer == Peers::Answer::kHere) return levels_.count_from_peer(std::ssize(out));
  read_source(index, out);
  if (answer == Peers::Answer::kWanted) shared_.peers->put(home, index, out, next_use);
}

void Cache::read_source(std::int64_t index, std::vector<std::byte>& out) {
  source_->read(index, out);
  levels_.count_from_source(std::ssize(out));
}

std::vector<std::string> Cache::take_remarks() {
  std::vector<std::string> remarks;
  store_->take_remarks_into(remarks);
  if (shared_.peers) shared_.peers->take_remarks_into(remarks);
  return remarks;
}

}  // namespace cache
