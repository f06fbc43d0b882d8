// Sums over ranks in a narrow format: all to the owners, sums to all.
#include "workloads/parallel/narrow_sum.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <utility>

#include "runner/base/ceil_div.h"
#include "runner/base/split_evenly.h"
#include "workloads/parallel/transfer.h"

namespace parallel {
namespace {

/// Values converted at a time, which fit the L1 cache: a multiple of kFormatBlock.
constexpr std::int64_t kAtATime = 8 * kFormatBlock;
using SomeValues = std::array<float, static_cast<std::size_t>(kAtATime)>;

/// Calls work(at, count) for parts of [0, count), on all threads.
template <class Work>
void for_each_part(std::int64_t count, Work work) {
#pragma omp parallel for schedule(static)
  for (std::int64_t at = 0; at < count; at += kAtATime) work(at, std::min(kAtATime, count - at));
}

}  // namespace

std::pair<std::int64_t, std::int64_t> narrow_part_of(std::int64_t floats, int ranks, int rank) {
  const std::int64_t blocks = base::ceil_div(floats, kFormatBlock);
  const auto [first, last] = base::split_evenly(blocks, ranks, rank);
  return {std::min(floats, first * kFormatBlock), std::min(floats, last * kFormatBlock)};
}

/// The sum of one piece.
class NarrowSums::Sum {
 public:
  Sum(const runner::Communicator& ranks, std::span<float> data, std::span<float> rest,
      const NarrowFormat& format, telemetry::Telemetry& telemetry, const char* name)
      : rank_(ranks.rank()),
        data_(data),
        rest_(rest),
        format_(format),
        name_(name),
        transfer_(telemetry) {
    const int size = ranks.size();
    std::vector<std::int64_t> by_owner, mine(static_cast<std::size_t>(size), 0);
    for (int rank = 0; rank < size; ++rank) {
      const auto [first, last] = narrow_part_of(std::ssize(data), size, rank);
      parts_.push_back({first, last - first});
      by_owner.push_back(rank == rank_ ? 0 : format_.bytes(last - first));
    }
    const std::int64_t own = format_.bytes(parts_[at(rank_)].count);
    for (int rank = 0; rank < size; ++rank) {
      if (rank != rank_) mine[at(rank)] = own;
    }
    by_owner_ = runner::consecutive_parts(by_owner);
    mine_ = runner::consecutive_parts(mine);
    same_ = {std::move(mine), std::vector<std::int64_t>(static_cast<std::size_t>(size), 0)};
    const std::int64_t of_others = by_owner_.places.back() + by_owner_.counts.back();
    sent_.resize(static_cast<std::size_t>(std::max(of_others, own)));
    received_.resize(static_cast<std::size_t>(std::max(of_others, own * (size - 1))));
  }

  void collect(const runner::Communicator& ranks) {
    for (std::size_t rank = 0; rank < parts_.size(); ++rank) {
      if (rank != at(rank_)) write(parts_[rank], sent_.data() + by_owner_.places[rank]);
    }
    transfer_.add_gradients(name_, ranks.start_alltoall(sent_, by_owner_, received_, mine_));
    phase_ = Phase::kCollecting;
  }
  bool is_collecting() const { return phase_ == Phase::kCollecting; }
  bool is_idle() const { return phase_ == Phase::kIdle; }
  /// If all parts have arrived, adds them up and begins to send the sums.
  void spread_if_collected(const runner::Communicator& ranks) {
    if (!transfer_.test()) return;
    add_up();
    write(parts_[at(rank_)], sent_.data());
    transfer_.add_gradients(name_, ranks.start_alltoall(sent_, same_, received_, by_owner_));
    phase_ = Phase::kSpreading;
  }
  /// Takes the sums if all have arrived.
  void take_if_spread() {
    if (phase_ != Phase::kSpreading || !transfer_.test()) return;
    for (std::size_t rank = 0; rank < parts_.size(); ++rank) {
      const std::byte* const from =
          rank == at(rank_) ? sent_.data() : received_.data() + by_owner_.places[rank];
      const Part& part = parts_[rank];
      for_each_part(part.count, [&](std::int64_t begin, std::int64_t count) {
        format_.read(from + format_.bytes(begin), count, data_.data() + part.first + begin);
      });
    }
    phase_ = Phase::kIdle;
  }

 private:
  enum class Phase { kIdle, kCollecting, kSpreading };
  struct Part {
    std::int64_t first, count;
  };
  static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }

  void write(const Part& part, std::byte* to) {
    for_each_part(part.count, [&](std::int64_t begin, std::int64_t count) {
      const float* const values = data_.data() + part.first + begin;
      std::byte* const place = to + format_.bytes(begin);
      if (rest_.empty()) return format_.write(values, count, place);
      float* const rest = rest_.data() + part.first + begin;
      for (std::int64_t i = 0; i < count; ++i) rest[i] += values[i];
      format_.write(rest, count, place);
      SomeValues sent;
      format_.read(place, count, sent.data());
      for (std::int64_t i = 0; i < count; ++i) rest[i] -= sent[static_cast<std::size_t>(i)];
    });
  }
  void add_up() {
    const Part& own = parts_[at(rank_)];
    for_each_part(own.count, [&](std::int64_t begin, std::int64_t count) {
      float* const sums = data_.data() + own.first + begin;
      SomeValues values;
      for (std::size_t rank = 0; rank < parts_.size(); ++rank) {
        if (rank == at(rank_)) continue;
        format_.read(received_.data() + mine_.places[rank] + format_.bytes(begin), count,
                     values.data());
        for (std::int64_t i = 0; i < count; ++i) sums[i] += values[static_cast<std::size_t>(i)];
      }
    });
  }

  const int rank_;
  const std::span<float> data_, rest_;
  const NarrowFormat& format_;
  const char* const name_;
  Phase phase_ = Phase::kIdle;
  std::vector<Part> parts_;     ///< floats that each rank owns
  runner::RankParts by_owner_;  ///< bytes of what each other rank owns
  runner::RankParts mine_;      ///< bytes of what this rank owns, from each other rank
  runner::RankParts same_;      ///< the same bytes to each other rank
  std::vector<std::byte> sent_, received_;
  Transfer transfer_;  ///< last member: its requests must end before their buffers do
};

NarrowSums::NarrowSums(const runner::Communicator& ranks,
                       const std::vector<std::span<float>>& pieces,
                       const std::vector<std::span<float>>& rests,
                       std::unique_ptr<NarrowFormat> format, telemetry::Telemetry& telemetry,
                       const char* name)
    : ranks_(ranks), spreading_(ranks.duplicate()), format_(std::move(format)) {
  for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
    const std::span<float> rest = rests.empty() ? std::span<float>() : rests[piece];
    sums_.push_back(std::make_unique<Sum>(ranks, pieces[piece], rest, *format_, telemetry, name));
  }
}

NarrowSums::~NarrowSums() = default;

void NarrowSums::begin(std::size_t piece) { sums_.at(piece)->collect(ranks_); }

bool NarrowSums::test() {
  // In order, as on all ranks: a sum is not spread before those of earlier pieces.
  for (const auto& sum : sums_) {
    if (!sum->is_collecting()) continue;
    sum->spread_if_collected(spreading_);
    if (sum->is_collecting()) break;
  }
  bool is_done = true;
  for (const auto& sum : sums_) {
    sum->take_if_spread();
    is_done = is_done && sum->is_idle();
  }
  return is_done;
}

bool NarrowSums::is_done(std::size_t piece) const { return sums_.at(piece)->is_idle(); }

}  // namespace parallel
