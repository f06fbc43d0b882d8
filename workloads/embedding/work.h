// Work on several embedding tables at once.
// Hides how it is cut into pieces, and which thread takes which.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "workloads/embedding/bags.h"
#include "workloads/embedding/table.h"

namespace nn {

/// What EmbeddingTable::forward() is called with.
template <class T>
struct ForwardJob {
  const EmbeddingTable* table = nullptr;
  Bags bags;
  T* out = nullptr;
  std::int64_t stride = 0;
};

/// What EmbeddingTable::update() is called with.
template <class T>
struct UpdateJob {
  EmbeddingTable* table = nullptr;
  Bags bags;
  const T* gradient = nullptr;
  std::int64_t stride = 0;
};

/// Pieces of the update of one table where any thread may take any row, as `threads` threads share
/// them.
std::int64_t pieces_of_update(const Bags& bags, int threads);

/// All jobs, by all threads; no two of them write to the same place.
template <class T>
void run(std::span<const ForwardJob<T>> jobs);
/// `scratch` grows to one for each thread.
template <class T>
void run(std::span<const UpdateJob<T>> jobs, double learning_rate,
         std::vector<UpdateScratch>& scratch);

}  // namespace nn
