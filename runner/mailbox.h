// Short messages outside MPI, over UDP, between rank 0's watching thread and those of the other
// ranks.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runner/communicator.h"

namespace runner {

/// A rank's state as its watching thread reports it.
struct RankState {
  int rank = 0;
  long process = 0;
  std::string host;
  std::string doing;    ///< "training, step 57: exchange"
  std::string call;     ///< the collective call in which it waits for others; empty: it is working
  double idle_s = 0.0;  ///< time since its last progress
};

struct Message {
  enum class Kind : std::int32_t {
    kState,    ///< from a rank to rank 0, and rank 0's reply
    kFailure,  ///< to rank 0: `text` is why this rank is about to end the job
    kNoted,    ///< rank 0's reply to kFailure
    kEnd,      ///< from rank 0: the job ends
    kAsk       ///< from rank 0: reply at once
  };
  Kind kind = Kind::kState;
  RankState from;
  std::string text;
};

/// Messages may be lost, like any UDP datagram; if UDP is blocked all are, and no call fails.
class Mailbox {
 public:
  /// Collective: rank 0 broadcasts its addresses and a secret that every message must carry.
  explicit Mailbox(const Communicator& world);
  ~Mailbox();
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  /// On other ranks: sends to rank 0, by all of its addresses until one has brought a reply.
  void send_to_root(const Message& message);
  /// On rank 0: sends to a rank that has written before; otherwise does nothing.
  void send_to(int rank, const Message& message);
  /// The next message; nothing if none arrived within `patience_s` or wake() was called.
  std::optional<Message> receive(double patience_s);
  /// Ends the current receive(), or the next one. Callable from any thread.
  void wake();
  /// The address where rank 0 listens: "node7, UDP port 40123".
  const std::string& root() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace runner
