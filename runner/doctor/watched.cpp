// A child process and the two pipes from it.
#include "runner/doctor/watched.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <exception>
#include <iostream>
#include <string_view>

#include "runner/base/descriptor.h"
#include "runner/base/error.h"
#include "runner/base/output_options.h"
#include "runner/base/printable.h"

namespace doctor {
namespace {

using base::Descriptor;
using Time = std::chrono::steady_clock;

constexpr char kStage = 'S', kResult = 'R', kEnd = 'E';
/// Captured stderr output beyond this size is dropped.
constexpr std::size_t kMostComplaints = 16384;

struct Pipe {
  Descriptor from, to;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw base::system_error("pipe", errno);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

void write_all(int to, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(to, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

[[noreturn]] void be_child(const std::function<int(const Reporter&)>& work, pid_t parent,
                           Pipe& report, Pipe& complaints) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);  // the parent died before prctl
  const Descriptor own_stderr(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0));
  ::dup2(complaints.to.get(), STDERR_FILENO);
  complaints = {};
  int status = static_cast<int>(base::ExitCode::kInternal);
  const Reporter reporter(report.to.get(), own_stderr.get());
  try {
    status = work(reporter);
    // The parent's stream has none of this child's output, so only the child can see it lost.
    base::end_output(std::cout);
  } catch (const std::exception& e) {
    const base::Failure failure = base::failure_of(e);
    status = static_cast<int>(failure.code);
    reporter.give_back_stderr();
    std::cerr << "trainmark: " << base::printable(failure.message) << '\n';
  }
  std::cout << std::flush;
  std::cerr << std::flush;
  write_all(report.to.get(), std::string(1, kEnd) + '\n');
  ::_exit(status);
}

/// Reads available bytes; returns whether there may be more.
bool read_some(int from, std::string& text) {
  std::array<char, 65536> piece{};
  const ssize_t count = ::read(from, piece.data(), piece.size());
  if (count < 0) return errno == EINTR || errno == EAGAIN;
  text.append(piece.data(), static_cast<std::size_t>(count));
  return count > 0;
}

/// Parses a child's messages, line by line.
class Story {
 public:
  /// Consumes complete lines of `text`; returns whether there were any.
  bool take(std::string& text, Outcome& outcome) {
    bool is_new = false;
    for (std::size_t end = 0; (end = text.find('\n')) != std::string::npos;) {
      const std::string line = text.substr(0, end);
      text.erase(0, end + 1);
      if (line.empty()) continue;
      if (line[0] == kStage) outcome.stage = line.substr(1);
      if (line[0] == kResult) outcome.result = line.substr(1);
      if (line[0] == kEnd) has_ended_ = true;
      is_new = true;
    }
    return is_new;
  }
  bool has_ended() const { return has_ended_; }

 private:
  bool has_ended_ = false;
};

/// Returns true when the child has closed its pipe ends, false if it stayed too long in one stage.
bool listen(const Pipe& report, const Pipe& complaints, double patience_s, Story& story,
            Outcome& outcome) {
  const auto patience =
      std::chrono::duration_cast<Time::duration>(std::chrono::duration<double>(patience_s));
  Time::time_point end = Time::now() + patience;
  std::string text;
  bool open = true;
  std::array<pollfd, 2> waited{
      {{report.from.get(), POLLIN, 0}, {complaints.from.get(), POLLIN, 0}}};
  while (open) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Time::now()).count();
    if (left <= 0) return false;
    if (::poll(waited.data(), waited.size(), static_cast<int>(std::min<long>(left, 1000))) <= 0) {
      continue;
    }
    if (waited[0].revents != 0) {
      open = read_some(report.from.get(), text);
      if (story.take(text, outcome)) end = Time::now() + patience;
    }
    if (waited[1].revents != 0) {
      std::string more;
      if (!read_some(complaints.from.get(), more)) waited[1].fd = -1;
      if (outcome.complaints.size() < kMostComplaints) outcome.complaints += more;
    }
  }
  while (waited[1].fd >= 0 && ::poll(&waited[1], 1, 100) > 0) {
    std::string more;
    if (!read_some(complaints.from.get(), more)) break;
    if (outcome.complaints.size() < kMostComplaints) outcome.complaints += more;
  }
  return true;
}

}  // namespace

void Reporter::send(char kind, const std::string& text) const {
  std::string line = kind + text;
  std::ranges::replace(line, '\n', ' ');
  write_all(channel_, line + '\n');
}
void Reporter::stage(const std::string& what) const { send(kStage, what); }
void Reporter::result(const std::string& text) const { send(kResult, text); }
void Reporter::give_back_stderr() const {
  std::fflush(stderr);
  ::dup2(own_stderr_, STDERR_FILENO);
}

Outcome run_watched(const std::function<int(const Reporter&)>& work, double patience_s) {
  Pipe report = make_pipe(), complaints = make_pipe();
  std::cout << std::flush;
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) throw base::system_error("fork", errno);
  if (child == 0) {
    report.from = Descriptor(-1);
    be_child(work, parent, report, complaints);
  }
  report.to = Descriptor(-1);
  complaints.to = Descriptor(-1);
  Outcome outcome;
  Story story;
  const bool in_time = listen(report, complaints, patience_s, story, outcome);
  if (!in_time) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!in_time) {
    outcome.end = Outcome::End::kTimedOut;
  } else if (story.has_ended() && WIFEXITED(status)) {
    outcome.status = WEXITSTATUS(status);
  } else {
    outcome.end = Outcome::End::kDied;
  }
  return outcome;
}

}  // namespace doctor
