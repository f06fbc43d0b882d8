// Checks of folders that are good, missing, or full of leftovers.
#include "runner/doctor/folder_checks.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "find_finding.h"
#include "runner/base/system_facts.h"
#include "runner/base/temporary_directory.h"
#include "runner/doctor/node.h"

namespace doctor {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string below(const base::TemporaryDirectory& root, const char* name) {
  return (root.path() / name).string();
}

/// Makes a file look untouched for an hour.
void age(const fs::path& path) {
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(1));
}

/// The number of a process that has ended.
pid_t dead_process() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return child;
}

TEST(CheckDataset, ReadsAFileAndTheFirstFileOfFolders) {
  const base::TemporaryDirectory root;
  root.write("train/class/image.jpg", "x");
  EXPECT_EQ(check_dataset(below(root, "train"), "dlrm").verdict, Verdict::kOk);
  EXPECT_EQ(check_dataset(below(root, "train/class/image.jpg"), "dlrm").verdict, Verdict::kOk);
}

TEST(CheckDataset, NamesWhatIsAbsentOrEmpty) {
  const base::TemporaryDirectory root;
  fs::create_directories(root.path() / "train" / "class");
  const Finding absent = check_dataset(below(root, "nowhere"), "dlrm");
  EXPECT_EQ(absent.verdict, Verdict::kError);
  EXPECT_EQ(absent.subject, below(root, "nowhere"));
  EXPECT_THAT(absent.measured, HasSubstr("No such file"));
  EXPECT_THAT(absent.remedy, HasSubstr("`trainmark generate dlrm FOLDER`"));
  EXPECT_THAT(check_dataset(below(root, "train"), "dlrm").measured, HasSubstr("class: is empty"));
  EXPECT_EQ(exit_code({absent}), base::ExitCode::kData);
}

TEST(DatasetBytes, SumFilesAndFolders) {
  const base::TemporaryDirectory root;
  root.write("train/a", "12345");
  root.write("train/deep/b", "123");
  const std::string file = root.write("labels", "12");
  EXPECT_EQ(dataset_bytes({below(root, "train"), file}), 10);
}

TEST(NearestFolder, IsTheOneThatExists) {
  const base::TemporaryDirectory root;
  EXPECT_EQ(nearest_folder(below(root, "results/box/resnet50")), root.path().string());
  EXPECT_EQ(nearest_folder(root.path().string()), root.path().string());
}

TEST(CheckFolder, LeavesNothingBehind) {
  const base::TemporaryDirectory root;
  const Findings findings = check_folder(below(root, "results/box"), 1);
  EXPECT_EQ(found(findings, "folder.write").verdict, Verdict::kOk);
  EXPECT_EQ(found(findings, "folder.locks").verdict, Verdict::kOk);
  const Finding space = found(findings, "folder.space");
  EXPECT_EQ(space.verdict, Verdict::kOk);
  EXPECT_GT(space.value.value_or(0.0), 0.0);
  EXPECT_TRUE(fs::is_empty(root.path()));
}

TEST(CheckFolder, RefusesWhatCannotBeWritten) {
  const Findings findings = check_folder("/proc/results", 0);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings.front().id, "folder.write");
  EXPECT_EQ(findings.front().verdict, Verdict::kError);
  EXPECT_THAT(findings.front().measured, HasSubstr("/proc: create: "));
  EXPECT_NE(findings.front().remedy, "");
}

TEST(CheckFolder, RefusesTooLittleSpace) {
  const base::TemporaryDirectory root;
  const Finding space = found(check_folder(root.path().string(), INT64_MAX), "folder.space");
  EXPECT_EQ(space.verdict, Verdict::kError);
  EXPECT_THAT(space.remedy, HasSubstr("results.directory"));
}

TEST(CheckScratch, CountsMemoryWhereItIsInMemory) {
  if (!volume_of("/dev/shm").is_in_memory) GTEST_SKIP() << "tmpfs cannot be mounted";
  Needs needs;
  needs.stages = true;
  needs.node_bytes = 1000;
  needs.folders.scratch = "/dev/shm";
  const Finding space = found(check_scratch(needs, 500, 1400), "folder.space");
  EXPECT_EQ(space.value, 400.0);
  EXPECT_EQ(space.verdict, Verdict::kWarning);
  EXPECT_THAT(space.measured, HasSubstr("which takes memory"));
  EXPECT_EQ(found(check_scratch(needs, 300, 1400), "folder.space").verdict, Verdict::kOk);
}

TEST(VolumeOf, NamesProc) {
  EXPECT_THAT(volume_of("/proc").type, HasSubstr("0x9fa0"));
  EXPECT_THROW(volume_of("/nowhere/at/all"), base::SystemError);
}

TEST(Leftovers, OfDeadProcessesAreNamedWithTheCommandThatRemovesThem) {
  const base::TemporaryDirectory root;
  const std::string mine = fmt::format("set.part.{}.{}", base::host_name(), dead_process());
  root.write("scratch/" + mine + "/samples", "12345");
  root.write(fmt::format("scratch/set.part.{}.{}/samples", base::host_name(), ::getpid()), "x");
  root.write("scratch/set.part.otherhost.1/samples", "x");
  age(root.write("shm/vader_segment.node1.0.1234.0", "1234"));
  age(root.write("shm/somebody_else", "x"));
  root.write("shm/vader_segment.node1.0.9999.0", "just begun");
  const Findings findings =
      check_leftovers(below(root, "scratch"), root.path() / "tmp", root.path() / "shm");
  const Finding staged = found(findings, "folder.leftovers", below(root, "scratch"));
  EXPECT_EQ(staged.verdict, Verdict::kNote);
  EXPECT_EQ(staged.remedy, "rm -r -- " + below(root, "scratch") + "/" + mine);
  EXPECT_THAT(staged.measured, HasSubstr("1 of dead processes, 5 B"));
  const Finding segment = found(findings, "folder.leftovers", below(root, "shm"));
  EXPECT_EQ(segment.remedy, "rm -r -- " + below(root, "shm") + "/vader_segment.node1.0.1234.0");
}

TEST(Leftovers, OfOpenMpisSessionsAreNamed) {
  const base::TemporaryDirectory root;
  const std::string session =
      fmt::format("tmp/ompi.{}.{}/pid.{}", base::host_name(), ::getuid(), dead_process());
  root.write(session + "/contact.txt", "x");
  age(root.path() / session);
  const Findings findings =
      check_leftovers(below(root, "scratch"), root.path() / "tmp", root.path() / "shm");
  EXPECT_THAT(found(findings, "folder.leftovers").remedy, HasSubstr("/pid."));
}

TEST(Leftovers, AreStagedCopiesThatNobodyUsesOrKeeps) {
  using nlohmann::json;
  const auto copy = [](bool is_used, bool is_kept) {
    return json{{"is_used", is_used}, {"is_kept", is_kept}, {"bytes", 2048}};
  };
  EXPECT_TRUE(judge_copies({copy(true, false), copy(false, true)}, "/tmp/s", "x.json").empty());
  const Findings findings =
      judge_copies({copy(false, false), copy(true, false), copy(false, false)}, "/tmp/s", "x.json");
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_THAT(findings.front().measured, HasSubstr("2 staged copies that no run uses, 4.0 KiB"));
  EXPECT_EQ(findings.front().remedy, "trainmark stage x.json --clean");
}

TEST(Leftovers, AreNoneWhereNothingIs) {
  const base::TemporaryDirectory root;
  const Findings findings = check_leftovers(below(root, "a"), root.path() / "b", root.path() / "c");
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings.front().verdict, Verdict::kOk);
}

}  // namespace
}  // namespace doctor
