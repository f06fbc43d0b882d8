// Which runs of a set a round makes a result of, where those are not all.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace mllog {

/// So many of a set's runs, the first to start among those that converge, make its result; nothing
/// where all runs count, or where the benchmark is not known. `round` as in benchmarks.h.
std::optional<std::int64_t> first_converging_runs(std::string_view benchmark,
                                                  std::string_view round);

}  // namespace mllog
