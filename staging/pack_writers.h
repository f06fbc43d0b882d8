// Threads that write packs to a node's copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "staging/pack_buffers.h"
#include "staging/pack_store.h"
#include "staging/staging_config.h"
#include "staging/write_choice.h"

namespace staging {

/// Writes packs in any order. Who gives packs bounds the memory, by a fixed number of buffers. The
/// destructor ends the threads after the packs that they are writing, and drops the others.
class PackWriters {
 public:
  /// The pack that a copy holds in place of an image, which may be in `memory`, the thread's own.
  using Prepare = std::function<std::span<const std::byte>(const PackImage& image,
                                                           std::vector<std::byte>& memory)>;
  /// `packs`: how many will be put. `prepare`, if given, is called on the threads.
  PackWriters(int threads, const PackStore& store, const Writing& writing, std::int64_t packs,
              Prepare prepare = {});
  ~PackWriters();
  PackWriters(const PackWriters&) = delete;
  PackWriters& operator=(const PackWriters&) = delete;

  /// Returns at once. The image must not change any more.
  void put(PackImage image);
  /// Whether all packs are written, at the latest after `seconds`. Rethrows the first failure:
  /// SystemError for a write, DataError for a pack that reads back differently.
  bool are_done_within(double seconds);
  /// Whether no pack waits or is being written; those that failed are neither.
  bool are_idle() const;
  /// The first failure since the last call; else null. It is as if it had not been.
  std::exception_ptr take_failure();
  /// Bytes of the samples that are written, as they were put.
  std::int64_t copied_bytes() const;
  /// Bytes of the packs as they are written.
  std::int64_t written_bytes() const;
  /// Of these, the bytes of packs that were written around the page cache.
  std::int64_t direct_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace staging
