// What the bench prints and writes: the columns of NVIDIA's nccl-tests, and JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "workloads/parallel/exchange_bench/measure.h"

namespace exchange_bench {

/// The figures of one side of a row: the median time of a call; algbw = bytes / time and busbw =
/// algbw x traffic, as nccl-tests has them.
struct Rates {
  double seconds = 0.0, algorithm_bytes_per_s = 0.0, bus_bytes_per_s = 0.0;
};
Rates rates_of(const Row& row, const Times& times, int ranks);

/// The lines above the rows of a collective; all begin with "#".
std::string heading(const Kind& kind, int ranks, int nodes);
/// A row: size, count, type, redop, root; time, algbw, busbw and #wrong of training and of MPI; the
/// share in percent that is hidden. "N/A": not measured.
std::string line(const Row& row, int ranks);
/// The lines below the rows of a collective, as nccl-tests has them: wrong elements, and the mean
/// bus bandwidth of each side.
std::string summary(const std::vector<Row>& rows, int ranks);

/// Elements that are wrong in all of them together.
std::int64_t wrong_elements(const std::vector<Row>& rows);

nlohmann::json json_of(const Row& row, int ranks);
nlohmann::json definitions();

}  // namespace exchange_bench
