// Sums of pieces within a node, and between nodes.
#include "workloads/parallel/gradient_exchange.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <new>
#include <thread>
#include <utility>

#include "runner/base/error.h"
#include "workloads/optimizer/optimizer.h"
#include "workloads/parallel/float_sum.h"
#include "workloads/parallel/gradient_volume.h"
#include "workloads/parallel/narrow_sum.h"
#include "workloads/parallel/sparse_sum.h"

namespace parallel {
namespace {

using telemetry::Counter;
using telemetry::Scope;
using telemetry::Subsystem;

/// Distance between the ranks' progress counters, to avoid false sharing of cache lines.
constexpr std::int64_t kProgressBytes = 128;
/// A waiting rank polls this often without a pause, for a millisecond at most, and then sleeps
/// between polls: where ranks share a CPU, the awaited rank needs it.
constexpr int kLooksWithoutPause = 1000;
constexpr std::chrono::microseconds kPause(50);
/// Names in the trace.
constexpr const char* kBetweenNodes = "gradients between nodes";
constexpr const char* kWeightsBetweenNodes = "weights between nodes";
/// Floats added up at a time, which fit the L1 cache.
constexpr std::int64_t kBlock = 2048;

/// The number of this node, in the order of nodes' first ranks.
int index_of(const runner::Communicator& node, const runner::Communicator& world) {
  const runner::Communicator first_ranks = world.split(node.rank() == 0 ? 0 : -1, world.rank());
  std::array<int, 1> index = {first_ranks.rank()};
  node.broadcast(std::as_writable_bytes(std::span(index)), 0);
  return index.front();
}

int count_nodes(const runner::Communicator& world, const runner::Communicator& node) {
  std::array<std::int64_t, 1> first_ranks = {node.rank() == 0 ? 1 : 0};
  world.allreduce_sum(std::span<std::int64_t>(first_ranks));
  return static_cast<int>(first_ranks.front());
}

}  // namespace

GradientExchange::GradientExchange(const runner::Communicator& world,
                                   const runner::Communicator& node,
                                   telemetry::Telemetry& telemetry,
                                   std::vector<std::span<float>> gradients,
                                   const GradientTravel& travel,
                                   base::InstructionSet instruction_set)
    : telemetry_(telemetry),
      travel_(travel),
      gradients_(std::move(gradients)),
      floats_(static_cast<std::int64_t>(gradients_.front().size())),
      last_first_(travel.late_update),
      node_rank_(node.rank()),
      nodes_(count_nodes(world, node)),
      // The same number on every node, so that each owner has a counterpart on every other node.
      owners_(static_cast<int>(world.allreduce_min(std::int64_t{node.size()}))) {
  node_index_ = index_of(node, world);
  is_divided_ = travel.divided_update && is_between_nodes();
  piece_floats_ = piece_floats(travel, floats_, {nodes_, owners_});
  // By nodes, so that all owners of a node have the same rank among their counterparts.
  across_.emplace(world.split(node_rank_ < owners_ ? node_rank_ : -1, node_index_));
  static_assert(Progress::is_always_lock_free, "other processes see it");
  announcements_.emplace(node, kProgressBytes);
  new (announcements_->part(node_rank_).data()) Progress(0);
  node.barrier();
  for (int rank = 0; rank < static_cast<int>(gradients_.size()); ++rank) {
    progress_.push_back(
        std::launder(reinterpret_cast<Progress*>(announcements_->part(rank).data())));
  }
  if (is_divided_) know_ranks(world);
  if (is_between_nodes()) make_sums(node, instruction_set);
}

void GradientExchange::know_ranks(const runner::Communicator& world) {
  const std::array<std::int64_t, 2> mine = {node_index_, node_rank_};
  const std::vector<std::int64_t> all = world.allgather(mine);
  world_ranks_.resize(static_cast<std::size_t>(nodes_) * static_cast<std::size_t>(owners_));
  for (std::size_t rank = 0; 2 * rank < all.size(); ++rank) {
    const std::int64_t node = all[2 * rank], owner = all[2 * rank + 1];
    if (owner >= owners_) continue;
    world_ranks_[static_cast<std::size_t>(node * owners_ + owner)] = static_cast<int>(rank);
  }
}

int GradientExchange::node_of(std::int64_t offset) const {
  const std::int64_t piece = offset / piece_floats_ * piece_floats_;
  return rank_of_shard(std::min(piece_floats_, floats_ - piece), nodes_, offset - piece);
}

int GradientExchange::rank_of(std::int64_t offset) const {
  return world_ranks_[static_cast<std::size_t>(node_of(offset) * owners_ + owner(offset))];
}

void GradientExchange::make_float_sums() {
  sums_ = std::make_unique<FloatSums>(*across_,
                                      own_pieces(gradients_[static_cast<std::size_t>(node_rank_)]),
                                      last_first_, telemetry_, kBetweenNodes);
}

std::vector<PieceCut> GradientExchange::cuts_to_try() const {
  if (!is_between_nodes() || is_divided_ || !travel_.is_exact()) return {cut()};
  return PieceTrials::cuts_around(cut(), floats_, owners_, nodes_);
}

void GradientExchange::set_cut(const PieceCut& cut) {
  if (is_divided_ || !travel_.is_exact()) {
    throw base::Error(base::ExitCode::kInternal, "set_cut: owners keep what pieces leave");
  }
  if (cut.floats <= 0 || cut.floats % nn::kUpdateCell != 0) {
    throw base::Error(base::ExitCode::kInternal, "set_cut: pieces must be whole cells");
  }
  piece_floats_ = cut.floats;
  last_first_ = cut.last_first;
  if (sums_) make_float_sums();
}

void GradientExchange::make_sums(const runner::Communicator& node,
                                 base::InstructionSet instruction_set) {
  const std::vector<std::span<float>> pieces =
      own_pieces(gradients_[static_cast<std::size_t>(node_rank_)]);
  std::vector<std::span<float>> rests;
  if (travel_.keeps_rest()) {
    std::int64_t floats = 0;
    for (const std::span<float> piece : pieces) floats += std::ssize(piece);
    rest_memory_.emplace(node, floats * static_cast<std::int64_t>(sizeof(float)));
    std::span<float> left = rest_of(node_rank_);
    for (const std::span<float> piece : pieces) {
      rests.push_back(left.first(piece.size()));
      left = left.subspan(piece.size());
    }
  }
  if (node_rank_ >= owners_) return;
  if (is_divided_) {
    sums_ = std::make_unique<ShardSums>(*across_, pieces, telemetry_, kBetweenNodes);
    return;
  }
  switch (travel_.payload) {
    case GradientPayload::kF32:
      make_float_sums();
      break;
    case GradientPayload::kTopK:
      sums_ = std::make_unique<SparseSums>(*across_, pieces, rests, travel_.density, telemetry_,
                                           kBetweenNodes);
      break;
    case GradientPayload::kBf16:
    case GradientPayload::kInt8:
      sums_ = std::make_unique<NarrowSums>(
          *across_, pieces, rests, narrow_format(travel_.payload, nn::kernels(instruction_set)),
          telemetry_, kBetweenNodes);
  }
}

std::vector<std::span<float>> GradientExchange::own_pieces(std::span<float> block) const {
  std::vector<std::span<float>> pieces;
  if (node_rank_ >= owners_) return pieces;
  for (std::int64_t at = piece_floats_ * node_rank_; at < floats_; at += piece_floats_ * owners_) {
    const std::int64_t count = std::min(piece_floats_, floats_ - at);
    pieces.push_back(block.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(count)));
  }
  return pieces;
}

std::span<float> GradientExchange::rest_of(int rank) const {
  // Aligned to a cache line, and accessed as floats only.
  const std::span<std::byte> bytes = rest_memory_->part(rank);
  return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
}

template <class Use>
void GradientExchange::for_each_rest(std::int64_t begin, std::int64_t count, Use use) const {
  for (std::int64_t at = begin; at < begin + count;) {
    const std::int64_t piece = at / piece_floats_ * piece_floats_;
    const std::int64_t end = std::min(piece + piece_floats_, begin + count);
    const auto of_owner = static_cast<std::int64_t>(number_of(piece)) * piece_floats_ + at - piece;
    use(rest_of(owner(at)).subspan(static_cast<std::size_t>(of_owner),
                                   static_cast<std::size_t>(end - at)),
        static_cast<std::size_t>(at - begin));
    at = end;
  }
}

std::vector<float> GradientExchange::rest(std::int64_t begin, std::int64_t count) const {
  std::vector<float> values(static_cast<std::size_t>(count));
  for_each_rest(begin, count, [&](std::span<const float> rest, std::size_t offset) {
    std::ranges::copy(rest, values.begin() + static_cast<std::ptrdiff_t>(offset));
  });
  return values;
}

void GradientExchange::set_rest(std::int64_t begin, std::span<const float> values) {
  for_each_rest(begin, std::ssize(values), [&](std::span<float> rest, std::size_t offset) {
    std::ranges::copy(values.subspan(offset, rest.size()), rest.begin());
  });
}

void GradientExchange::begin() {
  next_ = static_cast<std::int64_t>(node_rank_) * piece_floats_;
  if (node_rank_ >= owners_) next_ = floats_;
}

void GradientExchange::announce(std::int64_t floats) {
  progress_[static_cast<std::size_t>(node_rank_)]->store(earlier_ + floats,
                                                         std::memory_order_release);
}

bool GradientExchange::all_have(std::int64_t floats) const {
  return std::all_of(progress_.begin(), progress_.end(), [&](const Progress* one) {
    return one->load(std::memory_order_acquire) >= earlier_ + floats;
  });
}

void GradientExchange::add_up(std::int64_t begin, std::int64_t end) {
  if (gradients_.size() == 1) return;
  float* const own = gradients_[static_cast<std::size_t>(node_rank_)].data();
#pragma omp parallel for schedule(static)
  for (std::int64_t at = begin; at < end; at += kBlock) {
    const std::int64_t count = std::min(kBlock, end - at);
    std::array<float, kBlock> sum;
    std::copy_n(gradients_.front().data() + at, count, sum.data());
    for (std::size_t rank = 1; rank < gradients_.size(); ++rank) {
      const float* const part = gradients_[rank].data() + at;
      for (std::int64_t i = 0; i < count; ++i) sum[static_cast<std::size_t>(i)] += part[i];
    }
    std::copy_n(sum.data(), count, own + at);
  }
}

void GradientExchange::begin_on_node() {
  if (gradients_.size() == 1 || on_node_) return;
  const std::int64_t bytes = floats_ * static_cast<std::int64_t>(sizeof(float));
  on_node_ = telemetry_.begin_exchange("gradients on the node", bytes);
  telemetry_.add(Counter::kBytesSent, bytes);
}

void GradientExchange::start_ready() {
  while (next_ < floats_) {
    const std::int64_t end = std::min(next_ + piece_floats_, floats_);
    if (!all_have(end)) return;
    begin_on_node();
    add_up(next_, end);
    if (sums_) sums_->begin(number_of(next_));
    next_ += piece_floats_ * owners_;
  }
}

void GradientExchange::progress() {
  const Scope scope(telemetry_, Subsystem::kExchange);
  if (sums_) sums_->test();
  if (gather_) gather_->test();
}

void GradientExchange::gradients_ready(std::int64_t floats) {
  if (gradients_.size() == 1 && !is_between_nodes()) return;
  const Scope scope(telemetry_, Subsystem::kExchange);
  announce(floats);
  start_ready();
  if (sums_) sums_->test();
}

void GradientExchange::close() {
  if (gradients_.size() == 1 && !is_between_nodes()) return;
  const Scope scope(telemetry_, Subsystem::kExchange);
  begin_on_node();
  announce(floats_);
  {
    const base::Activity::Waiting waiting(across_->activity(), "gradients of the node's ranks");
    int looks = 0;
    for (start_ready(); next_ < floats_; start_ready()) {
      if (sums_) sums_->test();
      if (++looks < kLooksWithoutPause) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(kPause);
      }
    }
  }
  if (on_node_) {
    telemetry_.end_exchange(*on_node_);
    on_node_.reset();
  }
  earlier_ += floats_;
}

void GradientExchange::wait(std::int64_t begin, std::int64_t end) {
  if (!sums_) return;
  const Scope scope(telemetry_, Subsystem::kExchange);
  const base::Activity::Waiting waiting(across_->activity(), kBetweenNodes);
  for_each_own(begin, end, [&](std::size_t piece) { sums_->wait(piece); });
}

template <class Use>
void GradientExchange::for_each_own(std::int64_t begin, std::int64_t end, Use use) const {
  const std::int64_t apart = piece_floats_ * owners_, first = piece_floats_ * node_rank_;
  // The first of this rank's pieces that ends after `begin`.
  const std::int64_t before = std::max<std::int64_t>(begin - first - piece_floats_ + apart, 0);
  for (std::int64_t at = first + before / apart * apart; at < std::min(end, floats_); at += apart) {
    use(number_of(at));
  }
}

void GradientExchange::start_gather(std::span<float> weights) {
  if (!sums_) return;
  gather_ = std::make_unique<ShardGather>(*across_, own_pieces(weights), telemetry_,
                                          kWeightsBetweenNodes);
}

void GradientExchange::wait_gathered(std::int64_t begin, std::int64_t end) {
  if (!sums_) return;
  const Scope scope(telemetry_, Subsystem::kExchange);
  const base::Activity::Waiting waiting(across_->activity(), kWeightsBetweenNodes);
  for_each_own(begin, end, [&](std::size_t piece) { gather_->wait(piece); });
}

std::vector<float> GradientExchange::sums() const {
  if (is_divided_) {
    throw base::Error(base::ExitCode::kInternal, "sums of gradients of which each node has a part");
  }
  std::vector<float> sums(static_cast<std::size_t>(floats_));
  for (std::int64_t begin = 0; begin < floats_; begin += piece_floats_) {
    const std::int64_t count = std::min(piece_floats_, floats_ - begin);
    std::copy_n(gradients_[static_cast<std::size_t>(owner(begin))].data() + begin, count,
                sums.data() + begin);
  }
  return sums;
}

}  // namespace parallel
