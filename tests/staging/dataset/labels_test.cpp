// Tests of label files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runner/base/error.h"
#include "runner/base/temporary_directory.h"
#include "runner/base/thrown_message.h"
#include "staging/dataset/arrange.h"

namespace dataset {
namespace {

using testing::HasSubstr;

class Labels : public testing::Test {
 protected:
  std::vector<std::int32_t> read(const std::string& text, std::int64_t first_label = 0,
                                 std::vector<std::string> known = {}) {
    const OpenOptions options{folder_.write("labels.txt", text), first_label, std::move(known)};
    return read_labels({"a.jpg", "b.jpg", "c d.jpg"}, options, class_names_);
  }
  std::string message(const std::string& text, std::int64_t first_label = 0,
                      const std::vector<std::string>& known = {}) {
    return base::thrown_message<base::DataError>([&] { read(text, first_label, known); });
  }
  const base::TemporaryDirectory folder_;
  std::vector<std::string> class_names_;
};

TEST_F(Labels, StandInTheOrderOfTheFiles) {
  EXPECT_EQ(read("3\n0\n1\n"), (std::vector<std::int32_t>{3, 0, 1}));
  EXPECT_EQ(class_names_, (std::vector<std::string>{"0", "1", "2", "3"}));
  EXPECT_EQ(read("3\r\n1\r\n1"), (std::vector<std::int32_t>{3, 1, 1}));
}

TEST_F(Labels, MayCountFromOne) {
  EXPECT_EQ(read("3\n1\n1\n", 1), (std::vector<std::int32_t>{2, 0, 0}));
}

TEST_F(Labels, MayNameTheirFilesInAnyOrder) {
  EXPECT_EQ(read("c d.jpg 5\na.jpg\t1\nb.jpg 2\n"), (std::vector<std::int32_t>{1, 2, 5}));
}

TEST_F(Labels, MayBeClassNames) {
  EXPECT_EQ(read("n02\nn01\nn02\n", 0, {"n01", "n02", "n03"}),
            (std::vector<std::int32_t>{1, 0, 1}));
  EXPECT_EQ(class_names_.size(), 3u);
}

TEST_F(Labels, MustBeOneForEachImage) {
  EXPECT_THAT(message("1\n2\n"), HasSubstr("expected 3 labels, one for each image, found 2"));
  EXPECT_THAT(message("1\n2\n3\n4\n"), HasSubstr("found 4"));
}

TEST_F(Labels, NameTheLineThatIsWrong) {
  EXPECT_THAT(message("0\n0\n1\n", 1), HasSubstr("line 1: expected a label of 1 to"));
  EXPECT_THAT(message("1\n2\n4\n", 0, {"x", "y", "z"}),
              HasSubstr("line 3: expected a label of 0 to 2, found 4"));
  EXPECT_THAT(message("1\nw\n2\n", 0, {"x", "y", "z"}),
              HasSubstr("line 2: expected an integer or one of the known class names, found 'w'"));
  EXPECT_THAT(message("1\nx\n2\n"),
              HasSubstr("labels.txt: line 2: expected an integer, found 'x'"));
  EXPECT_THAT(message("1\n\n2\n"), HasSubstr("line 2: expected a label, found an empty line"));
  EXPECT_THAT(message("1.5\n1\n2\n"), HasSubstr("line 1"));
  EXPECT_THAT(message("a.jpg 1\nz.jpg 1\nb.jpg 1\n"), HasSubstr("line 2: 'z.jpg' is not among"));
  EXPECT_THAT(message("a.jpg 1\na.jpg 2\nb.jpg 1\n"),
              HasSubstr("line 2: a second label for 'a.jpg'"));
  EXPECT_THAT(message("99999999999999999999\n1\n1\n"), HasSubstr("line 1"));
}

}  // namespace
}  // namespace dataset
