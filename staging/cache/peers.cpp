// The caches of the other ranks, as one rank sees them.
#include "staging/cache/peers.h"

#include <fmt/core.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "staging/hash.h"

namespace cache {
namespace {

/// Of one address: a wrong one should not delay the next for long.
constexpr std::chrono::milliseconds kConnectPatience{1'000};

/// Whether the other end has closed a connection on which nothing is to be received.
bool is_closed(const base::Descriptor& socket) {
  std::byte any{};
  const ssize_t got = ::recv(socket.get(), &any, 1, MSG_PEEK | MSG_DONTWAIT);
  return got >= 0 || (errno != EAGAIN && errno != EINTR);
}

}  // namespace

Peers::Peers(std::vector<PeerAddress> addresses, const Secret& secret, std::int64_t sample_bytes,
             std::chrono::milliseconds patience)
    : addresses_(std::move(addresses)),
      secret_(secret),
      sample_bytes_(sample_bytes),
      patience_(patience) {
  for (std::size_t i = 0; i < addresses_.size(); ++i) links_.push_back(std::make_unique<Link>());
}

base::Descriptor Peers::connect(int rank) const {
  const PeerAddress& to = addresses_[static_cast<std::size_t>(rank)];
  for (const std::string& host : to.hosts) {
    base::Descriptor socket = connect_to(host, to.port, kConnectPatience);
    if (!socket) continue;
    limit_patience(socket, patience_);
    // The address may lead to another host than it does on that rank's.
    const Hello hello = {.secret = secret_, .rank = rank};
    Hello answer;
    if (send_all(socket, bytes_of(hello)) && receive_all(socket, bytes_of(answer)) &&
        answer.magic == Hello::kMagic && answer.rank == rank) {
      return socket;
    }
  }
  return base::Descriptor();
}

bool Peers::is_given_up(const Link& link) const {
  return link.has_failed || (reached_ == 0 && failed_ >= kTries);
}

bool Peers::is_ready(int rank, Link& link) {
  // A server closes connections when it has too many.
  if (link.socket && is_closed(link.socket)) link.socket = base::Descriptor();
  if (link.socket) return true;
  link.socket = connect(rank);
  if (!link.socket) return false;
  ++reached_;
  return true;
}

bool Peers::try_get(const Link& link, const Message& asked, Message& told,
                    std::vector<std::byte>& out) const {
  if (!send_all(link.socket, bytes_of(asked)) || !receive_all(link.socket, bytes_of(told))) {
    return false;
  }
  if (told.index != asked.index) return false;
  if (told.kind == Kind::kAbsent || told.kind == Kind::kWanted) return told.size == 0;
  if (told.kind != Kind::kHere || told.size < 0 || told.size > sample_bytes_) return false;
  out.resize(static_cast<std::size_t>(told.size));
  return receive_all(link.socket, out) && staging::hash_of(out) == told.hash;
}

void Peers::give_up(int rank, Link& link) {
  link.has_failed = true;
  ++failed_;
  link.socket = base::Descriptor();
  remark_.note(fmt::format(
      "cache: rank {} on {} does not answer as expected; what it keeps is read from the source",
      rank, addresses_[static_cast<std::size_t>(rank)].name));
}

Peers::Answer Peers::get(int rank, std::int64_t index, std::int64_t next_use,
                         std::vector<std::byte>& out) {
  Link& link = *links_[static_cast<std::size_t>(rank)];
  const std::scoped_lock lock(link.mutex);
  if (is_given_up(link)) return Answer::kAbsent;
  const Message asked = {.kind = Kind::kGet, .index = index, .next_use = next_use};
  Message told;
  if (!is_ready(rank, link) || !try_get(link, asked, told, out)) {
    give_up(rank, link);
    return Answer::kAbsent;
  }
  if (told.kind == Kind::kHere) return Answer::kHere;
  return told.kind == Kind::kWanted ? Answer::kWanted : Answer::kAbsent;
}

void Peers::put(int rank, std::int64_t index, std::span<const std::byte> bytes,
                std::int64_t next_use) {
  if (bytes.empty() || std::ssize(bytes) > sample_bytes_) return;
  Link& link = *links_[static_cast<std::size_t>(rank)];
  const std::scoped_lock lock(link.mutex);
  if (is_given_up(link)) return;
  const Message offered = {Kind::kPut, index, next_use, std::ssize(bytes), staging::hash_of(bytes)};
  if (!is_ready(rank, link) || !send_all(link.socket, bytes_of(offered)) ||
      !send_all(link.socket, bytes)) {
    give_up(rank, link);
  }
}

}  // namespace cache
