// Messages for exceptions of the standard library: paths first, and no names of its functions.
#include "runner/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <new>
#include <stdexcept>
#include <vector>

#include "runner/base/temporary_directory.h"

namespace {

namespace fs = std::filesystem;
using base::ExitCode;
using base::Failure;
using base::failure_of;

/// The failure of the exception that `work` throws.
template <class Work>
Failure failure_in(const Work& work) {
  try {
    work();
  } catch (const std::exception& error) {
    return failure_of(error);
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

TEST(FailureOf, FileSystemsBeginsWithThePathAndTellsTheOperation) {
  const base::TemporaryDirectory folder;
  const std::string file = folder.write("file", "");
  const Failure removed = failure_in([&] { fs::remove(folder.path()); });
  EXPECT_EQ(removed.code, ExitCode::kSystem);
  EXPECT_EQ(removed.message, folder.path().string() + ": cannot remove: Directory not empty");
  const std::string loop = (folder.path() / "loop").string();
  fs::create_symlink(loop, loop);
  EXPECT_EQ(failure_in([&] { (void)fs::exists(loop); }).message,
            loop + ": cannot be examined: Too many levels of symbolic links");
  EXPECT_EQ(failure_in([&] { fs::rename(file, file + "/below"); }).message,
            file + ", " + file + "/below: cannot rename: Not a directory");
}

TEST(FailureOf, MemoryIsOneKindHoweverTheLibraryNamesIt) {
  for (const Failure& failure : {failure_of(std::bad_alloc()), failure_in([] {
                                   std::vector<double> all;
                                   all.reserve(all.max_size() + 1);
                                 })}) {
    EXPECT_EQ(failure.code, ExitCode::kSystem);
    EXPECT_THAT(failure.message, testing::StartsWith("out of memory: "));
  }
}

TEST(FailureOf, ErrorsOfThisProgramAreNamedAsSuch) {
  EXPECT_EQ(failure_of(base::DataError("a.json: /x: expected 1")).message,
            "a.json: /x: expected 1");
  const Failure failure = failure_of(std::out_of_range("stod"));
  EXPECT_EQ(failure.code, ExitCode::kInternal);
  EXPECT_EQ(failure.message, "internal error: stod");
}

}  // namespace
