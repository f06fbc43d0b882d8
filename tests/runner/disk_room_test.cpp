// Tests of the room that a run needs on disks.
#include "runner/disk_room.h"

#include <gmock/gmock.h>

#include <limits>

#include "runner/base/error.h"
#include "runner/base/temporary_directory.h"
#include "runner/base/thrown_message.h"

namespace runner {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(DiskRoom, IsThatOfTheNearestFolderThatExists) {
  const base::TemporaryDirectory folder;
  const auto free = free_bytes((folder.path() / "not/there/yet").string());
  ASSERT_TRUE(free);
  EXPECT_GT(*free, 0);
  EXPECT_LT(*free, std::numeric_limits<std::int64_t>::max());
}

TEST(DiskRoom, IsForAllThatIsWrittenToOneDisk) {
  const base::TemporaryDirectory folder;
  const std::string weights = folder.path() / "results", saved = folder.path() / "saved/a";
  const std::int64_t free = *free_bytes(folder.path());
  const std::int64_t most = free / 10 * 6;
  require_room({{"weights", weights, most}});
  require_room({{"checkpoints", saved, most}});
  EXPECT_THAT(base::thrown_message<base::SystemError>([&] {
                require_room({{"weights", weights, most}, {"checkpoints", saved, most}});
              }),
              AllOf(HasSubstr(saved + ": expected " + std::to_string(2 * most) + " free bytes"),
                    HasSubstr(" of weights in " + weights),
                    HasSubstr(" of checkpoints in " + saved), HasSubstr(", found ")));
}

}  // namespace
}  // namespace runner
