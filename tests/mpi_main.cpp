// main() of the MPI tests: every rank runs the tests, and a failure on any rank fails the program.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <iostream>

#include "runner/communicator.h"

int main(int argc, char** argv) {
  runner::MpiEnvironment environment(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  const runner::Communicator world = runner::Communicator::world();
  if (world.rank() != 0) {
    // Rank 0 reports passed tests; every rank reports failures.

    testing::FLAGS_gtest_brief = true;
  }
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
