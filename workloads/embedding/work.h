// Parallel execution of work on several embedding tables, cut into pieces.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "workloads/embedding/bags.h"
#include "workloads/embedding/table.h"

namespace nn {

/// Arguments of EmbeddingTable::forward().
template <class T>
struct ForwardJob {
  const EmbeddingTable* table = nullptr;
  Bags bags;
  T* out = nullptr;
  std::int64_t stride = 0;
};

/// Arguments of EmbeddingTable::update().
template <class T>
struct UpdateJob {
  EmbeddingTable* table = nullptr;
  Bags bags;
  const T* gradient = nullptr;
  std::int64_t stride = 0;
};

/// Number of pieces into which `threads` threads cut the update of one table by kLocked or kAtomic.
std::int64_t pieces_of_update(const Bags& bags, int threads);

/// Runs all jobs on all threads. REQUIRES: no two jobs write to the same place.
template <class T>
void run(std::span<const ForwardJob<T>> jobs);
/// The same; `scratch` grows to one element per thread.
template <class T>
void run(std::span<const UpdateJob<T>> jobs, double learning_rate,
         std::vector<UpdateScratch>& scratch);

}  // namespace nn
