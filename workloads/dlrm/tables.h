// Parses the sizes of embedding tables in configurations and options.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dlrm {

/// Table sizes from text: "3,5,2"; "criteo", the benchmark's sizes; "capped:2000", the benchmark's
/// sizes limited to 2000 rows; "small", 26 tables of at most 2000 rows, for which the results of
/// the planted model are known. Throws ConfigError, whose message begins with `where`.
std::vector<std::int64_t> parse_tables(const std::string& text,
                                       const std::string& where = "generate: --tables");

}  // namespace dlrm
