// Where oneDNN computes wrong results, what needs it refuses to start. A test that fails with this
// refusal, of its own process or of a program that it started, counts as skipped.
#include <gtest/gtest.h>

#include <iostream>
#include <string>
#include <string_view>

namespace {

class LibraryListener : public testing::EmptyTestEventListener {
  void OnTestEnd(const testing::TestInfo& test) override {
    if (std::string_view(test.test_suite_name()) == "LibraryRefusal") return;  // tests the sentence
    constexpr std::string_view kBegin = "oneDNN ", kEnd = "computes wrong results on this machine";
    for (int i = 0; i < test.result()->total_part_count(); ++i) {
      const std::string_view message = test.result()->GetTestPartResult(i).message();
      const std::size_t end = message.find(kEnd);
      if (end == std::string_view::npos) continue;
      const std::size_t begin = message.rfind(kBegin, end);
      // The form of GoogleTest's own reports of skipped tests, which ctest knows.
      std::cout << "oneDNN: Skipped\n"
                << message.substr(begin, end + kEnd.size() - begin) << "\n[  SKIPPED ] "
                << test.test_suite_name() << '.' << test.name() << std::endl;
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
