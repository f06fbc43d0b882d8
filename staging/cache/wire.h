// What ranks send each other of their caches, over TCP: fixed messages, each with the bytes of at
// most one sample after it. All ranks run the same program on the same kind of machine.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runner/base/descriptor.h"

namespace cache {

/// Random bits that only the ranks of one run know.
using Secret = std::array<std::uint64_t, 2>;
Secret random_secret();

/// The first message of a connection, from who opens it. The server answers with the same, without
/// the secret.
struct Hello {
  static constexpr std::uint64_t kMagic = 0x316568636143'6d74;  ///< "tmCache1"
  std::uint64_t magic = kMagic;
  Secret secret = {};
  std::int64_t rank = 0;  ///< that the server has
};

enum class Kind : std::uint64_t {
  kGet = 1,  ///< is answered
  kPut,      ///< is not; the sample follows
  kHere,     ///< the sample follows
  kAbsent,   ///< it would not be kept, either
  kWanted    ///< absent, but it may be kept if it is put
};
struct Message {
  Kind kind = Kind::kGet;
  std::int64_t index = 0;
  std::int64_t next_use = 0;  ///< after this one
  std::int64_t size = 0;      ///< of the sample that follows
  std::uint64_t hash = 0;     ///< XXH3 of it
};

template <class T>
std::span<const std::byte> bytes_of(const T& message) {
  return std::as_bytes(std::span(&message, 1));
}
template <class T>
std::span<std::byte> bytes_of(T& message) {
  return std::as_writable_bytes(std::span(&message, 1));
}

/// How long a connection may stand still.
inline constexpr std::chrono::milliseconds kPatience{5'000};

/// Sends or receives all bytes; false when the connection ends or stands still for too long.
bool send_all(const base::Descriptor& socket, std::span<const std::byte> bytes);
bool receive_all(const base::Descriptor& socket, std::span<std::byte> bytes);
/// Makes sends, and receives that wait, give up when nothing moves for this long.
void limit_patience(const base::Descriptor& socket, std::chrono::milliseconds patience);

/// Whose addresses a server may be reached at.
enum class Reach { kThisHost, kNetwork };
/// Listens at a free port, which it stores. Throws SystemError.
base::Descriptor listen_anywhere(Reach reach, std::uint16_t& port);
/// Numeric addresses of this host on its networks; none of the loopback interface.
std::vector<std::string> network_addresses();
inline constexpr const char* kThisHost = "127.0.0.1";
/// Empty if no connection can be made soon.
base::Descriptor connect_to(const std::string& address, std::uint16_t port,
                            std::chrono::milliseconds patience);

}  // namespace cache
