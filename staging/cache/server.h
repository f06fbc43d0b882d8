// Gives other ranks what this rank's store has, and puts into it what they offer.
#pragma once

#include <cstdint>
#include <memory>

#include "staging/cache/store.h"
#include "staging/cache/wire.h"

namespace cache {

/// One thread, which calls no MPI. A connection that does not begin with the secret, or breaks the
/// rules of wire.h, is closed. The store outlives this.
class Server {
 public:
  struct Limits {
    std::int64_t samples = 0;       ///< indices are below
    std::int64_t sample_bytes = 0;  ///< no sample is larger
  };
  /// Throws SystemError.
  Server(Store& store, int rank, const Secret& secret, Reach reach, const Limits& limits);
  /// Ends the thread.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::uint16_t port() const;

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace cache
