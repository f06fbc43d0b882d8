// Where oneDNN computes wrong results, what needs it refuses to start. A test that fails with this
// refusal, of its own process or of a program that it started, counts as skipped.
#include <gtest/gtest.h>

#include <iostream>
#include <string>

#include "library_refusal.h"

namespace {

class LibraryListener : public testing::EmptyTestEventListener {
  void OnTestEnd(const testing::TestInfo& test) override {
    if (std::string(test.test_suite_name()) == "LibraryRefusal") return;  // tests the sentence
    for (int i = 0; i < test.result()->total_part_count(); ++i) {
      const std::string refusal = library_refusal(test.result()->GetTestPartResult(i));
      if (refusal.empty()) continue;
      // The form of GoogleTest's own reports of skipped tests, which ctest knows.
      std::cout << "oneDNN: Skipped\n"
                << refusal << "\n[  SKIPPED ] " << test.test_suite_name() << '.' << test.name()
                << std::endl;
      return;
    }
  }
};

/// Before main(), whichever main() the program has.
const bool kListens = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new LibraryListener);
  return true;
}();

}  // namespace
