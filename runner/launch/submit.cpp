// Starts the scheduler's command.
#include "runner/launch/submit.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "runner/base/descriptor.h"
#include "runner/base/error.h"

extern char** environ;

namespace launch {
namespace {

/// An unlinked file with the text, positioned at its beginning.
base::Descriptor file_of(const std::string& text) {
  base::Descriptor file(memfd_create("job script", MFD_CLOEXEC));
  if (file.get() < 0) throw base::system_error("script: memfd_create", errno);
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = write(file.get(), text.data() + done, text.size() - done);
    if (count < 0) throw base::system_error("script: write", errno);
    done += static_cast<std::size_t>(count);
  }
  if (lseek(file.get(), 0, SEEK_SET) != 0) throw base::system_error("script: lseek", errno);
  return file;
}

pid_t start(const std::vector<std::string>& command, int input) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  pid_t process = 0;
  const int problem = posix_spawnp(&process, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (problem == ENOENT) {
    throw base::SystemError("script: " + command[0] +
                            ": no such command here; on a node from which jobs are submitted, "
                            "submit the script that --output writes");
  }
  if (problem != 0) throw base::system_error("script: " + command[0], problem);
  return process;
}

}  // namespace

void hand_over(const std::vector<std::string>& command, const std::string& script) {
  const base::Descriptor input = file_of(script);
  const pid_t process = start(command, input.get());
  int status = 0;
  while (waitpid(process, &status, 0) < 0) {
    if (errno != EINTR) throw base::system_error("script: waitpid", errno);
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  throw base::SystemError(
      WIFEXITED(status)
          ? fmt::format("script: {} refused the job: exit code {}", command[0], WEXITSTATUS(status))
          : fmt::format("script: {} was ended by signal {}", command[0], WTERMSIG(status)));
}

}  // namespace launch
