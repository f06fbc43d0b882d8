// Sorting of lookups by row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "workloads/kernels/sparse_kernels.h"

namespace nn {

/// Sorts by row, stably. Rows are in [0, rows) and agree in their lowest `common_bits`. The result
/// is in `lookups` or in `spare`, which is resized to at least as many elements.
std::span<const Lookup> sort_by_row(std::span<Lookup> lookups, std::vector<Lookup>& spare,
                                    std::int64_t rows, int common_bits);

}  // namespace nn
