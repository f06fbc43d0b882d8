// Sums and updates of a table, part by part.
#include <algorithm>
#include <atomic>
#include <bit>

#include "runner/base/narrow.h"
#include "workloads/embedding/row_sort.h"
#include "workloads/embedding/table.h"
#include "workloads/embedding/work.h"
#include "workloads/kernels/prefetch.h"

namespace nn {

namespace {

/// Number of locks, a power of two. Row r has lock r % kLocks.
constexpr std::int32_t kLocks = 4096;
/// Lookups selected at a time: few enough to stay in the L1 cache.
constexpr std::int64_t kPicked = 2048;
/// Prefetch distance, in lookups, where kernels do not prefetch.
constexpr std::int64_t kAhead = 16;

/// The bags of a part; all parts have about equally many.
BagRange bags_of(const Bags& bags, const WorkPart& part) {
  return {bags.ids.data(), bags.offsets.data(), bags.count() * part.index / part.count,
          bags.count() * (part.index + 1) / part.count};
}

RowShare rows_of(const WorkPart& part) {
  return {base::narrow<std::uint32_t>(part.count - 1), base::narrow<std::uint32_t>(part.index)};
}

[[gnu::always_inline]] inline void prefetch_row(const TableRows& rows, std::int32_t row) {
  const std::int64_t at = row * rows.columns;
  if (rows.upper == nullptr) {
    fetch(rows.weights + at, rows.columns * static_cast<std::int64_t>(sizeof(float)));
  } else {
    fetch(rows.upper + at, rows.columns * static_cast<std::int64_t>(sizeof(Bf16)));
    fetch(rows.lower + at, rows.columns * static_cast<std::int64_t>(sizeof(Bf16)));
  }
}

void add_atomically(float& to, float value) {
  const std::atomic_ref<float> shared(to);
  float old = shared.load(std::memory_order_relaxed);
  while (!shared.compare_exchange_weak(old, old + value, std::memory_order_relaxed)) {
  }
}

/// Calls use(position, row, bag) for every lookup of the range.
template <class Use>
void for_each_lookup(const BagRange& range, const Use& use) {
  for (std::int64_t bag = range.first; bag < range.last; ++bag) {
    for (std::int64_t i = range.offsets[bag]; i < range.offsets[bag + 1]; ++i) {
      use(i, range.ids[i], bag);
    }
  }
}

template <class T>
void step_atomic(const TableRows& rows, const BagRange& range, const T* gradient,
                 std::int64_t stride, float rate) {
  const std::int64_t end = range.offsets[range.last];
  for_each_lookup(range, [&](std::int64_t i, std::int32_t row, std::int64_t bag) {
    if (i + kAhead < end) prefetch_row(rows, range.ids[i + kAhead]);
    float* weights = rows.weights + row * rows.columns;
    for (std::int64_t c = 0; c < rows.columns; ++c) {
      add_atomically(weights[c], -rate * as_float(gradient[bag * stride + c]));
    }
  });
}

}  // namespace

void EmbeddingTable::set_update(TableUpdate update) {
  TableOptions options = options_;
  options.update = update;
  check_options(options);
  options_ = options;
  if (update == TableUpdate::kLocked && !locks_) locks_ = std::make_unique<std::mutex[]>(kLocks);
}

template <class T>
void EmbeddingTable::step_locked(const BagRange& range, const T* gradient, std::int64_t stride,
                                 float rate) {
  const TableRows rows = view();
  const std::int64_t end = range.offsets[range.last];
  const auto step = kernels_->on<T>().step_one;
  for_each_lookup(range, [&](std::int64_t i, std::int32_t row, std::int64_t bag) {
    if (i + kAhead < end) prefetch_row(rows, range.ids[i + kAhead]);
    const std::lock_guard lock(locks_[static_cast<std::size_t>(row % kLocks)]);
    step(rows, row, gradient + bag * stride, rate);
  });
}

template <class T>
void EmbeddingTable::step_race_free(const Bags& bags, const T* gradient, std::int64_t stride,
                                    float rate, const RowShare& share, UpdateScratch& scratch) {
  const std::int64_t end = bags.offsets.back();
  if (scratch.lookups.size() < kPicked) scratch.lookups.resize(kPicked);
  std::int64_t bag = 0;
  for (std::int64_t first = bags.offsets.front(); first < end; first += kPicked) {
    const std::int64_t last = std::min(first + kPicked, end);
    const std::int64_t count = kernels_->select(bags.ids.data(), bags.offsets.data(), first, last,
                                                &bag, share, scratch.lookups.data());
    kernels_->on<T>().step_each(view(), scratch.lookups.data(), count, gradient, stride, rate);
  }
}

template <class T>
void EmbeddingTable::step_sorted(const Bags& bags, const T* gradient, std::int64_t stride,
                                 float rate, const RowShare& share, UpdateScratch& scratch) {
  const std::int64_t end = bags.offsets.back();
  std::int64_t bag = 0;
  std::size_t count = 0;
  for (std::int64_t first = bags.offsets.front(); first < end; first += kPicked) {
    const std::int64_t last = std::min(first + kPicked, end);
    if (scratch.lookups.size() < count + kPicked) {
      scratch.lookups.resize(std::max(2 * scratch.lookups.size(), count + kPicked));
    }
    count +=
        static_cast<std::size_t>(kernels_->select(bags.ids.data(), bags.offsets.data(), first, last,
                                                  &bag, share, scratch.lookups.data() + count));
  }
  scratch.sum.resize(static_cast<std::size_t>(columns()));
  const auto sorted = sort_by_row({scratch.lookups.data(), count}, scratch.spare, rows(),
                                  std::popcount(share.mask));
  const SparseStep step = {options_.rule, rate, static_cast<float>(options_.epsilon)};
  kernels_->on<T>().step_groups(view(), sorted.data(), static_cast<std::int64_t>(sorted.size()),
                                gradient, stride, step, scratch.sum.data());
}

template <class T>
void EmbeddingTable::forward_part(const Bags& bags, T* out, std::int64_t stride,
                                  const WorkPart& part) const {
  kernels_->on<T>().forward(view(), bags_of(bags, part), out, stride);
}

template <class T>
void EmbeddingTable::update_part(const Bags& bags, const T* gradient, std::int64_t stride,
                                 double learning_rate, const WorkPart& part,
                                 UpdateScratch& scratch) {
  const auto rate = static_cast<float>(learning_rate);
  switch (options_.update) {
    case TableUpdate::kReference:
      if (options_.rule != SparseRule::kSgd) break;  // needs sums of gradients, as kSorted
      return kernels_->on<T>().step_plain(view(), bags_of(bags, part), gradient, stride, rate);
    case TableUpdate::kLocked:
      return step_locked(bags_of(bags, part), gradient, stride, rate);
    case TableUpdate::kAtomic:
      return step_atomic(view(), bags_of(bags, part), gradient, stride, rate);
    case TableUpdate::kRaceFree:
      return step_race_free(bags, gradient, stride, rate, rows_of(part), scratch);
    case TableUpdate::kSorted:
      break;
  }
  step_sorted(bags, gradient, stride, rate, rows_of(part), scratch);
}

template <class T>
void EmbeddingTable::forward(const Bags& bags, T* out, std::int64_t stride) const {
  const ForwardJob<T> job = {this, bags, out, stride};
  run(std::span(&job, 1));
}

template <class T>
void EmbeddingTable::update(const Bags& bags, const T* gradient, std::int64_t stride,
                            double learning_rate) {
  const UpdateJob<T> job = {this, bags, gradient, stride};
  run(std::span(&job, 1), learning_rate, scratch_);
}

template void EmbeddingTable::forward(const Bags&, float*, std::int64_t) const;
template void EmbeddingTable::forward(const Bags&, Bf16*, std::int64_t) const;
template void EmbeddingTable::update(const Bags&, const float*, std::int64_t, double);
template void EmbeddingTable::update(const Bags&, const Bf16*, std::int64_t, double);
template void EmbeddingTable::forward_part(const Bags&, float*, std::int64_t,
                                           const WorkPart&) const;
template void EmbeddingTable::forward_part(const Bags&, Bf16*, std::int64_t, const WorkPart&) const;
template void EmbeddingTable::update_part(const Bags&, const float*, std::int64_t, double,
                                          const WorkPart&, UpdateScratch&);
template void EmbeddingTable::update_part(const Bags&, const Bf16*, std::int64_t, double,
                                          const WorkPart&, UpdateScratch&);

}  // namespace nn
