// Lookups in the order of their rows.
// Hides the radix sort.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "workloads/kernels/sparse_kernels.h"

namespace nn {

/// Sorts by row; lookups of the same row keep their order. Rows are in [0, rows) and agree in their
/// lowest `common_bits`. The result lies in `lookups` or in `spare`, which has as many elements at
/// least.
std::span<const Lookup> sort_by_row(std::span<Lookup> lookups, std::vector<Lookup>& spare,
                                    std::int64_t rows, int common_bits);

}  // namespace nn
