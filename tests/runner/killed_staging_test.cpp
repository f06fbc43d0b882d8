// Tests of staging that is killed at any moment: the next one copies what is missing, and nothing
// else.
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "launch_with_faults.h"
#include "runner/staged_copies.h"

namespace {

namespace fs = std::filesystem;
using outside::Ended;
using outside::mpirun_with_faults;

class KilledStaging : public outside::StagedCopies {
 protected:
  /// Paths of packs that have their names.
  std::set<std::string> packs() const {
    std::set<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(folder_ / "near")) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("pack-") && name.find(".part.") == std::string::npos) {
        found.insert(entry.path().string());
      }
    }
    return found;
  }
  bool has_parts() const {
    for (const auto& entry : fs::recursive_directory_iterator(folder_ / "near")) {
      if (entry.path().filename().string().find(".part.") != std::string::npos) return true;
    }
    return false;
  }
};

/// The last rank is killed in call after call on packs: opening, half of a write, before and after
/// renaming.
TEST_F(KilledStaging, GoesOnWithExactlyWhatIsMissing) {
  constexpr std::int64_t kImages = 16;
  bool was_killed_with_packs = false, left_parts = false;
  for (const int ranks : {1, 2, 4}) {
    for (const int call : {1, 2, 3, 4, 7}) {
      SCOPED_TRACE(std::to_string(ranks) + " ranks, call " + std::to_string(call));
      fs::remove_all(folder_ / "near");
      const Ended killed = shell(
          mpirun_with_faults(ranks, std::to_string(ranks - 1) + ":pack:" + std::to_string(call)) +
          stage());
      ASSERT_TRUE(all_end());
      const auto before = packs();
      left_parts = left_parts || has_parts();
      was_killed_with_packs = was_killed_with_packs || (killed.status != 0 && !before.empty());
      expect_next_run_copies_what_is_missing(kImages);
      const auto after = packs();
      EXPECT_TRUE(std::includes(after.begin(), after.end(), before.begin(), before.end()));
    }
  }
  EXPECT_TRUE(was_killed_with_packs);
  EXPECT_TRUE(left_parts);
}

}  // namespace
