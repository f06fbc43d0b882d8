// Files that others wrote: read whole, refused at once, and never waited for.
#include "runner/base/input_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <iterator>

#include "runner/base/error.h"
#include "runner/base/temporary_directory.h"
#include "runner/base/thrown_message.h"

namespace {

namespace fs = std::filesystem;
using base::InputFile;
using base::read_text;

class InputFiles : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  static std::string problem_of(const std::string& path, std::int64_t most_bytes = 100) {
    std::string problem;
    EXPECT_FALSE(read_text(path, problem, most_bytes)) << path;
    return problem;
  }

  base::TemporaryDirectory folder_;
};

TEST_F(InputFiles, AreReadWhole) {
  std::string problem;
  std::string text(200000, 'x');
  text[70000] = '\0';
  EXPECT_EQ(read_text(folder_.write("a", text), problem), text);
  EXPECT_EQ(read_text(folder_.write("empty", ""), problem), "");
  EXPECT_EQ(problem, "");
  EXPECT_NE(read_text("/proc/self/status", problem)->find("Pid:"), std::string::npos)
      << "a file whose size is 0";
}

TEST_F(InputFiles, AreRefusedAtOnceIfTheyAreNoRegularFile) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  fs::create_symlink("/dev/zero", path("zero"));
  fs::create_symlink(path("loop"), path("loop"));
  EXPECT_EQ(problem_of(path("pipe")), "expected a regular file, found a pipe");
  EXPECT_EQ(problem_of(path("zero")), "expected a regular file, found a device");
  EXPECT_EQ(problem_of(folder_.path().string()), "expected a regular file, found a folder");
  EXPECT_EQ(problem_of(path("absent")), "cannot open: No such file or directory");
  EXPECT_THAT(problem_of(path("loop")), testing::HasSubstr("cannot open: "));
  EXPECT_EQ(base::thrown_message<base::SystemError>([&] { const InputFile in(path("pipe")); }),
            path("pipe") + ": expected a regular file, found a pipe");
}

TEST_F(InputFiles, AreRefusedBySizeBeforeTheyAreRead) {
  const std::string huge = folder_.write("huge", "");
  fs::resize_file(huge, std::uintmax_t{1} << 40);
  EXPECT_EQ(problem_of(huge), "expected at most 100 B, found 1.0 TiB");
  EXPECT_EQ(problem_of("/proc/self/status"), "expected at most 100 B, found more");
}

TEST_F(InputFiles, AreReadAgainFromTheirStart) {
  const std::string text(150000, 'y');
  InputFile in(folder_.write("log", "first\n" + text));
  std::string line;
  std::getline(in, line);
  EXPECT_EQ(line, "first");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), text);
  in.clear();
  in.seekg(0);
  std::getline(in, line);
  EXPECT_EQ(line, "first");
}

TEST_F(InputFiles, TellABadReadFromTheEnd) {
  InputFile in("/proc/self/mem");  // nothing is mapped at its start
  EXPECT_EQ(base::thrown_message<base::SystemError>([&] { in.get(); }),
            "/proc/self/mem: cannot be read: Input/output error");
}

}  // namespace
