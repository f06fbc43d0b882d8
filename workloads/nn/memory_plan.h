// Buffers that share one block of memory: each lives from its first to its last use in the
// schedule.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace nn {

using BufferId = int;

/// Request buffers, place() them, then read the offsets. Two buffers whose lifetimes overlap never
/// share memory.
class MemoryPlan {
 public:
  static constexpr std::int64_t kAlignment = 64;

  /// A buffer of `bytes` bytes, alive during the moments [first, last]; `purpose` groups buffers in
  /// unshared_bytes() and peak().
  BufferId request(std::int64_t bytes, int first, int last, const std::string& purpose);
  /// Makes a buffer live longer.
  void extend(BufferId buffer, int last);
  /// Largest buffers first, each at the lowest free offset.
  void place();

  std::int64_t offset(BufferId buffer) const { return at(buffer).offset; }
  std::int64_t bytes(BufferId buffer) const { return at(buffer).bytes; }
  /// Size of the block after place().
  std::int64_t total_bytes() const { return total_; }
  /// Sum of all buffers by purpose: what they would take without sharing.
  std::map<std::string, std::int64_t> unshared_bytes() const;
  /// The moment when most bytes are in use, and these bytes by purpose. The block may be larger, as
  /// placement leaves gaps.
  struct Peak {
    int moment = 0;
    std::map<std::string, std::int64_t> bytes;
  };
  Peak peak() const;
  std::size_t size() const { return buffers_.size(); }

 private:
  struct Buffer {
    std::int64_t bytes = 0, offset = 0;
    int first = 0, last = 0;
    std::string purpose;
  };
  const Buffer& at(BufferId buffer) const { return buffers_.at(static_cast<std::size_t>(buffer)); }
  std::vector<Buffer> buffers_;
  std::int64_t total_ = 0;
};

}  // namespace nn
