// Memory for the images of packs: a fixed number of buffers, each free again when nobody uses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace staging {

using PackBuffer = std::shared_ptr<std::byte[]>;

/// A pack in a buffer.
struct PackImage {
  std::int64_t number = 0;
  PackBuffer buffer;
  std::size_t size = 0;
  std::int64_t sample_bytes = 0;  ///< without places and trailer
  bool has_travelled = false;     ///< it was received from another node
  std::span<std::byte> bytes() const { return {buffer.get(), size}; }
};

/// Thread-safe. A buffer may outlive this object.
class PackBuffers {
 public:
  /// At most `count` buffers of `bytes` each, which are allocated when they are first used.
  PackBuffers(std::size_t count, std::size_t bytes);

  /// Null if no buffer becomes free within `seconds`.
  PackBuffer take_within(double seconds);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace staging
