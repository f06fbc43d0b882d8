// Pieces of work on tables: large ones first, taken by whichever thread is free.
#include "workloads/embedding/work.h"

#include <omp.h>

#include <algorithm>
#include <exception>

namespace nn {

namespace {

/// Pieces per thread. More balance the load better; fewer scan the ids of a shared table less
/// often.
constexpr std::int64_t kPiecesOfThread = 4;
/// Cost below which a piece is not worth starting.
constexpr std::int64_t kLeastCost = 512;

struct Piece {
  std::size_t job = 0;
  WorkPart part;
  std::int64_t cost = 0;
};

struct Cost {
  std::int64_t lookups = 0;
  std::int64_t most_parts = 1;  ///< with more, some would have nothing to do
};

/// Cuts jobs into pieces, and sorts these by cost, the largest first.
std::vector<Piece> pieces_of(const std::vector<Cost>& costs, std::int64_t threads) {
  std::int64_t total = 0;
  for (const Cost& cost : costs) total += cost.lookups;
  const std::int64_t most =
      threads == 1 ? total : std::max(kLeastCost, total / (threads * kPiecesOfThread));
  std::vector<Piece> pieces;
  for (std::size_t job = 0; job < costs.size(); ++job) {
    std::int64_t parts = 1;
    const auto [lookups, most_parts] = costs[job];
    while (parts * most < lookups && parts < most_parts) parts *= 2;
    for (std::int64_t p = 0; p < parts && lookups > 0; ++p) {
      pieces.push_back({job, {p, parts}, lookups / parts});
    }
  }
  std::ranges::stable_sort(pieces, std::greater(), &Piece::cost);
  return pieces;
}

/// Calls work(piece, thread) for each piece. Rethrows one of the exceptions when all are done.
template <class Work>
void for_each_piece(const std::vector<Piece>& pieces, const Work& work) {
  std::exception_ptr failure;
#pragma omp parallel for schedule(dynamic, 1)
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    try {
      work(pieces[i], static_cast<std::size_t>(omp_get_thread_num()));
    } catch (...) {
#pragma omp critical(embedding_failure)
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

/// Whether rows are not assigned to threads: then all threads work on one table after the other.
bool any_thread_any_row(TableUpdate update) {
  return update == TableUpdate::kLocked || update == TableUpdate::kAtomic;
}

}  // namespace

std::int64_t pieces_of_update(const Bags& bags, int threads) {
  return std::ssize(pieces_of({{bags.lookups(), bags.count()}}, threads));
}

template <class T>
void run(std::span<const ForwardJob<T>> jobs) {
  std::vector<Cost> costs;
  for (const auto& job : jobs) {
    costs.push_back({job.bags.lookups() + job.bags.count(), job.bags.count()});
  }
  for_each_piece(pieces_of(costs, omp_get_max_threads()), [&](const Piece& piece, std::size_t) {
    const auto& job = jobs[piece.job];
    job.table->forward_part(job.bags, job.out, job.stride, piece.part);
  });
}

template <class T>
void run(std::span<const UpdateJob<T>> jobs, double learning_rate,
         std::vector<UpdateScratch>& scratch) {
  const int threads = omp_get_max_threads();
  if (scratch.size() < static_cast<std::size_t>(threads)) {
    scratch.resize(static_cast<std::size_t>(threads));
  }
  const auto step = [&](const UpdateJob<T>& job, const WorkPart& part, UpdateScratch& own) {
    job.table->update_part(job.bags, job.gradient, job.stride, learning_rate, part, own);
  };
  std::vector<Cost> costs;
  for (const auto& job : jobs) {
    if (job.table->options().update == TableUpdate::kReference) {
      step(job, {}, scratch.front());
    } else if (any_thread_any_row(job.table->options().update)) {
      for_each_piece(
          pieces_of({{job.bags.lookups(), job.bags.count()}}, threads),
          [&](const Piece& piece, std::size_t thread) { step(job, piece.part, scratch[thread]); });
    } else {
      costs.push_back({job.bags.lookups(), job.table->rows()});
      continue;
    }
    costs.push_back({});
  }
  for_each_piece(pieces_of(costs, threads), [&](const Piece& piece, std::size_t thread) {
    step(jobs[piece.job], piece.part, scratch[thread]);
  });
}

template void run(std::span<const ForwardJob<float>>);
template void run(std::span<const ForwardJob<Bf16>>);
template void run(std::span<const UpdateJob<float>>, double, std::vector<UpdateScratch>&);
template void run(std::span<const UpdateJob<Bf16>>, double, std::vector<UpdateScratch>&);

}  // namespace nn
