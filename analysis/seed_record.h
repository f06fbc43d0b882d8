// Reads the seed record of a log.
#pragma once

#include <cstdint>
#include <string>

#include "runner/mllog/record.h"

namespace analysis {

struct SeedRecord {
  std::int64_t line = 0;
  std::int64_t column = 0;
  std::string seed;     ///< its digits; "" if the value is not an integer
  std::string place;    ///< "file:lineno" of its metadata; "" if incomplete
  std::string problem;  ///< what is wrong with it; "" if nothing
};

SeedRecord seed_record(const mllog::Record& record);

}  // namespace analysis
