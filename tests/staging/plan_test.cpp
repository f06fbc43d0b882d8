// Tests of what staging plans on several nodes.
#include "staging/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>

#include "runner/base/temporary_directory.h"
#include "runner/pretend_nodes.h"
#include "staging/collective_open.h"
#include "staging/made_dataset.h"
#include "staging/pack_list.h"

namespace staging {
namespace {

namespace fs = std::filesystem;

class StagingPlans : public testing::Test {
 protected:
  StagingPlans() {
    if (world_.rank() == 0) folder_ = std::make_unique<base::TemporaryDirectory>();
    root_ = world_.broadcast(folder_ ? folder_->path().string() : "", 0);
  }
  ~StagingPlans() override { world_.barrier(); }
  StagingPlan plan(const dataset::Dataset& source, const Ranges& ranges, int node_count) const {
    return plan_staging(source, ranges, world_, runner::pretend_nodes(world_, node_count), root_);
  }

  const runner::Communicator world_ = runner::Communicator::world();
  std::unique_ptr<base::TemporaryDirectory> folder_;
  std::string root_;
};

TEST_F(StagingPlans, HoldTheWholePacksOfWhatANodeNeeds) {
  const MadeDataset source(std::vector<std::int64_t>(1000, 100));  // packs of 41 samples or 40
  const PackList packs = list_packs(source, world_);
  const std::int64_t in_pack_2 = packs[2].first + 1;
  const StagingPlan found = plan(source, {{in_pack_2, in_pack_2 + 1}}, 1);
  EXPECT_EQ(found.packs, std::vector<std::int64_t>{2});
  EXPECT_EQ(found.missing, found.packs);
  EXPECT_EQ(found.samples, packs.last(2) - packs[2].first);
  EXPECT_EQ(found.bytes, packs[2].bytes);
  EXPECT_GT(found.bytes_to_write(), found.bytes);
  EXPECT_EQ(found.bytes_to_write(), found.bytes_on_disk());
  // Whatever is needed of the dataset is in the same folder.
  EXPECT_EQ(plan(source, {{0, 1000}}, 1).directory, found.directory);
}

TEST_F(StagingPlans, ExamineEachSampleOnceInTheJobNotOnEachNode) {
  const MadeDataset source(std::vector<std::int64_t>(100, 100));
  plan(source, {{0, 100}}, world_.size());
  std::vector<std::int64_t> sum = {source.stamps};
  world_.allreduce_sum(std::span(sum));
  EXPECT_EQ(sum[0], 100);
}

TEST_F(StagingPlans, HoldNothingWhereNothingIsNeeded) {
  const MadeDataset source({10, 20, 30});
  const StagingPlan nothing = plan(source, {}, 1);
  EXPECT_EQ(nothing.samples, 0);
  EXPECT_EQ(nothing.bytes, 0);
  EXPECT_TRUE(nothing.packs.empty());
  EXPECT_EQ(nothing.bytes_to_write(), 0);
  EXPECT_EQ(plan(source, {{1, 2}}, 1).samples, 3);  // one pack
}

/// Files as an archive leaves them: equal sizes, and times of whole seconds.
void write_image(const std::string& path, char content) {
  std::ofstream(path) << std::string(100, content);
  fs::last_write_time(path, fs::file_time_type{});
}

TEST_F(StagingPlans, TakeNoCopyFromBeforeTwoFilesChangedNames) {
  const std::string folder = root_ + "/set/class";
  if (world_.rank() == 0) {
    fs::create_directories(folder);
    write_image(folder + "/1.jpg", 'a');
    write_image(folder + "/2.jpg", 'b');
    write_image(folder + "/3.jpg", 'c');
  }
  world_.barrier();
  const auto identity = [&] {
    const auto source = open_dataset_collective(world_, root_ + "/set");
    return plan(*source, {{0, source->size()}}, 1).identity;
  };
  const std::string before = identity();
  EXPECT_EQ(identity(), before);
  world_.barrier();
  if (world_.rank() == 0) fs::rename(folder + "/1.jpg", folder + "/4.jpg");  // now the last one
  world_.barrier();
  EXPECT_NE(identity(), before);
}

TEST_F(StagingPlans, TakeTheSameCopyForOtherLabels) {
  MadeDataset source(std::vector<std::int64_t>(10, 100));
  const std::string before = plan(source, {{0, 10}}, 1).identity;
  source.first_label = 1;
  EXPECT_EQ(plan(source, {{0, 10}}, 1).identity, before);
}

}  // namespace
}  // namespace staging
