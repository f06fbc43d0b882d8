// The encoded samples that one process keeps in its memory and on its node's storage.
#include "staging/cache/store.h"

#include <fmt/core.h>

#include <iterator>
#include <limits>
#include <utility>

#include "runner/base/error.h"
#include "staging/hash.h"

namespace cache {

Store::Store(const Caps& caps, Policy policy, std::unique_ptr<DiskFiles> disk)
    : policy_(policy), files_(std::move(disk)) {
  memory_.cap = caps.memory_bytes;
  disk_.cap = files_ ? caps.disk_bytes : 0;
}

std::int64_t Store::rank_of(std::int64_t next_use) const {
  return policy_ == Policy::kLru ? -(++uses_) : next_use;
}

/// nullopt if a sample of this size and rank has to stay out.
std::optional<std::vector<std::int64_t>> Store::who_gives_way(const Shelf& shelf, std::int64_t size,
                                                              std::int64_t rank) const {
  std::vector<std::int64_t> indices;
  std::int64_t free = shelf.cap - shelf.used;
  for (auto last = shelf.order.rbegin(); free < size; ++last) {
    if (last == shelf.order.rend() || last->first <= rank) return std::nullopt;
    indices.push_back(last->second);
    free += entries_.at(last->second).size;
  }
  return indices;
}

/// Removes an entry, with its file if that is written.
Store::Entry Store::take_out(std::int64_t index) {
  const auto found = entries_.find(index);
  Entry entry = std::move(found->second);
  entries_.erase(found);
  Shelf& from = shelf(entry.level);
  from.order.erase({entry.rank, index});
  from.used -= entry.size;
  // At once and under the lock: what comes next may need the space.
  if (entry.level == Level::kDisk && !entry.bytes) files_->remove(entry.file);
  return entry;
}

void Store::add(std::int64_t index, Entry entry) {
  Shelf& to = shelf(entry.level);
  to.order.insert({entry.rank, index});
  to.used += entry.size;
  entries_.emplace(index, std::move(entry));
}

bool Store::add_to_disk(std::int64_t index, Entry entry, std::vector<Move>& moves) {
  const auto leaving = who_gives_way(disk_, entry.size, entry.rank);
  if (!leaving) return false;
  for (const std::int64_t one : *leaving) take_out(one);
  entry.level = Level::kDisk;
  entry.file = ++last_file_;
  moves.push_back({index, entry.file, entry.bytes});
  add(index, std::move(entry));
  return true;
}

bool Store::add_to_memory(std::int64_t index, Entry& entry, std::vector<Move>& moves) {
  const auto leaving = who_gives_way(memory_, entry.size, entry.rank);
  if (!leaving) return false;
  std::vector<std::pair<std::int64_t, Entry>> displaced;
  for (const std::int64_t one : *leaving) displaced.emplace_back(one, take_out(one));
  entry.level = Level::kMemory;
  add(index, entry);
  // Those of lower rank are the first to find a place on disk.
  for (auto one = displaced.rbegin(); one != displaced.rend(); ++one) {
    add_to_disk(one->first, std::move(one->second), moves);
  }
  return true;
}

bool Store::has_place(std::int64_t size, std::int64_t next_use) const {
  if (policy_ == Policy::kNextUse && next_use == kNever) return false;
  const std::int64_t rank =
      policy_ == Policy::kLru ? std::numeric_limits<std::int64_t>::min() : next_use;
  return who_gives_way(memory_, size, rank) || who_gives_way(disk_, size, rank);
}

/// Notes the next use of a sample that is there; null if it is not.
const Store::Entry* Store::use(std::int64_t index, std::int64_t next_use) {
  const auto found = entries_.find(index);
  if (found == entries_.end()) return nullptr;
  Shelf& here = shelf(found->second.level);
  here.order.erase({found->second.rank, index});
  found->second.rank = rank_of(next_use);
  here.order.insert({found->second.rank, index});
  return &found->second;
}

/// What put() returns without a look at the bytes, if it can.
std::optional<bool> Store::answer_at_once(std::int64_t index, std::int64_t size,
                                          std::int64_t next_use) {
  const std::scoped_lock lock(mutex_);
  if (use(index, next_use) != nullptr) return true;
  if (!has_place(size, next_use)) return false;
  return std::nullopt;
}

bool Store::put(std::int64_t index, std::span<const std::byte> bytes, std::int64_t next_use) {
  if (const auto answer = answer_at_once(index, std::ssize(bytes), next_use)) return *answer;
  return keep(index, std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end()),
              next_use);
}

bool Store::put(std::int64_t index, Bytes bytes, std::int64_t next_use) {
  const auto answer = answer_at_once(index, std::ssize(*bytes), next_use);
  return answer ? *answer : keep(index, std::move(bytes), next_use);
}

bool Store::keep(std::int64_t index, Bytes bytes, std::int64_t next_use) {
  Entry entry;
  entry.size = std::ssize(*bytes);
  entry.hash = staging::hash_of(*bytes);
  entry.bytes = std::move(bytes);
  std::vector<Move> moves;
  bool is_kept = false;
  {
    const std::scoped_lock lock(mutex_);
    entry.rank = rank_of(next_use);
    if (entries_.contains(index)) return true;  // another thread was faster
    is_kept = add_to_memory(index, entry, moves) || add_to_disk(index, entry, moves);
  }
  entry.bytes.reset();
  for (Move& move : moves) {
    write(move);
    move.bytes.reset();
  }
  return is_kept;
}

void Store::write(const Move& move) {
  std::string failure;
  try {
    files_->write(move.file, *move.bytes);
  } catch (const base::SystemError& e) {
    failure = e.what();
  }
  const std::scoped_lock lock(mutex_);
  const auto found = entries_.find(move.index);
  const bool is_there = found != entries_.end() && found->second.level == Level::kDisk &&
                        found->second.file == move.file;
  if (failure.empty() && is_there) {
    found->second.bytes.reset();
    return;
  }
  if (failure.empty()) return files_->remove(move.file);  // it gave way meanwhile
  if (is_there) take_out(move.index);
  // Not more than is there now: the storage is full, or fails.
  disk_.cap = disk_.used;
  remark_.note(fmt::format("cache: {}; it grows no more", failure));
}

std::optional<Store::Found> Store::get(std::int64_t index, std::int64_t next_use,
                                       std::vector<std::byte>& out) {
  Entry entry;
  {
    const std::scoped_lock lock(mutex_);
    const Entry* const found = use(index, next_use);
    if (found == nullptr) return std::nullopt;
    entry = *found;
  }
  if (entry.bytes) {
    out.assign(entry.bytes->begin(), entry.bytes->end());
    return Found{entry.level, entry.hash};
  }
  out.resize(static_cast<std::size_t>(entry.size));
  const DiskFiles::Found found = files_->read(entry.file, entry.hash, out);
  if (found == DiskFiles::Found::kWhole) return Found{entry.level, entry.hash};
  if (found == DiskFiles::Found::kDamaged) give_up_damaged(index, entry.file);
  return std::nullopt;  // kGone: it has just given way to another
}

void Store::give_up_damaged(std::int64_t index, std::uint64_t file) {
  remark_.note(files_->path(file) + ": differs from the sample that was kept; read anew");
  const std::scoped_lock lock(mutex_);
  const auto found = entries_.find(index);
  if (found == entries_.end() || found->second.level != Level::kDisk) return;
  if (found->second.file == file) take_out(index);
}

Store::Bytes Store::share(std::int64_t index, std::int64_t next_use) {
  const std::scoped_lock lock(mutex_);
  const Entry* const found = use(index, next_use);
  return found == nullptr ? nullptr : found->bytes;
}

bool Store::wants(std::int64_t next_use, std::int64_t size) const {
  const std::scoped_lock lock(mutex_);
  return has_place(size, next_use);
}

bool Store::wants(std::int64_t next_use) const {
  const std::scoped_lock lock(mutex_);
  const auto count = static_cast<std::int64_t>(entries_.size());
  const std::int64_t size = count > 0 ? (memory_.used + disk_.used) / count : 1;
  return has_place(size, next_use);
}

std::int64_t Store::samples() const {
  const std::scoped_lock lock(mutex_);
  return static_cast<std::int64_t>(entries_.size());
}

Caps Store::kept() const {
  const std::scoped_lock lock(mutex_);
  return {memory_.used, disk_.used};
}

}  // namespace cache
