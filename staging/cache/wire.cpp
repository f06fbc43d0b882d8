// What ranks send each other of their caches, over TCP.
#include "staging/cache/wire.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "runner/base/error.h"

namespace cache {
namespace {

void set_option(const base::Descriptor& socket, int level, int name, int value) {
  ::setsockopt(socket.get(), level, name, &value, sizeof value);
}

/// Without dependence on a resolver. Null if `text` is no address.
std::unique_ptr<addrinfo, void (*)(addrinfo*)> numeric(const char* text, const std::string& port,
                                                       int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | flags;
  addrinfo* found = nullptr;
  if (::getaddrinfo(text, port.c_str(), &hints, &found) != 0) found = nullptr;
  return {found, [](addrinfo* list) {
            if (list != nullptr) ::freeaddrinfo(list);
          }};
}

base::Descriptor listen_at(const char* address) {
  const auto where = numeric(address, "0", AI_PASSIVE);
  if (!where) return base::Descriptor();
  base::Descriptor socket(
      ::socket(where->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return socket;
  if (where->ai_family == AF_INET6) set_option(socket, IPPROTO_IPV6, IPV6_V6ONLY, 0);
  if (::bind(socket.get(), where->ai_addr, where->ai_addrlen) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0) {
    return base::Descriptor();
  }
  return socket;
}

std::uint16_t port_of(const base::Descriptor& socket) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound), &size) != 0) return 0;
  return ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(bound).sin6_port
                                           : reinterpret_cast<const sockaddr_in&>(bound).sin_port);
}

/// Whether a connection that was begun is there.
bool is_connected(const base::Descriptor& socket, std::chrono::milliseconds patience) {
  pollfd wait = {socket.get(), POLLOUT, 0};
  if (::poll(&wait, 1, static_cast<int>(patience.count())) != 1) return false;
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

}  // namespace

Secret random_secret() {
  Secret secret{};
  if (::getrandom(secret.data(), sizeof secret, 0) != static_cast<ssize_t>(sizeof secret)) {
    throw base::system_error("cache: no random bits", errno);
  }
  return secret;
}

bool send_all(const base::Descriptor& socket, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
  return true;
}

bool receive_all(const base::Descriptor& socket, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = ::recv(socket.get(), bytes.data(), bytes.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
  return true;
}

void limit_patience(const base::Descriptor& socket, std::chrono::milliseconds patience) {
  const timeval limit = {patience.count() / 1000, patience.count() % 1000 * 1000};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
}

base::Descriptor listen_anywhere(Reach reach, std::uint16_t& port) {
  base::Descriptor socket = listen_at(reach == Reach::kThisHost ? kThisHost : "::");
  if (!socket) socket = listen_at(reach == Reach::kThisHost ? "::1" : "0.0.0.0");
  if (!socket) throw base::system_error("cache: cannot listen for other ranks", errno);
  port = port_of(socket);
  return socket;
}

std::vector<std::string> network_addresses() {
  ifaddrs* list = nullptr;
  std::vector<std::string> found, later;
  if (::getifaddrs(&list) != 0) return found;
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    const bool is_up = (one->ifa_flags & IFF_UP) != 0,
               is_own = (one->ifa_flags & IFF_LOOPBACK) != 0;
    if (one->ifa_addr == nullptr || !is_up || is_own) continue;
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (one->ifa_addr->sa_family == AF_INET) {
      const auto& address = reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr;
      found.emplace_back(::inet_ntop(AF_INET, &address, text.data(), text.size()));
    } else if (one->ifa_addr->sa_family == AF_INET6) {
      const auto& address = reinterpret_cast<const sockaddr_in6*>(one->ifa_addr)->sin6_addr;
      if (IN6_IS_ADDR_LINKLOCAL(&address)) continue;  // has a meaning on one link only
      later.emplace_back(::inet_ntop(AF_INET6, &address, text.data(), text.size()));
    }
  }
  ::freeifaddrs(list);
  found.insert(found.end(), later.begin(), later.end());
  return found;
}

base::Descriptor connect_to(const std::string& address, std::uint16_t port,
                            std::chrono::milliseconds patience) {
  const auto where = numeric(address.c_str(), std::to_string(port), 0);
  if (!where) return base::Descriptor();
  base::Descriptor socket(
      ::socket(where->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return socket;
  const int begun = ::connect(socket.get(), where->ai_addr, where->ai_addrlen);
  if (begun != 0 && (errno != EINPROGRESS || !is_connected(socket, patience))) {
    return base::Descriptor();
  }
  const int flags = ::fcntl(socket.get(), F_GETFL);
  if (::fcntl(socket.get(), F_SETFL, flags & ~O_NONBLOCK) != 0) return base::Descriptor();
  return socket;
}

}  // namespace cache
