// Sums over ranks in bfloat16: all to the owners, sums to all.
#include "workloads/parallel/narrow_sum.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "runner/base/split_evenly.h"
#include "workloads/parallel/transfer.h"

namespace parallel {
namespace {

constexpr auto kValueBytes = static_cast<std::int64_t>(sizeof(nn::Bf16));

std::span<std::byte> bytes_of(std::vector<nn::Bf16>& values, std::int64_t count) {
  return std::as_writable_bytes(std::span(values).first(static_cast<std::size_t>(count)));
}

}  // namespace

/// The sum of one block.
class NarrowSums::Sum {
 public:
  Sum(const runner::Communicator& ranks, std::span<float> data, const nn::Kernels& kernels,
      telemetry::Telemetry& telemetry, const char* name)
      : rank_(ranks.rank()), data_(data), kernels_(kernels), name_(name), transfer_(telemetry) {
    const int size = ranks.size();
    std::vector<std::int64_t> counts;
    for (int rank = 0; rank < size; ++rank) {
      const auto [first, last] = base::split_evenly(count(), size, rank);
      if (rank == rank_) {
        begin_ = first;
        own_ = last - first;
      }
      counts.push_back((last - first) * kValueBytes);
    }
    by_owner_ = runner::consecutive_parts(std::move(counts));
    same_ = runner::same_part(size, own_ * kValueBytes);
    mine_ = runner::consecutive_parts(same_.counts);
    sent_.resize(data.size());
    received_.resize(static_cast<std::size_t>(std::max(count(), own_ * size)));
    widened_.resize(static_cast<std::size_t>(own_));
  }

  void collect(const runner::Communicator& ranks) {
    kernels_.round_to_bf16(data_.data(), sent_.data(), count());
    transfer_.add(name_, ranks.start_alltoall(bytes_of(sent_, count()), by_owner_,
                                              bytes_of(received_, own_ * ranks.size()), mine_));
    phase_ = Phase::kCollecting;
  }
  bool is_collecting() const { return phase_ == Phase::kCollecting; }
  bool is_idle() const { return phase_ == Phase::kIdle; }
  /// If all parts have arrived, adds them up and begins to send the sums.
  void spread_if_collected(const runner::Communicator& ranks) {
    if (!transfer_.test()) return;
    add_up(ranks.size());
    kernels_.round_to_bf16(data_.data() + begin_, sent_.data(), own_);
    transfer_.add(name_, ranks.start_alltoall(bytes_of(sent_, own_), same_,
                                              bytes_of(received_, count()), by_owner_));
    phase_ = Phase::kSpreading;
  }
  /// Takes the sums if all have arrived.
  void take_if_spread() {
    if (phase_ != Phase::kSpreading || !transfer_.test()) return;
    kernels_.widen(received_.data(), data_.data(), count());
    phase_ = Phase::kIdle;
  }

 private:
  enum class Phase { kIdle, kCollecting, kSpreading };
  std::int64_t count() const { return std::ssize(data_); }
  void add_up(int ranks) {
    float* const sums = data_.data() + begin_;
    for (int rank = 0; rank < ranks; ++rank) {
      if (rank == rank_) continue;
      kernels_.widen(received_.data() + own_ * rank, widened_.data(), own_);
      for (std::int64_t i = 0; i < own_; ++i) sums[i] += widened_[static_cast<std::size_t>(i)];
    }
  }

  const int rank_;
  const std::span<float> data_;
  const nn::Kernels& kernels_;
  const char* const name_;
  Phase phase_ = Phase::kIdle;
  std::int64_t begin_ = 0, own_ = 0;  ///< floats that this rank owns
  runner::RankParts by_owner_;        ///< bytes of what each rank owns, in the order of data
  runner::RankParts mine_;            ///< bytes of what this rank owns, from each rank
  runner::RankParts same_;            ///< the same bytes to each rank
  std::vector<nn::Bf16> sent_, received_;
  std::vector<float> widened_;
  Transfer transfer_;  ///< last member: its requests must end before their buffers do
};

NarrowSums::NarrowSums(const runner::Communicator& ranks,
                       const std::vector<std::span<float>>& blocks, const nn::Kernels& kernels,
                       telemetry::Telemetry& telemetry, const char* name)
    : ranks_(ranks), spreading_(ranks.duplicate()) {
  for (const std::span<float> block : blocks) {
    sums_.push_back(std::make_unique<Sum>(ranks, block, kernels, telemetry, name));
  }
}

NarrowSums::~NarrowSums() = default;

void NarrowSums::begin(std::size_t block) { sums_.at(block)->collect(ranks_); }

bool NarrowSums::test() {
  // In order, as on all ranks: a sum is not spread before those of earlier blocks.
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

bool NarrowSums::is_done(std::size_t block) const { return sums_.at(block)->is_idle(); }

}  // namespace parallel
