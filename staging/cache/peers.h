// The caches of the other ranks, as one rank sees them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "staging/cache/wire.h"
#include "staging/dataset/remark.h"

namespace cache {

/// Where a rank's server may be reached.
struct PeerAddress {
  std::uint16_t port = 0;
  std::vector<std::string> hosts;  ///< numeric; tried in this order
  std::string name;                ///< for remarks
};

/// Thread-safe; requests to the same rank wait for each other. A rank that fails, answers wrongly
/// or stands still for `patience` is not asked again; that is a remark, not an error. If none of
/// the first kTries ranks can be reached, as with a firewall between hosts, no other is tried.
class Peers {
 public:
  static constexpr int kTries = 3;
  /// `addresses` by rank. No sample is larger than `sample_bytes`.
  Peers(std::vector<PeerAddress> addresses, const Secret& secret, std::int64_t sample_bytes,
        std::chrono::milliseconds patience = kPatience);

  enum class Answer { kHere, kAbsent, kWanted };
  /// Asks `rank` for a sample, whose next use after this it tells, and reads it into `out`
  /// (resized). kWanted: it has none, but may keep it if it is put.
  Answer get(int rank, std::int64_t index, std::int64_t next_use, std::vector<std::byte>& out);
  void put(int rank, std::int64_t index, std::span<const std::byte> bytes, std::int64_t next_use);
  void take_remarks_into(std::vector<std::string>& remarks) { remark_.take_into(remarks); }

 private:
  struct Link {
    std::mutex mutex;
    base::Descriptor socket;
    bool has_failed = false;
  };
  base::Descriptor connect(int rank) const;
  bool is_ready(int rank, Link& link);
  bool is_given_up(const Link& link) const;
  bool try_get(const Link& link, const Message& asked, Message& told,
               std::vector<std::byte>& out) const;
  void give_up(int rank, Link& link);

  const std::vector<PeerAddress> addresses_;
  const Secret secret_;
  const std::int64_t sample_bytes_;
  const std::chrono::milliseconds patience_;
  std::vector<std::unique_ptr<Link>> links_;
  std::atomic<std::int64_t> reached_{0}, failed_{0};  ///< connections, and ranks
  dataset::Remark remark_;
};

}  // namespace cache
