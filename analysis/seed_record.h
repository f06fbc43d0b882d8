// One seed record of a log.
// Hides what counts as an integer.
#pragma once

#include <cstdint>
#include <string>

#include "runner/mllog/record.h"

namespace analysis {

struct SeedRecord {
  std::int64_t line = 0;
  std::int64_t column = 0;
  std::string seed;     ///< its digits; "" where the value is no integer
  std::string place;    ///< "file:lineno" of its metadata; "" where that is incomplete
  std::string problem;  ///< what is wrong with it; "" when nothing is
};

SeedRecord seed_record(const mllog::Record& record);

}  // namespace analysis
