// Of many processes that create a file, one succeeds.
#include "runner/base/exclusive_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "runner/base/content.h"
#include "runner/base/error.h"
#include "runner/base/temporary_directory.h"

namespace {

namespace fs = std::filesystem;
using Create = std::function<bool(const std::string&, std::string_view)>;

/// For each file, how many of 16 processes were told that they created it; -1 if one failed.
std::vector<int> winners(const fs::path& folder, int files, const Create& create) {
  constexpr int kProcesses = 16;
  std::vector<pid_t> children;
  int start[2];
  if (::pipe(start) != 0) return {};
  for (int process = 0; process < kProcesses; ++process) {
    const pid_t child = ::fork();
    if (child != 0) {
      children.push_back(child);
      continue;
    }
    char byte = 0;
    ::close(start[1]);
    if (::read(start[0], &byte, 1) != 0) ::_exit(2);  // all begin when the pipe is closed
    for (int file = 0; file < files; ++file) {
      const std::string text = "process " + std::to_string(process);
      if (!create(folder / std::to_string(file), text)) continue;
      const std::string mark = std::to_string(file) + ".won_by." + std::to_string(process);
      if (::mknod((folder / mark).c_str(), S_IFREG | 0600, 0) != 0) ::_exit(3);
      if (base::content(folder / std::to_string(file)) != text) ::_exit(4);
    }
    ::_exit(0);
  }
  ::close(start[0]);
  ::close(start[1]);
  bool all_well = true;
  for (const pid_t child : children) {
    int status = 1;
    ::waitpid(child, &status, 0);
    all_well = all_well && status == 0;
  }
  std::vector<int> counts(static_cast<std::size_t>(files), all_well ? 0 : -1);
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.find(".won_by.") != std::string::npos) {
      ++counts[static_cast<std::size_t>(std::stoi(name))];
    }
  }
  return counts;
}

TEST(CreateExclusively, LetsOneOfManyProcessesWinEachFile) {
  const base::TemporaryDirectory folder;
  EXPECT_EQ(winners(folder.path(), 40, base::create_exclusively), std::vector<int>(40, 1));
}

TEST(CreateExclusively, LetsOneWinWithoutHardLinksToo) {
  const base::TemporaryDirectory folder;
  EXPECT_EQ(winners(folder.path(), 40, base::create_with_o_excl), std::vector<int>(40, 1));
}

TEST(CreateExclusively, LeavesWhatIsThereAndNothingBeside) {
  const base::TemporaryDirectory folder;
  const std::string path = folder.write("a", "old");
  EXPECT_FALSE(base::create_exclusively(path, "new"));
  EXPECT_TRUE(base::create_exclusively(path + "2", "new"));
  EXPECT_EQ(base::content(path), "old");
  EXPECT_EQ(base::content(path + "2"), "new");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 2);
}

TEST(ReadCreated, FindsAFileThatComesMeanwhileOrNone) {
  const base::TemporaryDirectory folder;
  const std::string whole = folder.write("whole", "text\n");
  const std::string path = (folder.path() / "a").string();
  std::atomic<bool> ends = false;
  std::thread other([&] {
    while (!ends) {
      [[maybe_unused]] const bool came = ::link(whole.c_str(), path.c_str()) == 0;
      ::unlink(path.c_str());
    }
  });
  for (int look = 0; look < 20000; ++look) {
    std::optional<std::string> found;
    EXPECT_NO_THROW(found = base::read_created(path));
    EXPECT_EQ(found.value_or("text\n"), "text\n");
  }
  ends = true;
  other.join();
}

TEST(CreateExclusively, NamesWhatCannotBeCreated) {
  const base::TemporaryDirectory folder;
  const std::string path = (folder.path() / "absent" / "a").string();
  for (const Create& create :
       {Create(base::create_exclusively), Create(base::create_with_o_excl)}) {
    try {
      create(path, "x");
      FAIL();
    } catch (const base::SystemError& e) {
      EXPECT_NE(std::string(e.what()).find(path), std::string::npos) << e.what();
    }
  }
}

}  // namespace
