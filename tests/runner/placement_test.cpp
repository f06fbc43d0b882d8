// Tests of bindings and thread counts.
#include "runner/placement.h"

#include <gmock/gmock.h>

#include "runner/base/system_facts.h"

namespace runner {
namespace {

TEST(CurrentBinding, NamesTheCpusOfThisProcess) {
  const Binding binding = current_binding();
  EXPECT_FALSE(binding.cpus.empty());
  EXPECT_GE(static_cast<int>(binding.cpu_ids.size()), base::usable_cpus());
  EXPECT_GE(binding.cores, 1);
  EXPECT_LE(binding.cores, static_cast<int>(binding.cpu_ids.size()));
}

TEST(ProgressThread, HasACpuThatIsSparedForItUnlessToldOtherwise) {
  ThreadPlan plan;
  EXPECT_FALSE(wants_progress_thread(Progress::kAuto, plan));
  EXPECT_TRUE(wants_progress_thread(Progress::kThread, plan));
  plan.has_spare_cpu = true;  // as some threads were asked for
  EXPECT_FALSE(wants_progress_thread(Progress::kAuto, plan));
  plan.leaves_cpus = true;
  EXPECT_TRUE(wants_progress_thread(Progress::kAuto, plan));
  EXPECT_FALSE(wants_progress_thread(Progress::kLayers, plan));
  plan.has_spare_cpu = false;  // the quota of the control group is smaller
  EXPECT_FALSE(wants_progress_thread(Progress::kAuto, plan));
}

TEST(ShareOfCpus, IsAllThatARankIsBoundToUnlessRanksOverlap) {
  EXPECT_EQ(share_of_cpus(4, 8, 8), 4);   // two ranks, each bound to its half
  EXPECT_EQ(share_of_cpus(8, 16, 8), 4);  // two ranks, unbound
  EXPECT_EQ(share_of_cpus(8, 24, 8), 2);  // three ranks: never more than the node has
  EXPECT_EQ(share_of_cpus(2, 16, 2), 1);  // more ranks than CPUs
}

TEST(ThreadPlan, IsOversubscribedBeyondTheNodesCpus) {
  EXPECT_FALSE((ThreadPlan{2, 4, 4}).oversubscribed());
  EXPECT_TRUE((ThreadPlan{2, 6, 4}).oversubscribed());
}

}  // namespace
}  // namespace runner
