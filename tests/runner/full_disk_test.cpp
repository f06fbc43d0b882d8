// Staging onto real small disks: a tmpfs, and an ext4 in a file behind a loop device.
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/statvfs.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "runner/base/system_facts.h"
#include "runner/staged_copies.h"
#include "workloads/exit_codes.h"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using outside::content;
using outside::Ended;
using outside::kSystem;
using outside::kTargetMissed;
using outside::mpirun;
using outside::Started;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

constexpr std::int64_t kBlock = 4096;
constexpr int kTrainPerClass = 20;
constexpr std::int64_t kSamples = 2 * kTrainPerClass + 4;
enum class Disk { kTmpfs, kExt4 };

/// Whether mounts of this process, which end with it, are possible and seen by no other.
bool has_own_mounts() {
  return ::unshare(CLONE_NEWNS) == 0 &&
         ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

std::int64_t free_bytes(const fs::path& folder) {
  struct statvfs found {};
  EXPECT_EQ(::statvfs(folder.c_str(), &found), 0);
  return static_cast<std::int64_t>(found.f_bavail * found.f_frsize);
}

class SmallDisks : public outside::StagedCopies {
 protected:
  void SetUp() override {
    if (!has_own_mounts()) GTEST_SKIP() << "a tmpfs cannot be mounted here";
    ASSERT_EQ(generate("data", images(kTrainPerClass)).status, 0);
    fs::create_directory(disk());
  }
  void TearDown() override { ::umount2(disk().c_str(), MNT_DETACH); }

  fs::path disk() const { return folder_ / "disk"; }
  fs::path near() const override { return disk() / "near"; }
  fs::path filler() const { return disk() / "filler"; }

  /// Why there is no tmpfs of this size; "" if there is one now.
  std::string why_no_tmpfs(const std::string& size) const {
    const bool is_there =
        ::mount("trainmark-test", disk().c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0;
    return is_there ? "" : "a tmpfs cannot be mounted here";
  }
  std::string why_no_ext4() const {
    const std::string path = "PATH=$PATH:/usr/sbin:/sbin ", image = (folder_ / "image").string();
    if (shell(path + "sh -c 'command -v mkfs.ext4'").status != 0) {
      return "mkfs.ext4 is not installed";
    }
    const Ended made = shell("truncate -s 16M " + image);
    EXPECT_EQ(made.status, 0) << made.err;
    const Ended formatted = shell(path + "mkfs.ext4 -q -b 4096 -m 0 -O ^has_journal " + image);
    EXPECT_EQ(formatted.status, 0) << formatted.err;
    const bool is_there = shell("mount -o loop " + image + " " + disk().string()).status == 0;
    return is_there ? "" : "no loop device can be mounted here";
  }

  /// Takes all space, as another program does.
  void fill() const {
    std::ofstream file(filler(), std::ios::binary);
    const std::string block(kBlock, 'x');
    while (file.write(block.data(), kBlock).flush()) continue;
  }
  /// Takes all space but `bytes`, a multiple of a block.
  void fill_but(std::int64_t bytes) const {
    fs::remove(filler());
    std::int64_t size = 0;
    while (free_bytes(disk()) > bytes) {  // the file's own administration takes some, too
      size += free_bytes(disk()) - bytes;
      ASSERT_EQ(shell("fallocate -l " + std::to_string(size) + " " + filler().string()).status, 0);
    }
    ASSERT_EQ(free_bytes(disk()), bytes);
  }

  /// Of both sets, as a plan tells.
  std::int64_t planned_bytes() const {
    const Ended planned = shell(stage() + " --dry-run --json -");
    EXPECT_EQ(planned.status, 0) << planned.err;
    const json plan = json::parse(planned.out);
    return plan.at("train").at("bytes_on_disk").get<std::int64_t>() +
           plan.at("validation").at("bytes_on_disk").get<std::int64_t>();
  }

  /// Whether a whole pack is below the staging folder, which may change meanwhile.
  bool has_a_pack() const {
    std::error_code error;
    for (fs::recursive_directory_iterator it(near(), error), end; !error && it != end;
         it.increment(error)) {
      const std::string name = it->path().filename().string();
      if (name.starts_with("pack-") && name.find(".part.") == std::string::npos) return true;
    }
    return false;
  }

  /// `command` on two ranks, while whose last one reads its last image the disk becomes full.
  /// Where ranks train meanwhile, copying goes on, so a pack is not waited for.
  Ended filled_meanwhile(const std::string& command, bool trains_beside = false) const {
    const fs::path meet = folder_ / "meet";
    fs::create_directory(meet);
    const Started job =
        start(outside::mpirun_with_pause(2, last_image("data/train"), meet.string()) + command);
    EXPECT_TRUE(
        comes([&] { return fs::exists(meet / "reached") && (trains_beside || has_a_pack()); }));
    fill();
    std::ofstream(meet / "go").flush();
    return wait(job);
  }
};

class FullDisk : public SmallDisks, public testing::WithParamInterface<Disk> {
 protected:
  void SetUp() override {
    SmallDisks::SetUp();
    if (IsSkipped()) return;
    const std::string why = GetParam() == Disk::kTmpfs ? why_no_tmpfs("16m") : why_no_ext4();
    if (!why.empty()) GTEST_SKIP() << why;
  }
};

TEST_P(FullDisk, EndsWithTheNodeAndThePackThatHasNoRoom) {
  for (const std::string verify : {"", " --no-verify"}) {
    const Ended ended = filled_meanwhile(stage() + verify);
    EXPECT_EQ(ended.status, kSystem) << ended.err;
    EXPECT_THAT(ended.err,
                ContainsRegex("rank [01]: " + base::host_name() + ": " + near().string() +
                              "/.*pack-[0-9]*\\.part\\..*: offset "
                              "[0-9]*: write failed: No space left on device; this rank "
                              "had copied [0-9]* of its [0-9]* bytes"));
    EXPECT_TRUE(all_end());
    EXPECT_GT(samples_in_copies(), 0);
    EXPECT_LT(samples_in_copies(), kSamples);
    fs::remove(filler());
    expect_next_run_copies_what_is_missing(kSamples);
    fs::remove_all(near());
    fs::remove_all(folder_ / "meet");
  }
}

TEST_P(FullDisk, EndsARunWhoseLogTellsIt) {
  const Ended ended = filled_meanwhile(TRAINMARK " run " + saved(config()));
  EXPECT_EQ(ended.status, kSystem) << ended.err;
  EXPECT_TRUE(all_end());
  EXPECT_THAT(last_record(), AllOf(HasSubstr("run_stop"), HasSubstr("aborted")));
  fs::remove(filler());
  const Ended next = shell(mpirun(2) + TRAINMARK " run " + saved(config()));
  EXPECT_EQ(next.status, kTargetMissed) << next.err;
  EXPECT_TRUE(fs::is_empty(near()));
}

TEST_P(FullDisk, IsNoObstacleForTrainingWhileCopying) {
  json overlapped = config();
  overlapped["staging"]["overlap"] = true;
  // Copying may have ended before training reads the image: then the disk became full too late.
  bool was_in_time = false;
  for (int attempt = 0; attempt < 8 && !was_in_time; ++attempt) {
    fs::remove_all(folder_ / "results");
    fs::remove_all(folder_ / "meet");
    const Ended ended = filled_meanwhile(TRAINMARK " run " + saved(overlapped), true);
    EXPECT_EQ(ended.status, kTargetMissed) << ended.err;
    EXPECT_TRUE(fs::is_empty(near()));
    fs::remove(filler());
    was_in_time = ended.err.find("WARNING: " + base::host_name() + ": ") != std::string::npos;
    if (!was_in_time) continue;
    EXPECT_THAT(ended.err, AllOf(ContainsRegex("staging is incomplete|the copy is left without"),
                                 HasSubstr("No space left on device")));
  }
  EXPECT_TRUE(was_in_time);
  ASSERT_EQ(shell(mpirun(2) + TRAINMARK " run " + saved(config())).status, kTargetMissed);
  EXPECT_EQ(content(result("1.weights.h5")), content(result("2.weights.h5")));
}

TEST_P(FullDisk, HoldsASetThatFitsExactlyAndRefusesOneThatLacksABlock) {
  fs::create_directory(near());
  const std::int64_t needed = (planned_bytes() + kBlock - 1) / kBlock * kBlock;
  fill_but(needed - kBlock);
  const Ended refused = shell(mpirun(2) + stage());
  EXPECT_EQ(refused.status, kSystem) << refused.err;
  EXPECT_THAT(refused.err,
              AllOf(HasSubstr(near().string() + ": node 0 (" + base::host_name() +
                              "): staging needs " + std::to_string(planned_bytes()) + " bytes"),
                    HasSubstr(std::to_string(needed - kBlock) + " are free")));
  EXPECT_TRUE(fs::is_empty(near()));
  fill_but(needed);
  const Ended staged = shell(mpirun(2) + stage());
  EXPECT_EQ(staged.status, 0) << staged.err;
  EXPECT_EQ(samples_in_copies(), kSamples);
}

INSTANTIATE_TEST_SUITE_P(On, FullDisk, testing::Values(Disk::kTmpfs, Disk::kExt4),
                         [](const auto& disk) {
                           return disk.param == Disk::kTmpfs ? "Tmpfs" : "Ext4";
                         });

/// The memory of the machine, as the kernel states it in /proc/meminfo.
std::int64_t memory_bytes() {
  std::ifstream in("/proc/meminfo");
  std::string key;
  std::int64_t kilobytes = 0;
  in >> key >> kilobytes;
  EXPECT_EQ(key, "MemTotal:");
  return kilobytes * 1024;
}

TEST_F(SmallDisks, OfAClaimedSizeBeyondTheMemoryHaveNoMoreRoomThanIt) {
  const std::string why = why_no_tmpfs(std::to_string(4 * memory_bytes()));
  if (!why.empty()) GTEST_SKIP() << why;
  // Sparse files, which take no room themselves. The set has twice the bytes of the memory.
  constexpr std::int64_t kFileBytes = std::int64_t{512} << 20;
  for (std::int64_t i = 0; i < 2 * memory_bytes() / kFileBytes + 1; ++i) {
    const fs::path file = set("train") / a_class() / ("sparse-" + std::to_string(i) + ".jpg");
    std::ofstream(file).flush();
    fs::resize_file(file, kFileBytes);
  }
  ASSERT_GT(free_bytes(disk()), 2 * memory_bytes());
  const Ended refused = shell(mpirun(2) + stage());
  EXPECT_EQ(refused.status, kSystem) << refused.err;
  EXPECT_THAT(refused.err, AllOf(HasSubstr("node 0 (" + base::host_name() + "): staging needs "),
                                 HasSubstr(" bytes of memory (tmpfs), ")));
  EXPECT_FALSE(fs::exists(near()) && !fs::is_empty(near()));
  const Ended planned = shell(stage() + " --dry-run --json -");
  ASSERT_EQ(planned.status, 0) << planned.err;
  const json plan = json::parse(planned.out);
  EXPECT_EQ(plan.at("fits"), false);
  EXPECT_LE(plan.at("train").at("free_bytes"), memory_bytes());
}

}  // namespace
