// Shards by nonblocking exchanges of parts.
#include "workloads/parallel/shard_sum.h"

#include <algorithm>
#include <iterator>
#include <thread>

#include "runner/base/ceil_div.h"
#include "runner/base/split_evenly.h"
#include "workloads/optimizer/optimizer.h"

namespace parallel {
namespace {

constexpr auto kBytesOfFloat = static_cast<std::int64_t>(sizeof(float));

struct Shard {
  std::int64_t first, count;
};

std::vector<Shard> shards_of(std::int64_t floats, int ranks) {
  std::vector<Shard> shards;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto [first, last] = shard_of(floats, ranks, rank);
    shards.push_back({first, last - first});
  }
  return shards;
}

/// The shards of other ranks, as bytes of the piece.
runner::RankParts parts_of_others(const std::vector<Shard>& shards, int own) {
  runner::RankParts parts;
  for (int rank = 0; rank < static_cast<int>(shards.size()); ++rank) {
    const Shard& shard = shards[static_cast<std::size_t>(rank)];
    const bool is_sent = rank != own && shard.count > 0;
    parts.counts.push_back(is_sent ? shard.count * kBytesOfFloat : 0);
    parts.places.push_back(is_sent ? shard.first * kBytesOfFloat : 0);
  }
  return parts;
}

/// As many bytes for each other rank.
std::vector<std::int64_t> for_others(std::int64_t floats, int ranks, int own) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(ranks), floats * kBytesOfFloat);
  counts[static_cast<std::size_t>(own)] = 0;
  return counts;
}

}  // namespace

std::pair<std::int64_t, std::int64_t> shard_of(std::int64_t floats, int ranks, int rank) {
  const std::int64_t cells = base::ceil_div(floats, nn::kUpdateCell);
  const auto [first, last] = base::split_evenly(cells, ranks, rank);
  return {std::min(floats, first * nn::kUpdateCell), std::min(floats, last * nn::kUpdateCell)};
}

int rank_of_shard(std::int64_t floats, int ranks, std::int64_t offset) {
  const std::int64_t cells = base::ceil_div(floats, nn::kUpdateCell);
  return static_cast<int>(base::part_of_item(cells, ranks, offset / nn::kUpdateCell));
}

std::vector<float> Buffers::take(std::size_t floats) {
  std::vector<float> buffer;
  if (!free_.empty()) {
    buffer = std::move(free_.back());
    free_.pop_back();
  }
  if (buffer.size() < floats) buffer.resize(floats);
  return buffer;
}

/// The sum of one piece.
class ShardSums::Sum {
 public:
  Sum(const runner::Communicator& ranks, std::span<float> data, telemetry::Telemetry& telemetry,
      const char* name)
      : ranks_(ranks.size()), rank_(ranks.rank()), data_(data), name_(name), transfer_(telemetry) {
    const std::vector<Shard> shards = shards_of(std::ssize(data), ranks_);
    const Shard& own = shards[static_cast<std::size_t>(rank_)];
    first_ = own.first;
    count_ = own.count;
    sent_ = parts_of_others(shards, rank_);
    got_ = runner::consecutive_parts(for_others(count_, ranks_, rank_));
  }

  void begin(const runner::Communicator& ranks, Buffers& buffers) {
    const auto floats = static_cast<std::size_t>(count_ * (ranks_ - 1));
    received_ = buffers.take(floats);
    transfer_.add_gradients(
        name_,
        ranks.start_alltoall(std::as_bytes(data_), sent_,
                             std::as_writable_bytes(std::span(received_).first(floats)), got_));
  }
  /// Adds up what was received if all of it has arrived; returns whether it has.
  bool take_if_arrived(Buffers& buffers) {
    if (!transfer_.test()) return false;
    float* const own = data_.data() + first_;
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < count_; ++i) {
      float sum = value_of(0, own, i);
      for (int rank = 1; rank < ranks_; ++rank) sum += value_of(rank, own, i);
      own[i] = sum;
    }
    buffers.give_back(std::move(received_));
    return true;
  }

 private:
  float value_of(int rank, const float* own, std::int64_t i) const {
    if (rank == rank_) return own[i];
    const int before = rank < rank_ ? rank : rank - 1;  // received parts leave out the own one
    return received_[static_cast<std::size_t>(before * count_ + i)];
  }

  const int ranks_, rank_;
  const std::span<float> data_;
  const char* const name_;
  std::int64_t first_ = 0, count_ = 0;  ///< the own shard
  runner::RankParts sent_, got_;
  std::vector<float> received_;
  Transfer transfer_;  ///< last member: its requests must end before their buffers do
};

ShardSums::ShardSums(const runner::Communicator& ranks, const std::vector<std::span<float>>& pieces,
                     telemetry::Telemetry& telemetry, const char* name)
    : ranks_(ranks) {
  for (const std::span<float> piece : pieces) {
    sums_.push_back(std::make_unique<Sum>(ranks, piece, telemetry, name));
  }
}

ShardSums::~ShardSums() = default;

void ShardSums::begin(std::size_t piece) {
  waiting_.push_back(piece);
  test();
}

bool ShardSums::test() {
  std::erase_if(under_way_,
                [&](std::size_t piece) { return sums_[piece]->take_if_arrived(buffers_); });
  for (; !waiting_.empty() && under_way_.size() < kShardsAtOnce; waiting_.pop_front()) {
    sums_[waiting_.front()]->begin(ranks_, buffers_);
    under_way_.push_back(waiting_.front());
  }
  return under_way_.empty();
}

bool ShardSums::is_done(std::size_t piece) const {
  return std::ranges::count(under_way_, piece) == 0 && std::ranges::count(waiting_, piece) == 0;
}

/// The gather of one piece.
class ShardGather::Piece {
 public:
  Piece(std::span<float> data, telemetry::Telemetry& telemetry)
      : data_(data), transfer_(telemetry) {}

  void begin(const runner::Communicator& ranks, const char* name, Buffers& buffers) {
    const int size = ranks.size(), rank = ranks.rank();
    const std::vector<Shard> shards = shards_of(std::ssize(data_), size);
    const Shard own = shards[static_cast<std::size_t>(rank)];
    const runner::RankParts sent = {for_others(own.count, size, rank),
                                    std::vector<std::int64_t>(static_cast<std::size_t>(size), 0)};
    // MPI forbids to send from what is received into.
    sent_ = buffers.take(static_cast<std::size_t>(own.count));
    std::copy_n(data_.begin() + own.first, own.count, sent_.begin());
    const auto mine = std::span<const float>(sent_).first(static_cast<std::size_t>(own.count));
    transfer_.add_gradients(
        name, ranks.start_alltoall(std::as_bytes(mine), sent, std::as_writable_bytes(data_),
                                   parts_of_others(shards, rank)));
  }
  bool test(Buffers& buffers) {
    if (!transfer_.test()) return false;
    if (!sent_.empty()) buffers.give_back(std::move(sent_));
    sent_.clear();
    return true;
  }

 private:
  const std::span<float> data_;
  std::vector<float> sent_;
  Transfer transfer_;  ///< last member: its requests must end before its buffer does
};

ShardGather::ShardGather(const runner::Communicator& ranks,
                         const std::vector<std::span<float>>& pieces,
                         telemetry::Telemetry& telemetry, const char* name)
    : ranks_(ranks), name_(name), waiting_(pieces.size()) {
  for (const std::span<float> piece : pieces) {
    pieces_.push_back(std::make_unique<Piece>(piece, telemetry));
  }
}

ShardGather::~ShardGather() = default;

void ShardGather::test() {
  std::size_t under_way = 0;
  for (std::size_t piece = waiting_; piece < pieces_.size(); ++piece) {
    under_way += pieces_[piece]->test(buffers_) ? 0 : 1;
  }
  for (; waiting_ > 0 && under_way < kShardsAtOnce; ++under_way) {
    pieces_[--waiting_]->begin(ranks_, name_, buffers_);
  }
}

void ShardGather::wait(std::size_t piece) {
  while (piece < waiting_ || !pieces_[piece]->test(buffers_)) {
    test();
    std::this_thread::yield();
  }
}

void ShardGather::wait_all() {
  for (std::size_t piece = pieces_.size(); piece-- > 0;) wait(piece);
}

}  // namespace parallel
