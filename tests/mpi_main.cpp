// main() of the MPI tests: every rank runs the tests, and a failure on any rank fails the program.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <iostream>
#include <string>

#include "library_refusal.h"
#include "runner/communicator.h"

namespace {

/// Ends all ranks where oneDNN cannot be trusted: those that found out before others would wait for
/// them. ctest knows the sentence and counts the test as skipped.
class LibraryRefusal : public testing::EmptyTestEventListener {
 public:
  explicit LibraryRefusal(const runner::Communicator& world) : world_(world) {}
  void OnTestPartResult(const testing::TestPartResult& part) override {
    const std::string refusal = library_refusal(part);
    if (!refusal.empty()) world_.abort(base::ExitCode::kSystem, refusal);
  }

 private:
  const runner::Communicator& world_;
};

}  // namespace

int main(int argc, char** argv) {
  runner::MpiEnvironment environment(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  const runner::Communicator world = runner::Communicator::world();
  if (world.rank() != 0) {
    // Rank 0 reports passed tests; every rank reports failures.

    testing::FLAGS_gtest_brief = true;
  }
  testing::UnitTest::GetInstance()->listeners().Append(new LibraryRefusal(world));
  const int failed = RUN_ALL_TESTS();
  const auto* unit = testing::UnitTest::GetInstance();
  std::array<std::int64_t, 3> sums = {failed, unit->skipped_test_count(),
                                      unit->successful_test_count()};
  world.allreduce_sum(std::span<std::int64_t>(sums));
  if (world.rank() == 0 && sums[0] == 0 && sums[2] == 0 && sums[1] > 0) {
    std::cout << "SKIPPED ON EVERY RANK\n";
  }
  return sums[0] == 0 ? 0 : 3;
}
