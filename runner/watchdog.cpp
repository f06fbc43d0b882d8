// The watching thread: its clock, its messages to other ranks, and ending the process while the
// main thread is stuck.
#include "runner/watchdog.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <future>
#include <mutex>
#include <span>
#include <system_error>
#include <thread>
#include <vector>

#include "runner/base/printable.h"
#include "runner/base/system_facts.h"
#include "runner/blocked_signals.h"
#include "runner/hang.h"
#include "runner/launcher_end.h"
#include "runner/longest_look.h"
#include "runner/mailbox.h"
#include "runner/mpi_calls.h"

namespace runner {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// Interval between two looks at this rank's own activity.
constexpr double kLookEveryS = 0.05;
/// A pause of kLongPauseS, at most kShortlyS before the job ends, explains why the other ranks
/// ended it.
constexpr double kLongPauseS = 3.0, kShortlyS = 3.0;
/// Messages sent within the permitted silence. With many ranks each sends fewer, to limit rank 0's
/// load, but enough that a few may be lost.
constexpr double kLettersPerSilence = 8.0, kFewestLetters = 4.0;
constexpr double kRankS = 1e-3;
/// The interval between messages if silence is unlimited.
constexpr double kLongestBeatS = 10.0, kBeatsPerHang = 10.0;
/// If more ranks than this are silent when the job is told to end, the launcher is ending them, and
/// none of them is the cause.
constexpr std::size_t kMostSilent = 2;
/// How long to wait for last words and reports when the main thread or a file system may be stuck.
constexpr std::chrono::seconds kLastWordsTime(2);
constexpr std::chrono::seconds kReportTime(1);
/// A main thread that calls no MPI has this long to end by itself after its launcher is lost.
constexpr double kAfterLastWordsS = 2.0;
/// Nobody kills ranks whose launcher is lost: less than the time that LostLauncher gives them.
constexpr double kLostLauncherGraceS = 25.0;
/// Rank 1 reports a silent rank 0; the others wait this long for it to do so.
constexpr double kDeferenceS = 2.0;

double time_between_letters(const WatchOptions& options, int ranks) {
  if (options.lost_s > 0) {
    return std::clamp(ranks * kRankS, options.lost_s / kLettersPerSilence,
                      options.lost_s / kFewestLetters);
  }
  return options.hang_s > 0 ? std::min(options.hang_s / kBeatsPerHang, kLongestBeatS)
                            : kLongestBeatS;
}

}  // namespace

class Watchdog::Watcher {
 public:
  using Say = std::function<void(const std::string&)>;

  Watcher(const Communicator& world, WatchOptions options)
      : rank_(world.rank()),
        size_(world.size()),
        options_(std::move(options)),
        activity_(world.activity()),
        mailbox_(world),
        beat_s_(time_between_letters(options_, size_)),
        others_(static_cast<std::size_t>(rank_ == 0 ? size_ : 1)),
        heard_at_s_(others_.size(), 0.0) {
    for (std::size_t i = 0; i < others_.size(); ++i) others_[i].state.rank = static_cast<int>(i);
    const BlockedSignals blocked;
    try {
      thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
    } catch (const std::system_error& e) {
      throw base::thread_error("watchdog", e);
    }
  }

  ~Watcher() {
    thread_.request_stop();
    mailbox_.wake();
  }
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  void set_last_words(Say say) {
    const std::lock_guard lock(words_mutex_);
    say_ = std::move(say);
  }

  void report(const std::string& message) {
    if (rank_ == 0) return;
    std::unique_lock lock(report_mutex_);
    failure_ = message;
    mailbox_.wake();
    noted_.wait_for(lock, kReportTime, [this] { return failure_.empty(); });
  }

 private:
  void watch(const std::stop_token& stop);
  double time_to_next_look() const;
  void pass_time();
  void take(const Message& message);
  void send_state();
  void send_failure();
  void check_launcher();
  double grace_s(StopSignal signal) const;
  void check_signal();
  std::string silent_text() const;
  std::string pause_text() const;
  void judge();
  void say_last_words(const std::string& reason);
  [[noreturn]] void end(const std::string& reason);
  RankState own_state() const;
  std::vector<Seen> all_seen() const;

  const int rank_, size_;
  const pid_t launcher_ = parent_launcher();  ///< 0: unknown
  const WatchOptions options_;
  const base::Activity& activity_;
  Mailbox mailbox_;
  const double beat_s_;
  SteadyClock::time_point looked_at_ = SteadyClock::now();
  double now_s_ = 0.0;  ///< the time during which this rank was able to watch
  std::uint64_t count_ = 0;
  double progress_at_s_ = 0.0, beat_at_s_ = 0.0;
  double lost_at_s_ = -1.0;  ///< when the launcher was seen to be gone; negative: it is there
  double told_at_s_ = -1.0;  ///< when this rank was told to end; negative: not yet
  double pause_s_ = 0.0;     ///< the last long pause between two looks
  double paused_at_s_ = 0.0;
  /// On rank 0 all ranks, itself included; elsewhere only rank 0.
  std::vector<Seen> others_;
  std::vector<double> heard_at_s_;

  std::mutex words_mutex_;
  Say say_;
  std::mutex report_mutex_;
  std::condition_variable noted_;
  std::string failure_;  ///< to be reported to rank 0; empty: none, or acknowledged
  std::jthread thread_;  ///< last: joined before the members that it uses are destroyed
};

void Watchdog::Watcher::watch(const std::stop_token& stop) {
  send_state();
  while (!stop.stop_requested()) {
    const auto message = mailbox_.receive(time_to_next_look());
    pass_time();
    if (message) take(*message);
    send_failure();
    check_launcher();
    check_signal();
    if (now_s_ - beat_at_s_ < beat_s_) continue;
    send_state();
    judge();
  }
}

/// The grace is short, and a look too late may not happen.
double Watchdog::Watcher::time_to_next_look() const {
  if (told_at_s_ < 0 || now_s_ > told_at_s_ + options_.grace_s) return kLookEveryS;
  return std::min(kLookEveryS, told_at_s_ + options_.grace_s - now_s_);
}

void Watchdog::Watcher::pass_time() {
  const auto now = SteadyClock::now();
  const std::chrono::duration<double> passed = now - looked_at_;
  looked_at_ = now;
  now_s_ += std::min(passed.count(), kLongestLookS);
  if (passed.count() >= kLongPauseS) {
    pause_s_ = passed.count();
    paused_at_s_ = now_s_;
  }
  const std::uint64_t count = activity_.look().count;
  if (count != count_) progress_at_s_ = now_s_;
  count_ = count;
}

void Watchdog::Watcher::take(const Message& message) {
  if (message.kind == Message::Kind::kEnd && rank_ != 0) {
    std::_Exit(static_cast<int>(base::ExitCode::kSystem));
  }
  if (message.kind == Message::Kind::kNoted) {
    const std::lock_guard lock(report_mutex_);
    failure_.clear();
    noted_.notify_all();
    return;
  }
  const auto sender = static_cast<std::size_t>(message.from.rank);
  if (sender >= others_.size()) return;  // only rank 0 writes to other ranks
  if (message.kind == Message::Kind::kAsk) send_state();
  others_[sender] = {message.from, true, 0.0};
  heard_at_s_[sender] = now_s_;
  if (rank_ != 0) return;
  Message answer{Message::Kind::kState, own_state(), {}};
  if (message.kind == Message::Kind::kFailure) {
    say_last_words(fmt::format("rank {}: {}", message.from.rank, message.text));
    answer.kind = Message::Kind::kNoted;
  }
  mailbox_.send_to(message.from.rank, answer);
}

RankState Watchdog::Watcher::own_state() const {
  const base::Activity::Snapshot seen = activity_.look();
  return {rank_,
          static_cast<long>(::getpid()),
          base::host_name(),
          doing_text(seen),
          seen.call == nullptr ? "" : seen.call,
          now_s_ - progress_at_s_};
}

void Watchdog::Watcher::send_state() {
  beat_at_s_ = now_s_;
  if (rank_ != 0) mailbox_.send_to_root({Message::Kind::kState, own_state(), {}});
}

void Watchdog::Watcher::send_failure() {
  const std::lock_guard lock(report_mutex_);
  if (!failure_.empty()) {
    mailbox_.send_to_root({Message::Kind::kFailure, own_state(), failure_});
  }
}

/// Open MPI 4 ends the process itself (see LostLauncher). Open MPI 5 does so on the main thread, at
/// its next call, and waits first (does_abort_wait()): last words are said here, and the process
/// ends.
void Watchdog::Watcher::check_launcher() {
  if (launcher_ == 0 || (lost_at_s_ < 0 && ::getppid() == launcher_)) return;
  if (lost_at_s_ < 0) {
    lost_at_s_ = now_s_;
    tell_of_lost_launcher();
  }
  if (does_abort_wait() && now_s_ - lost_at_s_ > options_.grace_s + kAfterLastWordsS) {
    end(fmt::format("the launcher is lost, during {}", doing_text(activity_.look())));
  }
}

double Watchdog::Watcher::grace_s(StopSignal signal) const {
  const bool is_let_be = signal == StopSignal::kLostLauncher && !does_abort_wait();
  return is_let_be ? kLostLauncherGraceS : options_.grace_s;
}

void Watchdog::Watcher::check_signal() {
  if (rank_ != 0 || options_.grace_s <= 0 || !options_.told_to_end) return;
  const StopSignal signal = options_.told_to_end();
  if (signal == StopSignal::kNone || signal == StopSignal::kSaveAndEnd) return;
  if (told_at_s_ < 0) {
    told_at_s_ = now_s_;
    for (int rank = 1; rank < size_; ++rank) {
      mailbox_.send_to(rank, {Message::Kind::kAsk, own_state(), {}});
    }
  }
  if (now_s_ - told_at_s_ < grace_s(signal)) return;
  say_last_words(fmt::format("told to end by {} during {}{}", to_string(signal),
                             doing_text(activity_.look()),
                             pause_text().empty() ? silent_text() : pause_text()));
}

std::string Watchdog::Watcher::pause_text() const {
  if (pause_s_ <= 0.0 || told_at_s_ - paused_at_s_ > kShortlyS) return "";
  return fmt::format(
      "; before that, rank 0 was stopped or had no CPU time for {:.0f} s, so that the other ranks "
      "may have ended the job",
      pause_s_);
}

std::string Watchdog::Watcher::silent_text() const {
  std::string text;
  std::size_t silent = 0;
  for (std::size_t i = 1; i < others_.size(); ++i) {
    if (!others_[i].heard || heard_at_s_[i] >= told_at_s_) continue;
    const RankState& state = others_[i].state;
    text += fmt::format("; rank {} (host {}, process {}) does not answer any more", state.rank,
                        state.host, state.process);
    ++silent;
  }
  return silent <= kMostSilent ? text : "";
}

std::vector<Seen> Watchdog::Watcher::all_seen() const {
  std::vector<Seen> seen = others_;
  for (std::size_t i = 0; i < seen.size(); ++i) seen[i].silent_s = now_s_ - heard_at_s_[i];
  const Seen self{own_state(), true, 0.0};
  if (rank_ == 0) {
    seen[0] = self;
  } else {
    seen.push_back(self);
  }
  return seen;
}

void Watchdog::Watcher::judge() {
  Judge judge{options_.hang_s, options_.lost_s, base::host_name(), mailbox_.root()};
  if (rank_ != 0) {
    const double deference_s = rank_ > 1 ? kDeferenceS : 0.0;
    if (judge.hang_s > 0) judge.hang_s += deference_s;
    if (judge.lost_s > 0) judge.lost_s += deference_s;
    const double patience_s = judge.lost_s > 0 ? judge.lost_s : judge.hang_s / 2;
    const bool root_is_heard = others_[0].heard && now_s_ - heard_at_s_[0] < patience_s;
    if (root_is_heard) return;  // rank 0 knows more and will report
  }
  const std::string reason = find_hang(all_seen(), judge);
  if (!reason.empty()) end(reason);
}

void Watchdog::Watcher::say_last_words(const std::string& reason) {
  const std::lock_guard lock(words_mutex_);
  if (!say_) return;
  const Say say = std::exchange(say_, nullptr);
  try {
    say(reason);
  } catch (const std::exception& e) {
    // This is not why the job ends.
    const std::string line =
        fmt::format("rank {}: the log is left as it is: {}\n", rank_, base::printable(e.what()));
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
  }
}

void Watchdog::Watcher::end(const std::string& reason) {
  const std::string shown = base::printable(reason);
  const std::string line = size_ == 1 ? fmt::format("trainmark: {}\n", shown)
                                      : fmt::format("rank {}: {}\n", rank_, shown);
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
  // Not MPI_Abort: another thread may be in MPI, which takes calls of one at a time. The launcher
  // sees this exit.
  if (rank_ == 0) {
    // The log's file system may be what hangs: the process ends in any case.
    std::packaged_task<void()> words([this, reason] { say_last_words(reason); });
    const auto said = words.get_future();
    std::thread(std::move(words)).detach();
    said.wait_for(kLastWordsTime);
    for (int rank = 1; rank < size_; ++rank) mailbox_.send_to(rank, {Message::Kind::kEnd, {}, {}});
    if (size_ > 1) kill_launcher_if_it_hangs();
  }
  std::_Exit(static_cast<int>(base::ExitCode::kSystem));
}

WatchOptions watch_options(const WatchLimits& limits, std::function<StopSignal()> told_to_end) {
  return {static_cast<double>(limits.hang_timeout_s), static_cast<double>(limits.lost_timeout_s),
          std::move(told_to_end)};
}

Watchdog::Watchdog(const Communicator& world, WatchOptions options)
    : watcher_(std::make_unique<Watcher>(world, std::move(options))) {}

Watchdog::~Watchdog() = default;

void Watchdog::report_failure(const std::string& message) { watcher_->report(message); }

Watchdog::LastWords::LastWords(Watchdog* watchdog,
                               std::function<void(const std::string& reason)> say)
    : watchdog_(watchdog) {
  if (watchdog_ != nullptr) watchdog_->watcher_->set_last_words(std::move(say));
}

Watchdog::LastWords::~LastWords() {
  if (watchdog_ != nullptr) watchdog_->watcher_->set_last_words(nullptr);
}

}  // namespace runner
