// How many nonblocking exchanges were started, and the bytes that they sent.
// Hides nothing.
#pragma once

#include <cstdint>

/// What went through MPI's door since it was last set to {}.
struct Traffic {
  int operations = 0;
  std::int64_t bytes_sent = 0;  ///< to other ranks
};
Traffic& traffic();
