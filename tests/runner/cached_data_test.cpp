// What of the data is in the page caches of nodes, and clearing them; on any number of ranks.
#include "runner/cached_data.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>

#include "pretend_nodes.h"
#include "run_bench.h"
#include "runner/base/descriptor.h"
#include "runner/base/system_facts.h"
#include "runner/base/temporary_directory.h"
#include "runner/caches.h"

namespace {

using runner::CacheClearing;
using runner::CachedData;
using runner::Communicator;
using testing::AllOf;
using testing::HasSubstr;

constexpr int kFiles = 12;
constexpr std::int64_t kFileBytes = std::int64_t{64} << 10;

/// A data set that all ranks see, just written.
class DataCaches : public testing::Test {
 protected:
  DataCaches() {
    if (world_.rank() == 0) {
      own_.emplace();
      for (int i = 0; i < kFiles; ++i) {
        own_->write("train/" + std::to_string(i % 3) + "/" + std::to_string(i),
                    std::string(static_cast<std::size_t>(kFileBytes), 'x'));
      }
    }
    folder_ = world_.broadcast(own_ ? own_->path().string() : "", 0);
    world_.barrier();
  }
  ~DataCaches() override { world_.barrier(); }

  std::vector<std::string> paths() const { return {folder_ + "/train"}; }
  CachedData look(const base::PageCalls& calls = base::system_page_calls()) const {
    const CachedData found =
        look_at_data(paths(), base::Probes::kWithoutReading, runner::kLookBeforeTheRun, world_,
                     topology_, clock_, calls);
    world_.barrier();
    return found;
  }
  bool is_in_memory() const {
    struct ::statfs found {};
    return ::statfs(folder_.c_str(), &found) == 0 && found.f_type == TMPFS_MAGIC;
  }
  /// As for a user who may not drop caches, unless `drop` says otherwise.
  CacheClearing clear(const std::string& mode, bool drops = false,
                      const base::PageCalls& calls = base::system_page_calls()) const {
    const runner::CacheDoors doors{.data = paths(),
                                   .clock = clock_,
                                   .drop =
                                       [=] {
                                         return CacheClearing{drops, "a stand-in"};
                                       },
                                   .calls = calls};
    return clear_caches(mode, doors, world_, topology_);
  }
  /// Calls on a file system that tells nothing.
  static base::PageCalls silent() {
    base::PageCalls calls = base::system_page_calls();
    calls.may_ask_mincore = [](const std::string&, const struct ::stat&) { return false; };
    return calls;
  }

  Communicator world_ = Communicator::world();
  runner::Topology topology_ = runner::pretend_nodes(world_, 2);
  base::SystemClock clock_;
  std::optional<base::TemporaryDirectory> own_;
  std::string folder_;
};

/// Maps a file and touches its pages, so that no advice takes them out.
class Mapped {
 public:
  explicit Mapped(const std::string& path)
      : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)),
        map_(::mmap(nullptr, kFileBytes, PROT_READ, MAP_SHARED | MAP_POPULATE, file_.get(), 0)) {
    EXPECT_NE(map_, MAP_FAILED);
  }
  ~Mapped() { ::munmap(map_, kFileBytes); }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;

 private:
  base::Descriptor file_;
  void* map_;
};

TEST_F(DataCaches, CountEveryFileOnceANode) {
  const CachedData found = look();
  EXPECT_EQ(found.nodes, topology_.node_count);
  EXPECT_EQ(found.known_nodes, found.nodes);
  EXPECT_EQ(found.files, kFiles * found.nodes);
  EXPECT_EQ(found.looked_at_files(), found.files);
  EXPECT_EQ(found.bytes, kFiles * kFileBytes * found.nodes);
  EXPECT_EQ(found.looked_at_bytes, found.bytes);
  EXPECT_TRUE(found.is_known());
  EXPECT_EQ(found.warm_min, 1.0);
  EXPECT_EQ(found.warm_max, 1.0);
  EXPECT_EQ(found.warmest, base::host_name());
}

TEST_F(DataCaches, LookAtNoMoreFilesThanAsked) {
  const CachedData found =
      look_at_data(paths(), base::Probes::kWithoutReading, {4, 2.0, 4}, world_, topology_, clock_);
  EXPECT_EQ(found.files, kFiles * found.nodes);
  EXPECT_GE(found.looked_at_files(), found.nodes);
  EXPECT_TRUE(found.is_known()) << found.unknown();
  // Each rank rounds its share up.
  EXPECT_LE(found.looked_at_files(), 4 * found.nodes + world_.size());
}

TEST_F(DataCaches, AreReadNoOftenerThanAsked) {
  base::PageCalls calls = silent();
  std::int64_t reads = 0;
  calls.read_without_waiting = [&reads](int, std::int64_t) {
    ++reads;
    return std::int64_t{1};
  };
  const CachedData found = look_at_data(paths(), base::Probes::kAlsoReading, {kFiles, 2.0, 4},
                                        world_, topology_, clock_, calls);
  EXPECT_LE(reads, 4);
  EXPECT_TRUE(found.is_known()) << found.unknown();
  EXPECT_EQ(found.warm_max, 1.0);
  EXPECT_LT(found.looked_at_files(), found.files);
}

TEST_F(DataCaches, AreEmptyAfterAdvice) {
  if (is_in_memory()) GTEST_SKIP() << "tmpfs keeps its files in memory";
  advise_data_out(paths(), world_, topology_);
  const CachedData found = look();
  EXPECT_EQ(found.warm_max, 0.0);
  EXPECT_EQ(found.looked_at_bytes, kFiles * kFileBytes * found.nodes);
}

TEST_F(DataCaches, AreUnknownWithoutData) {
  EXPECT_EQ(look_at_data({}, base::Probes::kAlsoReading, runner::kLookBeforeTheRun, world_,
                         topology_, clock_)
                .nodes,
            0);
  const CachedData found = look_at_data({folder_ + "/absent"}, base::Probes::kAlsoReading,
                                        runner::kLookBeforeTheRun, world_, topology_, clock_);
  EXPECT_FALSE(found.is_known());
  EXPECT_THAT(found.unknown(), HasSubstr("nodes found no data"));
  EXPECT_FALSE(to_json(found).contains("warm"));
}

TEST_F(DataCaches, AreProvedColdWithoutTheRightToDropThem) {
  if (is_in_memory()) GTEST_SKIP() << "tmpfs keeps its files in memory";
  const CacheClearing clearing = clear("required");
  EXPECT_TRUE(clearing.cleared) << clearing.reason;
  EXPECT_THAT(clearing.reason, AllOf(HasSubstr("at most 0.0 %"), HasSubstr("a stand-in")));
  EXPECT_EQ(clearing.data["warm"]["max"], 0.0);
  EXPECT_EQ(clearing.data["bytes_looked_at"], clearing.data["bytes"]);
}

TEST_F(DataCaches, AreNotProvedColdWhileAFileStays) {
  if (is_in_memory()) GTEST_SKIP() << "tmpfs keeps its files in memory";
  const Mapped kept(folder_ + "/train/0/0");
  world_.barrier();
  for (const bool drops : {false, true}) {
    const CacheClearing clearing = clear("auto", drops);
    world_.barrier();
    EXPECT_FALSE(clearing.cleared);
    if (drops) continue;
    EXPECT_THAT(clearing.reason,
                AllOf(HasSubstr("8.3 % of the data's files are in"), HasSubstr(base::host_name())));
  }
  EXPECT_THROW(clear("required"), base::Error);
}

TEST_F(DataCaches, WhoseStateIsUnknownAreClearedOnlyIfDropped) {
  const CacheClearing advised = clear("auto", false, silent());
  EXPECT_FALSE(advised.cleared);
  EXPECT_THAT(advised.reason, HasSubstr("must wait for run_start"));
  EXPECT_TRUE(clear("auto", true, silent()).cleared);
  EXPECT_FALSE(clear("never", true).cleared);
}

TEST_F(DataCaches, AreLoggedAsClearedOnlyIfProved) {
  if (is_in_memory()) GTEST_SKIP() << "tmpfs keeps its files in memory";
  runner::ToyBench cold;
  cold.caches = clear("auto");
  cold.look_at_data = [&] { return to_json(look()); };
  cold.run();
  const Mapped kept(folder_ + "/train/0/0");
  world_.barrier();
  runner::ToyBench warm;
  warm.caches = clear("auto");
  warm.run();
  if (world_.rank() != 0) return;
  EXPECT_EQ(cold.first("cache_clear")["value"], true);
  EXPECT_EQ(cold.first("cache_clear")["metadata"]["page_cache"]["warm"]["max"], 0.0);
  const nlohmann::json staging = cold.first("staging_stop")["metadata"]["staging"];
  EXPECT_EQ(staging["page_cache"]["warm"]["max"], 0.0);
  EXPECT_EQ(warm.first("cache_clear")["value"], false);
  EXPECT_FALSE(warm.first("staging_stop")["metadata"]["staging"].contains("page_cache"));
}

TEST(DataPaths, AreThoseOfTheConfiguration) {
  EXPECT_EQ(runner::data_paths({{"dataset", {{"train", "a"}, {"validation", "b"}, {"test", ""}}}}),
            (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(runner::data_paths(nlohmann::json::object()).empty());
}

}  // namespace
