// Counts nonblocking MPI collectives and the bytes that they send.
#pragma once

#include <cstdint>

/// Counts since traffic() was last set to {}.
struct Traffic {
  int operations = 0;
  std::int64_t bytes_sent = 0;  ///< to other ranks
};
Traffic& traffic();
