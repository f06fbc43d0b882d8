// The collectives that are measured.
#include "workloads/parallel/exchange_bench/operation.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "runner/base/error.h"
#include "runner/communicator.h"
#include "runner/exact_terms.h"
#include "runner/plain_mpi.h"
#include "workloads/optimizer/optimizer.h"
#include "workloads/parallel/gradient_exchange.h"
#include "workloads/parallel/gradient_volume.h"
#include "workloads/parallel/node_memory.h"
#include "workloads/parallel/shard_sum.h"

namespace exchange_bench {

void Operation::run_beside(const Work& /*work*/) {
  throw base::Error(base::ExitCode::kInternal, "bench exchange: nothing runs beside this");
}

namespace {

using runner::Communicator;
using runner::ExactTerms;
using Floats = std::vector<float>;

template <class Expected>
std::int64_t count_wrong(std::span<const float> found, const Expected& expected) {
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < found.size(); ++i) wrong += found[i] != expected(i) ? 1 : 0;
  return wrong;
}

void fill_with_terms(std::span<float> floats, int rank) {
  for (std::size_t i = 0; i < floats.size(); ++i) floats[i] = ExactTerms::of(rank, i);
}

/// An operation with a buffer to send and one to receive.
class BufferedOperation : public Operation {
 public:
  BufferedOperation(std::int64_t sent, std::int64_t received, const runner::Surroundings& around)
      : world_(around.world),
        mpi_(around.world),
        send_(static_cast<std::size_t>(sent)),
        receive_(static_cast<std::size_t>(received)) {}
  void fill() override {
    fill_with_terms(send_, world_.rank());
    std::fill(receive_.begin(), receive_.end(), -1.0F);
  }

 protected:
  std::size_t ranks() const { return static_cast<std::size_t>(world_.size()); }
  std::span<const std::byte> sent_bytes() const { return std::as_bytes(std::span(send_)); }
  std::span<std::byte> received_bytes() { return std::as_writable_bytes(std::span(receive_)); }

  const Communicator& world_;
  const runner::PlainMpi mpi_;
  Floats send_, receive_;
};

/// The sum of gradients: through memory within a node, then between nodes.
class Allreduce final : public BufferedOperation {
 public:
  Allreduce(std::int64_t floats, const runner::Surroundings& around)
      : BufferedOperation(floats, floats, around),
        memory_(parallel::make_memory(around.topology.node)),
        gradients_(memory_->own_block(floats)),
        exchange_(around.world, around.topology.node, around.telemetry, memory_->blocks_of_all()) {}
  void fill() override {
    BufferedOperation::fill();
    fill_with_terms(gradients_, world_.rank());
  }
  void run(Side side) override {
    if (side == Side::kMpi) return mpi_.allreduce(send_, receive_);
    run_beside({});
  }
  void run_beside(const Work& work) override {
    exchange_.begin();
    for (int piece = 1; piece <= work.pieces; ++piece) {
      work.piece();
      exchange_.gradients_ready(std::ssize(gradients_) * piece / work.pieces);
    }
    exchange_.finish();
  }
  std::int64_t wrong(Side side) const override {
    const ExactTerms terms(world_.size());
    return count_wrong(side == Side::kMpi ? receive_ : exchange_.sums(),
                       [&](std::size_t i) { return terms.sum(i); });
  }

 private:
  const std::shared_ptr<nn::ParameterMemory> memory_;
  const std::span<float> gradients_;
  parallel::GradientExchange exchange_;
};

/// What training starts, works beside, and waits for.
class StartedOperation : public BufferedOperation {
 public:
  using BufferedOperation::BufferedOperation;
  void run_beside(const Work& work) override {
    runner::Pending pending = start();
    for (int piece = 0; piece < work.pieces; ++piece) {
      work.piece();
      pending.test();
    }
    pending.wait();
  }

 protected:
  virtual runner::Pending start() = 0;
};

/// DLRM's exchange of embeddings: part r goes to rank r.
class Alltoall final : public StartedOperation {
 public:
  Alltoall(std::int64_t floats, const runner::Surroundings& around)
      : StartedOperation(floats, floats, around),
        part_(send_.size() / ranks()),
        parts_(runner::consecutive_parts(std::vector<std::int64_t>(
            ranks(), static_cast<std::int64_t>(part_ * sizeof(float))))) {}
  void run(Side side) override {
    if (side == Side::kMpi) return mpi_.alltoall(send_, receive_);
    run_beside({});
  }
  std::int64_t wrong(Side) const override {
    const std::size_t mine = static_cast<std::size_t>(world_.rank()) * part_;
    return count_wrong(receive_, [&](std::size_t i) {
      return ExactTerms::of(static_cast<int>(i / part_), mine + i % part_);
    });
  }

 protected:
  runner::Pending start() override {
    return world_.start_alltoall(sent_bytes(), parts_, received_bytes(), parts_);
  }

 private:
  const std::size_t part_;
  const runner::RankParts parts_;
};

/// How the parts of a split sample are brought together (parallel::GroupVolumes::gather).
class AllGather final : public BufferedOperation {
 public:
  AllGather(std::int64_t floats, const runner::Surroundings& around)
      : BufferedOperation(floats / around.world.size(), floats, around) {}
  void run(Side side) override {
    if (side == Side::kMpi) return mpi_.all_gather(send_, receive_);
    const std::vector<std::int64_t> bytes(ranks(), std::ssize(sent_bytes()));
    const runner::RankParts same = runner::same_part(world_.size(), bytes.front());
    world_.start_alltoall(sent_bytes(), same, received_bytes(), runner::consecutive_parts(bytes))
        .wait();
  }
  std::int64_t wrong(Side) const override {
    return count_wrong(receive_, [&](std::size_t i) {
      return ExactTerms::of(static_cast<int>(i / send_.size()), i % send_.size());
    });
  }
};

/// The sum of gradients where nodes divide updates: of each piece a rank gets its shard.
class ReduceScatter final : public BufferedOperation {
 public:
  ReduceScatter(std::int64_t floats, const runner::Surroundings& around)
      : BufferedOperation(floats, floats / around.world.size(), around),
        gradients_(send_.size()),
        pieces_(pieces_of(gradients_, around.world.size())),
        sums_(around.world, pieces_, around.telemetry, "reduce-scatter") {}
  void fill() override {
    BufferedOperation::fill();
    fill_with_terms(gradients_, world_.rank());
  }
  void run(Side side) override {
    if (side == Side::kMpi) return mpi_.reduce_scatter(send_, receive_);
    run_beside({});
  }
  void run_beside(const Work& work) override {
    std::size_t begun = 0;
    for (int done = 1; done <= work.pieces; ++done) {
      work.piece();
      const std::size_t ready =
          pieces_.size() * static_cast<std::size_t>(done) / static_cast<std::size_t>(work.pieces);
      while (begun < ready) sums_.begin(begun++);
      sums_.test();
    }
    while (begun < pieces_.size()) sums_.begin(begun++);
    for (std::size_t piece = 0; piece < pieces_.size(); ++piece) sums_.wait(piece);
  }
  std::int64_t wrong(Side side) const override {
    const ExactTerms terms(world_.size());
    if (side == Side::kMpi) {
      const std::size_t mine = static_cast<std::size_t>(world_.rank()) * receive_.size();
      return count_wrong(receive_, [&](std::size_t i) { return terms.sum(mine + i); });
    }
    std::int64_t wrong = 0;
    for (const std::span<float> piece : pieces_) {
      const auto [first, last] =
          parallel::shard_of(std::ssize(piece), world_.size(), world_.rank());
      const auto shard =
          piece.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first));
      const auto before = static_cast<std::size_t>(shard.data() - gradients_.data());
      wrong += count_wrong(shard, [&](std::size_t i) { return terms.sum(before + i); });
    }
    return wrong;
  }

 private:
  /// Of as many whole cells for each rank.
  static std::vector<std::span<float>> pieces_of(std::span<float> floats, int ranks) {
    const std::int64_t unit = ranks * nn::kUpdateCell;
    const auto most =
        static_cast<std::size_t>(std::max(parallel::kLargestPieceFloats / unit * unit, unit));
    std::vector<std::span<float>> pieces;
    for (; floats.size() > most; floats = floats.subspan(most)) {
      pieces.push_back(floats.first(most));
    }
    pieces.push_back(floats);
    return pieces;
  }

  Floats gradients_;
  const std::vector<std::span<float>> pieces_;
  parallel::ShardSums sums_;
};

/// How the arrays of a checkpoint reach all ranks.
class Broadcast final : public BufferedOperation {
 public:
  Broadcast(std::int64_t floats, const runner::Surroundings& around)
      : BufferedOperation(0, floats, around) {}
  void fill() override {
    BufferedOperation::fill();
    if (world_.rank() == 0) fill_with_terms(receive_, 0);
  }
  void run(Side side) override {
    if (side == Side::kMpi) return mpi_.broadcast(receive_);
    world_.broadcast(received_bytes(), 0);
  }
  std::int64_t wrong(Side) const override {
    return count_wrong(receive_, [](std::size_t i) { return ExactTerms::of(0, i); });
  }
};

/// The margins of a sample that ranks have split among them, in a row.
class Halo final : public StartedOperation {
 public:
  Halo(std::int64_t floats, const runner::Surroundings& around)
      : StartedOperation(floats, floats, around) {
    const std::int64_t half = std::ssize(sent_bytes()) / 2;
    parts_ = {std::vector<std::int64_t>(ranks()), std::vector<std::int64_t>(ranks())};
    const auto rank = static_cast<std::size_t>(world_.rank());
    if (rank > 0) parts_.counts[rank - 1] = half;
    if (rank + 1 < ranks()) {
      parts_.counts[rank + 1] = half;
      parts_.places[rank + 1] = half;
    }
  }
  void run(Side side) override {
    if (side == Side::kMpi) return mpi_.halo(send_, receive_);
    run_beside({});
  }
  std::int64_t wrong(Side) const override {
    const std::size_t half = send_.size() / 2;
    const int rank = world_.rank();
    return count_wrong(receive_, [&](std::size_t i) {
      const bool is_before = i < half;
      if (is_before ? rank == 0 : rank + 1 == world_.size()) return -1.0F;
      return is_before ? ExactTerms::of(rank - 1, half + i) : ExactTerms::of(rank + 1, i - half);
    });
  }

 protected:
  runner::Pending start() override {
    return world_.start_alltoall(sent_bytes(), parts_, received_bytes(), parts_);
  }

 private:
  runner::RankParts parts_;
};

template <class Made>
std::unique_ptr<Operation> make(std::int64_t floats, const runner::Surroundings& around) {
  return std::make_unique<Made>(floats, around);
}

std::int64_t one(int /*ranks*/) { return 1; }
std::int64_t one_each(int ranks) { return ranks; }
double passes_all(int /*ranks*/) { return 1.0; }
double passes_to_others(int ranks) { return (ranks - 1.0) / ranks; }

}  // namespace

std::span<const Kind> kinds() {
  static const std::array<Kind, 6> all = {
      Kind{.name = "allreduce",
           .reduction = "sum",
           .training = "shared memory within nodes; between them parts to the nodes that add them "
                       "up, and sums to all",
           .mpi = "MPI_Allreduce",
           .hides = true,
           .unit = one,
           .parts = one,
           .traffic = [](int ranks) { return 2.0 * passes_to_others(ranks); },
           .make = make<Allreduce>,
           .buffers = 4},
      Kind{.name = "reduce-scatter",
           .reduction = "sum",
           .training = "MPI_Ialltoallv, and a sum in the order of ranks",
           .mpi = "MPI_Reduce_scatter_block",
           .hides = true,
           .unit = one_each,
           .parts = one_each,
           .traffic = passes_to_others,
           .make = make<ReduceScatter>,
           .buffers = 4},
      Kind{.name = "all-gather",
           .training = "MPI_Ialltoallv",
           .mpi = "MPI_Allgather",
           .unit = one_each,
           .parts = one_each,
           .traffic = passes_to_others,
           .make = make<AllGather>},
      Kind{.name = "alltoall",
           .training = "MPI_Ialltoallv",
           .mpi = "MPI_Alltoall",
           .hides = true,
           .unit = one_each,
           .parts = one_each,
           .traffic = passes_to_others,
           .make = make<Alltoall>},
      Kind{.name = "broadcast",
           .root = 0,
           .training = "MPI_Bcast in pieces of 4 MiB",
           .mpi = "MPI_Bcast",
           .unit = one,
           .parts = one,
           .traffic = passes_all,
           .make = make<Broadcast>,
           .buffers = 1},
      Kind{.name = "halo",
           .training = "MPI_Ialltoallv",
           .mpi = "MPI_Isend, MPI_Irecv",
           .hides = true,
           .unit = [](int) { return std::int64_t{2}; },
           .parts = one,
           .traffic = [](int ranks) { return ranks > 2 ? 1.0 : 0.5; },
           .make = make<Halo>}};
  return all;
}

}  // namespace exchange_bench
