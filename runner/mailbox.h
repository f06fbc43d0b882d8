// Short letters between rank 0's watching thread and those of the other ranks, beside MPI.
// Hides UDP, addresses, and what strangers may send.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runner/communicator.h"

namespace runner {

/// What a rank's watching thread says of its rank.
struct RankState {
  int rank = 0;
  long process = 0;
  std::string host;
  std::string doing;    ///< "training, step 57: exchange"
  std::string call;     ///< the collective call in which it waits for others; empty: it is at work
  double idle_s = 0.0;  ///< since its last sign of progress
};

struct Letter {
  enum class Kind : std::int32_t {
    kState,    ///< from a rank to rank 0, and rank 0's answer to it
    kFailure,  ///< to rank 0: `text` is why this rank is about to end the job
    kNoted,    ///< rank 0's answer to that
    kEnd,      ///< from rank 0: the job ends
    kAsk       ///< from rank 0: answer at once
  };
  Kind kind = Kind::kState;
  RankState from;
  std::string text;
};

/// Letters may be lost, as UDP loses them, and where UDP is blocked all are: nothing fails then.
class Mailbox {
 public:
  /// Collective: rank 0 tells where it can be reached, and a secret that letters must carry.
  explicit Mailbox(const Communicator& world);
  ~Mailbox();
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  /// On other ranks: to rank 0, by all of its addresses until one has brought an answer.
  void send_to_root(const Letter& letter);
  /// On rank 0: to a rank that has written before; else nothing is sent.
  void send_to(int rank, const Letter& letter);
  /// The next letter; nothing when none came for `patience_s` or wake() was called.
  std::optional<Letter> receive(double patience_s);
  /// Ends a receive(), now or the next. From any thread.
  void wake();
  /// Where rank 0 listens: "node7, UDP port 40123".
  const std::string& root() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace runner
