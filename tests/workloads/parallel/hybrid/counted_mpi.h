// Counts nonblocking MPI collectives and MPI_Isend, and what they send.
#pragma once

#include <cstdint>

/// Counts since traffic() was last set to {}.
struct Traffic {
  int operations = 0;              ///< collectives
  std::int64_t bytes_sent = 0;     ///< to other ranks
  std::int64_t messages_sent = 0;  ///< those with any bytes
};
Traffic& traffic();
