// Tests of which shared memory files are taken for a dead job's.
#include "runner/dead_segments.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "runner/base/descriptor.h"
#include "runner/base/system_facts.h"
#include "runner/base/temporary_directory.h"

namespace runner {
namespace {

namespace fs = std::filesystem;

class DeadSegments : public testing::Test {
 protected:
  fs::path put(const std::string& name, std::chrono::seconds age) const {
    const fs::path path = folder_.path() / name;
    std::ofstream(path) << std::string(4096, 'x');
    fs::last_write_time(path, fs::file_time_type::clock::now() - age);
    return path;
  }
  static std::string name(const std::string& host, const std::string& rest,
                          const std::string& kind = "vader_segment.") {
    return kind + host + "." + std::to_string(::geteuid()) + "." + rest;
  }

  const base::TemporaryDirectory folder_;
  const std::chrono::seconds old_{60}, new_{5};
};

TEST_F(DeadSegments, AreRemovedWhereNobodyMapsThem) {
  const auto dead = put(name(base::host_name(), "4f2a0001.0"), old_);
  const auto dead_of_5 = put(name(base::host_name(), "4f2a0001.0", "sm_segment."), old_);
  const auto window = put("osc_sm." + base::host_name() + ".4f2a0001.0.3", old_);
  remove_dead_segments(folder_.path().string());
  EXPECT_FALSE(fs::exists(dead));
  EXPECT_FALSE(fs::exists(dead_of_5));
  EXPECT_FALSE(fs::exists(window));
}

TEST_F(DeadSegments, StayWhereTheyAreNewOrAnothersOrUnknown) {
  const auto starting = put(name(base::host_name(), "4f2a0001.1"), new_);
  const auto elsewhere = put(name("another-host", "4f2a0001.0"), old_);
  const auto unknown = put("somebodys-data", old_);
  remove_dead_segments(folder_.path().string());
  for (const auto& path : {starting, elsewhere, unknown}) EXPECT_TRUE(fs::exists(path)) << path;
}

TEST_F(DeadSegments, StayWhileAProcessMapsThem) {
  const auto used = put(name(base::host_name(), "4f2a0001.2"), old_);
  const base::Descriptor file(::open(used.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(file);
  void* mapped = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file.get(), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  remove_dead_segments(folder_.path().string());
  EXPECT_TRUE(fs::exists(used));
  ::munmap(mapped, 4096);
  remove_dead_segments(folder_.path().string());
  EXPECT_FALSE(fs::exists(used));
}

}  // namespace
}  // namespace runner
