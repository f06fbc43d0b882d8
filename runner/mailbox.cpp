// Messages over UDP: sockets, the wire format, and the choice among rank 0's addresses.
#include "runner/mailbox.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <random>
#include <sstream>
#include <vector>

#include "runner/base/descriptor.h"
#include "runner/base/system_facts.h"
#include "runner/base/units.h"

namespace runner {
namespace {

/// The most addresses of rank 0 that are tried.
constexpr std::size_t kMostWays = 16;
/// Number of unanswered messages after which all addresses are tried again.
constexpr int kUnansweredLetters = 3;

/// A message in one datagram, smaller than any network's limit. Members are ordered so that there
/// is no padding; long texts are truncated.
struct Wire {
  std::uint64_t secret = 0;
  std::int64_t process = 0;
  double idle_s = 0.0;
  std::int32_t kind = 0, rank = 0;
  std::int32_t way = 0;  ///< index of the address used; rank 0 echoes it
  std::int32_t reserved = 0;
  std::array<char, 64> host{};
  std::array<char, 96> doing{};
  std::array<char, 32> call{};
  std::array<char, 768> text{};
};
static_assert(std::is_trivially_copyable_v<Wire> && sizeof(Wire) < 1200);

template <std::size_t kSize>
void put(const std::string& text, std::array<char, kSize>& field) {
  std::copy_n(text.begin(), std::min(text.size(), kSize - 1), field.begin());
}

template <std::size_t kSize>
std::string taken(const std::array<char, kSize>& field) {
  return {field.begin(), std::find(field.begin(), field.end(), '\0')};
}

Wire wire_of(const Message& message, std::uint64_t secret, std::int32_t way) {
  Wire wire;
  wire.secret = secret;
  wire.process = message.from.process;
  wire.idle_s = message.from.idle_s;
  wire.kind = static_cast<std::int32_t>(message.kind);
  wire.rank = message.from.rank;
  wire.way = way;
  put(message.from.host, wire.host);
  put(message.from.doing, wire.doing);
  put(message.from.call, wire.call);
  put(message.text, wire.text);
  return wire;
}

Message message_of(const Wire& wire) {
  return {static_cast<Message::Kind>(wire.kind),
          {wire.rank, static_cast<long>(wire.process), taken(wire.host), taken(wire.doing),
           taken(wire.call), wire.idle_s},
          taken(wire.text)};
}

sockaddr_in any_address() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  return address;
}

/// An empty handle if the system refuses a socket: then no messages are exchanged.
base::Descriptor open_socket() {
  base::Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const sockaddr_in address = any_address();
  if (socket &&
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    socket.reset();
  }
  return socket;
}

int port_of(const base::Descriptor& socket) {
  sockaddr_in address{};
  socklen_t size = sizeof(address);
  if (!socket || ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return 0;
  }
  return ntohs(address.sin_port);
}

/// This host's addresses that others can reach, in dotted form.
std::vector<std::string> addresses_of_host() {
  std::vector<std::string> found;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return found;
  for (const ifaddrs* one = all; one != nullptr && found.size() < kMostWays; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    if ((one->ifa_flags & IFF_UP) == 0 || (one->ifa_flags & IFF_LOOPBACK) != 0) continue;
    std::array<char, INET_ADDRSTRLEN> text{};
    const auto* address = reinterpret_cast<const sockaddr_in*>(one->ifa_addr);
    ::inet_ntop(AF_INET, &address->sin_addr, text.data(), text.size());
    found.emplace_back(text.data());
  }
  ::freeifaddrs(all);
  return found;
}

}  // namespace

struct Mailbox::State {
  explicit State(const Communicator& world)
      : size(world.size()), bell(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (size == 1) return;
    socket = open_socket();
    learn_root(world.broadcast(world.rank() == 0 ? directions() : "", 0));
    peers.resize(world.rank() == 0 ? static_cast<std::size_t>(size) : 0);
  }

  /// Rank 0's secret, port, host and addresses.
  std::string directions() const {
    std::random_device device;
    std::string text = fmt::format("{} {} {}", (std::uint64_t{device()} << 32U) | device(),
                                   port_of(socket), base::host_name());
    for (const std::string& address : addresses_of_host()) text += " " + address;
    return text;
  }

  void learn_root(const std::string& text) {
    std::istringstream in(text);
    std::uint16_t port = 0;
    std::string host;
    in >> secret >> port >> host;
    root = fmt::format("{}, UDP port {}", host, port);
    if (port == 0) return;
    std::vector<std::string> addresses;
    if (host == base::host_name()) addresses.emplace_back("127.0.0.1");
    for (std::string address; in >> address;) addresses.push_back(address);
    for (const std::string& address : addresses) {
      sockaddr_in place = any_address();
      place.sin_port = htons(port);
      if (::inet_pton(AF_INET, address.c_str(), &place.sin_addr) == 1) ways.push_back(place);
    }
  }

  void send(const Message& message, std::int32_t way, const sockaddr_in& to) const {
    const Wire wire = wire_of(message, secret, way);
    // A message that cannot be sent counts as lost.
    [[maybe_unused]] const auto sent = ::sendto(socket.get(), &wire, sizeof(wire), MSG_NOSIGNAL,
                                                reinterpret_cast<const sockaddr*>(&to), sizeof(to));
  }

  /// A message of this job, if the next datagram is one. Sets `drained` if there is no datagram.
  std::optional<Message> take(bool& drained);

  const int size;
  base::Descriptor socket, bell;
  std::uint64_t secret = 0;
  std::string root;
  std::vector<sockaddr_in> ways;  ///< rank 0's addresses
  std::int32_t good_way = -1;     ///< index of the address that brought a reply
  int unanswered = 0;
  struct Peer {
    sockaddr_in address{};
    std::int32_t way = -1;  ///< -1: has not written yet
  };
  std::vector<Peer> peers;  ///< on rank 0, by rank
};

std::optional<Message> Mailbox::State::take(bool& drained) {
  Wire wire;
  sockaddr_in sender{};
  socklen_t sender_size = sizeof(sender);
  const ssize_t got = ::recvfrom(socket.get(), &wire, sizeof(wire), MSG_TRUNC,
                                 reinterpret_cast<sockaddr*>(&sender), &sender_size);
  drained = got < 0;
  if (got != static_cast<ssize_t>(sizeof(wire)) || wire.secret != secret) return std::nullopt;
  if (wire.rank < 0 || wire.rank >= size || !std::isfinite(wire.idle_s)) return std::nullopt;
  if (wire.kind < 0 || wire.kind > static_cast<std::int32_t>(Message::Kind::kAsk)) {
    return std::nullopt;
  }
  if (!peers.empty()) {
    peers[static_cast<std::size_t>(wire.rank)] = {sender, std::max(wire.way, 0)};
  } else if (wire.way >= 0 && wire.way < static_cast<std::int32_t>(ways.size())) {
    good_way = wire.way;
    unanswered = 0;
  }
  return message_of(wire);
}

Mailbox::Mailbox(const Communicator& world) : state_(std::make_unique<State>(world)) {}
Mailbox::~Mailbox() = default;

void Mailbox::send_to_root(const Message& message) {
  State& state = *state_;
  if (!state.socket) return;
  const bool by_all = state.good_way < 0 || state.unanswered >= kUnansweredLetters;
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(state.ways.size()); ++i) {
    if (by_all || i == state.good_way)
      state.send(message, i, state.ways[static_cast<std::size_t>(i)]);
  }
  ++state.unanswered;
}

void Mailbox::send_to(int rank, const Message& message) {
  if (!state_->socket) return;
  const State::Peer& peer = state_->peers[static_cast<std::size_t>(rank)];
  if (peer.way >= 0) state_->send(message, peer.way, peer.address);
}

std::optional<Message> Mailbox::receive(double patience_s) {
  State& state = *state_;
  bool drained = !state.socket;
  while (!drained) {
    if (auto message = state.take(drained)) return message;
  }
  std::array<pollfd, 2> waits = {pollfd{state.bell.get(), POLLIN, 0},
                                 pollfd{state.socket.get(), POLLIN, 0}};
  const nfds_t count = state.socket ? 2 : 1;
  if (::poll(waits.data(), count, static_cast<int>(patience_s * base::kMsPerSecond)) <= 0)
    return std::nullopt;
  std::uint64_t rings = 0;
  if (::read(state.bell.get(), &rings, sizeof(rings)) > 0) return std::nullopt;
  return state.take(drained);
}

void Mailbox::wake() {
  const std::uint64_t ring = 1;
  [[maybe_unused]] const auto written = ::write(state_->bell.get(), &ring, sizeof(ring));
}

const std::string& Mailbox::root() const { return state_->root; }

}  // namespace runner
