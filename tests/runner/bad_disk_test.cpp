// What disks refuse of a run: full, small, read-only or without locks, each with its message and
// exit code.
#include <gmock/gmock.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "launch_with_faults.h"
#include "runner/small_run.h"
#include "workloads/exit_codes.h"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using outside::content;
using outside::Ended;
using outside::kSystem;
using outside::kTargetMissed;
using outside::mpirun;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using BadInput = outside::SmallRun;

TEST_F(BadInput, ReadOnlyResultsFolder) {
  // Nothing can be created below a file, not even by root.
  const std::string file = an_image().string();
  const Ended ended = run([&](json& c) { c["results"]["directory"] = file + "/results"; });
  expect(ended, kSystem,
         AllOf(HasSubstr("trainmark: "), HasSubstr(file + "/results"), HasSubstr("cannot")));
  const Ended on_two =
      run([&](json& c) { c["results"]["directory"] = file + "/results"; }, mpirun(2));
  expect(on_two, kSystem, HasSubstr("rank 0: "));
}

/// An environment in which `folder` is on a disk with `bytes` of free space; needs no mount.
std::string with_room(const fs::path& folder, std::int64_t bytes) {
  return "ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0 LD_PRELOAD=" SHIM
         " TRAINMARK_TEST_DISK=" +
         std::to_string(bytes) + ":" + folder.string() + " ";
}

std::string mpirun_in_little_room(int ranks) {
  return mpirun(ranks, outside::with_variable("LD_PRELOAD", SHIM));
}

TEST_F(BadInput, DiskFullWhileStaging) {
  for (const std::string& launcher : {std::string(), mpirun_in_little_room(2)}) {
    const Ended ended = run([](json&) {}, with_room(folder_ / "near", 5000) + launcher);
    expect(ended, kSystem,
           AllOf(HasSubstr("near/"), HasSubstr("write failed: No space left on device")));
  }
  for (const char* log : {"1.txt", "2.txt"}) {
    EXPECT_THAT(content(result(log)),
                AllOf(HasSubstr("\"status\": \"aborted\""), HasSubstr("No space left on device")));
  }
  // The partial copy is not trusted, and removed by its rank or by the next run.
  ASSERT_EQ(run([](json&) {}).status, kTargetMissed);
  EXPECT_TRUE(fs::is_empty(folder_ / "near"));
}

TEST_F(BadInput, FileSystemWithoutLocksTakesTheWeights) {
  for (const int error : {ENOLCK, EAGAIN, EOPNOTSUPP, 524}) {
    const Ended ended = run([](json&) {}, outside::fault_variables() +
                                              "LD_PRELOAD=" SHIM " TRAINMARK_TEST_FAULT=0:flock:" +
                                              std::to_string(error) + " ");
    expect(ended, kTargetMissed, Not(HasSubstr("trainmark: ")));
    const fs::path weights = result("1.weights.h5");
    EXPECT_TRUE(fs::exists(weights)) << error;
    EXPECT_EQ(evaluate(config(), weights).status, 0);
    fs::remove_all(folder_ / "results");
    fs::remove_all(folder_ / "near");
  }
}

TEST_F(BadInput, AWeightsFileThatCannotBeWrittenIsFoundBeforeTheFirstStep) {
  const Ended ended = run([](json&) {}, outside::fault_variables() +
                                            "LD_PRELOAD=" SHIM " TRAINMARK_TEST_FAULT=0:trial:1 ");
  expect(ended, kSystem, HasSubstr("result_1.weights.h5.new.part: cannot be created"));
  EXPECT_THAT(last_record(), AllOf(HasSubstr("run_stop"), HasSubstr("cannot be created")));
  EXPECT_EQ(content(result("1.txt")).find("run_start"), std::string::npos);
}

TEST_F(BadInput, DiskFullWhileLogging) {
  for (const std::string& launcher : {std::string(), mpirun_in_little_room(2)}) {
    const Ended ended = run([](json&) {}, with_room(folder_ / "results", 8000) + launcher);
    expect(ended, kSystem, HasSubstr(": cannot write the log: No space left on device"));
    EXPECT_TRUE(all_end());
  }
}

TEST_F(BadInput, DiskFullWhileLoggingWithRoomForCheckpointsElsewhere) {
  const auto long_run = [this](json& c) {
    c["epochs"] = 200;
    c["target"] = {{"quality", 2.0}};
    c["checkpoint"] = {{"directory", (folder_ / "saved").string()}};
  };
  for (const std::string& launcher : {std::string(), mpirun_in_little_room(2)}) {
    fs::remove_all(folder_ / "results");
    const Ended ended = run(long_run, with_room(folder_ / "results", 60000) + launcher);
    expect(ended, kSystem,
           testing::ContainsRegex("cannot write the log: No space left on device; the run is saved "
                                  "after step [1-9]"));
    EXPECT_EQ(content(result("1.txt")).back(), '\n');
    const Ended resumed =
        run(long_run, launcher.empty() ? "" : mpirun(2), "--resume --set epochs=201");
    expect(resumed, kTargetMissed, HasSubstr("resumed after step "));
    fs::remove_all(folder_ / "saved");
  }
}

TEST_F(BadInput, LogRenamedInTheRun) {
  json endless = config();
  endless["epochs"] = 100000;
  const outside::Started job = start(TRAINMARK " run " + saved(endless));
  ASSERT_TRUE(
      comes([this] { return content(result("1.txt")).find("epoch_stop") != std::string::npos; }));
  fs::rename(result("1.txt"), result("1.lost"));
  for (const pid_t process : processes()) {
    // Only the program: the shell that started it must live to report how it ended.
    if (content("/proc/" + std::to_string(process) + "/comm") == "trainmark\n") {
      ::kill(process, SIGTERM);
    }
  }
  expect(outside::wait(job), kSystem, HasSubstr("result_1.txt: the log is lost"));
}

TEST_F(BadInput, DiskFullWhileSavingWeights) {
  const Ended ended = run([](json&) {}, with_room(folder_ / "results", 150000));
  expect(ended, kSystem,
         AllOf(HasSubstr("result_1.weights.h5"), HasSubstr("No space left on device")));
  EXPECT_FALSE(fs::exists(result("1.weights.h5")));
  EXPECT_TRUE(fs::exists(result("1.telemetry.json")));
  EXPECT_THAT(ended.out, AllOf(HasSubstr("RESULT benchmark=resnet"), Not(HasSubstr("weights:"))));
}

constexpr char kNoMount[] = "a tmpfs cannot be mounted here";

/// A tmpfs of a few pages, if this process may mount one.
class SmallDisk {
 public:
  SmallDisk(fs::path path, const char* options, unsigned long flags = 0) : path_(std::move(path)) {
    fs::create_directories(path_);
    is_mounted_ = ::mount("tmpfs", path_.c_str(), "tmpfs", flags, options) == 0;
  }
  ~SmallDisk() {
    if (is_mounted_) ::umount(path_.c_str());
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool is_mounted() const { return is_mounted_; }

 private:
  fs::path path_;
  bool is_mounted_ = false;
};

TEST_F(BadInput, SmallTmpfs) {
  const SmallDisk near(folder_ / "near", "size=64k"), results(folder_ / "results", "size=8k");
  if (!near.is_mounted() || !results.is_mounted()) GTEST_SKIP() << kNoMount;
  const Ended logging = run([](json&) {});
  expect(
      logging, kSystem,
      AllOf(HasSubstr("free bytes for what the run will write ("), HasSubstr(" of weights in ")));
  EXPECT_FALSE(fs::exists(result("1.txt")));
  const Ended staging = run([&](json& c) { c["results"]["directory"] = (folder_ / "r").string(); });
  expect(staging, kSystem,
         AllOf(HasSubstr("/near: node 0 ("), HasSubstr("staging needs "), HasSubstr("of memory")));
}

TEST_F(BadInput, TooLittleSharedMemory) {
  const SmallDisk shared(folder_ / "shm", "size=64k");
  if (!shared.is_mounted()) GTEST_SKIP() << kNoMount;
  const std::string folder = (folder_ / "shm").string();
  const Ended ended =
      run([](json&) {}, "OMPI_MCA_osc_sm_backing_directory=" + folder + " " + mpirun(2));
  expect(ended, kSystem,
         AllOf(HasSubstr("rank 0: " + folder + ": expected "), HasSubstr("free bytes"),
               HasSubstr("found ")));
  // The run had not begun, but its log says why it never will.
  EXPECT_THAT(last_record(), AllOf(HasSubstr("run_stop"), HasSubstr("aborted"),
                                   HasSubstr(folder + ": expected ")));
}

TEST_F(BadInput, ReadOnlyTmpfs) {
  const SmallDisk results(folder_ / "results", "size=4m", MS_RDONLY);
  if (!results.is_mounted()) GTEST_SKIP() << kNoMount;
  expect(run([](json&) {}), kSystem,
         AllOf(HasSubstr((folder_ / "results").string()), HasSubstr("Read-only file system")));
}
}  // namespace
