// Sizes of embedding tables as users write them.
// Hides their notation, and those that have a name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dlrm {

/// Table sizes from text: "3,5,2"; "criteo", those of the benchmark; "capped:2000", those cut;
/// "small", 26 tables of at most 2000 rows that the figures of the planted model are known for.
/// Throws ConfigError, which says `where` the text stands.
std::vector<std::int64_t> parse_tables(const std::string& text,
                                       const std::string& where = "generate: --tables");

}  // namespace dlrm
