// A source's samples from wherever they are: the node's copy or the source.
#include "staging/stored_dataset.h"

#include <fmt/core.h>
#include <unistd.h>

#include <utility>

#include "runner/base/error.h"
#include "staging/dataset/expand.h"
#include "staging/dataset/file.h"

namespace staging {
namespace {

/// Makes of a file what the copy holds of it: `bytes`, expanded unless these are the file's.
void expand_to(std::size_t bytes, const std::string& name, std::vector<std::byte>& file) {
  if (file.size() == bytes) return;
  std::vector<std::byte> content(bytes);
  dataset::expand_into(file, content, name);
  file = std::move(content);
}

}  // namespace

StoredDataset::StoredDataset(std::shared_ptr<const dataset::Dataset> source, PackStore store,
                             std::shared_ptr<const PackList> list)
    : source_(std::move(source)),
      store_(std::move(store)),
      list_(std::move(list)),
      packs_(static_cast<std::size_t>(list_->count())) {}

std::vector<SamplePlace> StoredDataset::places_in(std::int64_t number) const {
  PackIndex index = read_pack_index(dataset::File(store_.path(number)), store_.name(number));
  const std::int64_t first = (*list_)[number].first, samples = list_->last(number) - first;
  if (index.first != first || std::ssize(index.places) != samples) {
    throw base::DataError(fmt::format("{}: expected {} samples from {} on, found {} from {} on",
                                      store_.path(number), samples, first, index.places.size(),
                                      index.first));
  }
  return std::move(index.places);
}

void StoredDataset::arrived(std::int64_t number) {
  Arrival& pack = packs_[static_cast<std::size_t>(number)];
  pack.places = places_in(number);
  pack.where.store(Whereabouts::kHere, std::memory_order_release);
}

void StoredDataset::expect(std::int64_t number) {
  packs_[static_cast<std::size_t>(number)].where = Whereabouts::kExpected;
}

bool StoredDataset::has_come(std::int64_t number) const {
  // A pack has its name once it is whole.
  if (::access(store_.path(number).c_str(), F_OK) != 0) return false;
  const std::scoped_lock lock(arrivals_);
  Arrival& pack = packs_[static_cast<std::size_t>(number)];
  if (pack.where != Whereabouts::kExpected) return pack.where == Whereabouts::kHere;
  try {
    pack.places = places_in(number);
    pack.where.store(Whereabouts::kHere, std::memory_order_release);
    return true;
  } catch (const base::Error& e) {
    pack.where = Whereabouts::kAbsent;
    damage_.note(fmt::format("{}; its samples are read from the source", e.what()));
    return false;
  }
}

const SamplePlace* StoredDataset::place_of(std::int64_t index, std::int64_t number) const {
  const Arrival& pack = packs_[static_cast<std::size_t>(number)];
  const Whereabouts where = pack.where.load(std::memory_order_acquire);
  if (where == Whereabouts::kAbsent) return nullptr;
  if (where == Whereabouts::kExpected && !has_come(number)) return nullptr;
  return &pack.places[static_cast<std::size_t>(index - (*list_)[number].first)];
}

std::int64_t StoredDataset::pack_of(std::int64_t index) const {
  if (index >= 0 && index < size()) return list_->pack_of(index);
  throw base::Error(base::ExitCode::kInternal,
                    fmt::format("{}: no sample {} among {}", source(), index, size()));
}

std::int64_t StoredDataset::bytes(std::int64_t index) const {
  const SamplePlace* const place = place_of(index, pack_of(index));
  return place != nullptr ? std::int64_t{place->size} : source_->bytes(index);
}

void StoredDataset::read(std::int64_t index, std::vector<std::byte>& out) const {
  const std::int64_t number = pack_of(index);
  const SamplePlace* const place = place_of(index, number);
  if (place == nullptr) return read_source(index, out);
  try {
    const dataset::File pack(store_.path(number));
    out.resize(place->size);
    pack.read(place->offset, out);
    check_sample(out, *place, index, pack.path());
    levels_.count_from_copy(std::ssize(out));
  } catch (const base::DataError& e) {
    replace_damaged(index, number, *place, e.what(), out);
  }
}

void StoredDataset::read_source(std::int64_t index, std::vector<std::byte>& out) const {
  source_->read(index, out);
  levels_.count_from_source(std::ssize(out));
}

void StoredDataset::replace_damaged(std::int64_t index, std::int64_t number,
                                    const SamplePlace& place, const std::string& damage,
                                    std::vector<std::byte>& out) const {
  try {
    read_source(index, out);
  } catch (const base::DataError& e) {
    throw base::DataError(fmt::format("{}; and its source: {}", damage, e.what()));
  }
  const std::string origin = source_->name(index);
  try {
    expand_to(place.size, origin, out);
    check_sample(out, place, index, origin);
  } catch (const base::DataError&) {
    throw base::DataError(fmt::format("{}; and {} differs from it as well", damage, origin));
  }
  try {
    store_.repair(number, place, out);
    levels_.count_repaired();
    damage_.note(fmt::format("{}; repaired from {}", damage, origin));
  } catch (const base::SystemError& e) {
    packs_[static_cast<std::size_t>(number)].where = Whereabouts::kAbsent;
    damage_.note(fmt::format("{}; read from {} instead, like all of its pack from now on: {}",
                             damage, origin, e.what()));
  }
}

std::vector<std::string> StoredDataset::take_remarks() const {
  std::vector<std::string> remarks = source_->take_remarks();
  damage_.take_into(remarks);
  return remarks;
}

}  // namespace staging
