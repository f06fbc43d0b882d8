// The members of a run set. Signs of life are compared on the file system's own clock.
#include "runner/set_members.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <thread>

#include "runner/base/descriptor.h"
#include "runner/base/exclusive_file.h"
#include "runner/base/make_folder.h"
#include "runner/base/replaced_file.h"
#include "runner/log_ending.h"
#include "runner/result_files.h"

namespace runner {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kNsPerS = 1000000000;
/// An owner is alive if its last sign of life is at most this many beats old.
constexpr double kFreshBeats = 3.0;
/// How many beats an owner is watched before it is taken for dead, since a network file system may
/// report an old time.
constexpr double kWatchedBeats = 2.0;

std::int64_t ns_of(double seconds) { return static_cast<std::int64_t>(seconds * 1e9); }

/// The open file's modification time on the file system's clock. NFS asks the server for it only
/// for an open file.
std::int64_t modified_ns(int file) {
  struct stat facts {};
  if (::fstat(file, &facts) != 0) return 0;
  return std::int64_t{facts.st_mtim.tv_sec} * kNsPerS + facts.st_mtim.tv_nsec;
}

/// 0 if there is no such file.
std::int64_t modified_ns(const std::string& path) {
  const base::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  return file ? modified_ns(file.get()) : 0;
}

std::string log_of(const std::string& folder, std::int64_t result) {
  return fmt::format("{}/result_{}.txt", folder, result);
}

}  // namespace

/// Modifies a file periodically, to show others that this process is alive.
class MemberClaim::Heart {
 public:
  Heart(std::string path, double beat_s)
      : path_(std::move(path)),
        beat_(beat_s),
        file_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666)) {
    if (!file_) throw base::system_error(path_ + ": cannot be opened for writing", errno);
    beat();
    thread_ = std::thread([this] { work(); });
  }
  ~Heart() {
    {
      const std::scoped_lock lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
    ::unlink(path_.c_str());
  }
  Heart(const Heart&) = delete;
  Heart& operator=(const Heart&) = delete;

 private:
  /// Ignores errors, as the next beat tries again: a temporarily full disk must not end the run.
  void beat() {
    const std::string text = fmt::format("{}\n", ++count_);
    if (::pwrite(file_.get(), text.data(), text.size(), 0) > 0) ::fsync(file_.get());
  }
  void work() {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, std::chrono::duration<double>(beat_),
                              [this] { return ending_; })) {
      lock.unlock();
      beat();
      lock.lock();
    }
  }

  const std::string path_;
  const double beat_;
  const base::Descriptor file_;
  std::int64_t count_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;
  std::thread thread_;
};

MemberClaim::MemberClaim(std::string folder, Attempt attempt, double beat_s)
    : folder_(std::move(folder)),
      attempt_(std::move(attempt)),
      heart_(std::make_unique<Heart>(
          attempt_path(folder_, attempt_.member, attempt_.number, kAliveFile), beat_s)) {}
MemberClaim::~MemberClaim() {
  if (heart_ == nullptr) return;  // moved from
  ::unlink(attempt_path(folder_, attempt_.member, attempt_.number, kReadyFile).c_str());
}
MemberClaim::MemberClaim(MemberClaim&&) noexcept = default;
MemberClaim& MemberClaim::operator=(MemberClaim&&) noexcept = default;

void MemberClaim::write() const {
  base::replace_file(attempt_path(folder_, attempt_.member, attempt_.number, kAttemptFile),
                     to_text(attempt_));
}

void MemberClaim::set_result(std::int64_t number) {
  attempt_.result = number;
  write();
}

void MemberClaim::finish(const MemberEnd& end) {
  attempt_.end = end;
  write();
}

void MemberClaim::set_ready() {
  base::replace_file(attempt_path(folder_, attempt_.member, attempt_.number, kReadyFile),
                     "ready\n");
}

bool MemberClaim::is_superseded() const {
  std::error_code error;
  return fs::exists(attempt_path(folder_, attempt_.member, attempt_.number + 1, kAttemptFile),
                    error);
}

const char* to_string(MemberState state) {
  switch (state) {
    case MemberState::kWaiting:
      return "waiting";
    case MemberState::kRunning:
      return "running";
    case MemberState::kCutOff:
      return "cut_off";
    case MemberState::kFinished:
      return "finished";
  }
  return "unknown";
}

SetMembers::SetMembers(std::string folder, std::int64_t runs, const base::Clock& clock,
                       SetTimes times)
    : folder_(std::move(folder)), runs_(runs), clock_(clock), times_(times) {
  base::make_folder(folder_ + "/set");
}

std::map<std::int64_t, std::int64_t> SetMembers::newest_attempts(const char* ending) const {
  std::map<std::int64_t, std::int64_t> newest;
  const std::string set = folder_ + "/set";
  std::error_code error;
  for (fs::directory_iterator it(set, error), end; !error && it != end; it.increment(error)) {
    const auto name = parse_attempt_name(it->path().filename().string());
    if (!name || name->ending != ending) continue;
    newest[name->member] = std::max(newest[name->member], name->number);
  }
  if (error) throw base::system_error("cannot list " + set, error.value());
  return newest;
}

std::vector<Member> SetMembers::look() {
  const auto newest = newest_attempts(kAttemptFile);
  std::vector<Member> members;
  for (std::int64_t number = 1; number <= runs_; ++number) {
    const auto found = newest.find(number);
    members.push_back(member_of(number, found == newest.end() ? 0 : found->second));
  }
  return members;
}

std::vector<std::int64_t> SetMembers::not_ready() const {
  const auto ready = newest_attempts(kReadyFile), newest = newest_attempts(kAttemptFile);
  std::vector<std::int64_t> numbers;
  for (std::int64_t number = 1; number <= runs_; ++number) {
    const auto has = ready.find(number), last = newest.find(number);
    const bool is_ready = has != ready.end() && last != newest.end() && has->second == last->second;
    if (!is_ready) numbers.push_back(number);
  }
  return numbers;
}

Member SetMembers::look(std::int64_t number) {
  return member_of(number, newest_attempts(kAttemptFile)[number]);
}

Member SetMembers::member_of(std::int64_t number, std::int64_t attempt) {
  Member member;
  member.number = number;
  if (attempt == 0) return member;
  const std::string path = attempt_path(folder_, number, attempt, kAttemptFile);
  const auto text = base::read_created(path);
  if (!text) throw base::DataError(path + ": expected an attempt, found no file");
  member.last = parse_attempt(*text, path);
  if (member.last->end) {
    member.end = member.last->end;
  } else if (life_of(*member.last) != Life::kDead) {
    member.state = MemberState::kRunning;
    return member;
  } else {
    const LogEnding ending =
        member.last->result > 0 ? log_ending(log_of(folder_, member.last->result)) : LogEnding();
    const bool has_success = ending.status == "success";
    member.end =
        MemberEnd{has_success ? MemberStatus::kSuccess : MemberStatus::kStopped, ending.reason,
                  has_success ? base::ExitCode::kSuccess : base::ExitCode::kStopped};
    if (!has_success && ending.reason.empty()) {
      member.end->reason = to_text(member.last->owner) + " ended without a word";
    }
  }
  member.state = is_final(member.end->status) ? MemberState::kFinished : MemberState::kCutOff;
  return member;
}

std::int64_t SetMembers::file_system_now_ns() {
  if (!file_system_ahead_ns_) {
    const std::string path = folder_ + "/set/time." + base::unique_token();
    const base::Descriptor file(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!file) throw base::system_error(path + ": cannot be created", errno);
    file_system_ahead_ns_ = modified_ns(file.get()) - clock_.steady_ns();
    ::unlink(path.c_str());
  }
  return clock_.steady_ns() + *file_system_ahead_ns_;
}

Life SetMembers::life_of(const Attempt& attempt) {
  const Life here = life_from_here(attempt.owner);
  if (here != Life::kUnknown) return here;
  const std::int64_t modified =
      modified_ns(attempt_path(folder_, attempt.member, attempt.number, kAliveFile));
  const std::int64_t silent_ns = file_system_now_ns() - modified;
  if (silent_ns <= ns_of(kFreshBeats * times_.beat)) return Life::kAlive;
  const auto [seen, is_new] =
      silences_.try_emplace(attempt.owner.token, Silence{modified, clock_.steady_ns()});
  if (!is_new && seen->second.modified_ns != modified) {
    seen->second = {modified, clock_.steady_ns()};
  }
  const std::int64_t watched_ns = clock_.steady_ns() - seen->second.since_ns;
  const bool is_dead =
      silent_ns > ns_of(times_.silent) && watched_ns >= ns_of(kWatchedBeats * times_.beat);
  return is_dead ? Life::kDead : Life::kUnknown;
}

bool SetMembers::is_in_doubt(const Member& member) {
  return member.state == MemberState::kRunning && life_of(*member.last) == Life::kUnknown;
}

std::optional<MemberClaim> SetMembers::claim(const Member& member) {
  Attempt attempt;
  attempt.member = member.number;
  attempt.number = member.last ? member.last->number + 1 : 1;
  attempt.owner = this_process();
  attempt.started_ms = clock_.unix_ms();
  const std::string path = attempt_path(folder_, attempt.member, attempt.number, kAttemptFile);
  if (!base::create_exclusively(path, to_text(attempt))) return std::nullopt;
  MemberClaim claim(folder_, std::move(attempt), times_.beat);
  if (member.last && member.last->result > 0) move_cut_off(folder_, member.last->result);
  return claim;
}

std::vector<Member> to_run(std::vector<Member> members) {
  std::erase_if(members, [](const Member& member) {
    return member.state != MemberState::kWaiting && member.state != MemberState::kCutOff;
  });
  std::stable_sort(members.begin(), members.end(), [](const Member& a, const Member& b) {
    const auto attempts = [](const Member& one) { return one.last ? one.last->number : 0; };
    return attempts(a) < attempts(b);
  });
  return members;
}

}  // namespace runner
