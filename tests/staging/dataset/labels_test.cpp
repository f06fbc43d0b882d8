// Tests of label files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "runner/base/error.h"
#include "runner/base/temporary_directory.h"
#include "runner/base/thrown_message.h"
#include "staging/dataset/arrange.h"
#include "staging/dataset/ilsvrc2012.h"

namespace dataset {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Labels : public testing::Test {
 protected:
  std::vector<std::int32_t> read(const std::string& text, std::int64_t first_label = 0,
                                 std::vector<std::string> known = {}) {
    return read({"a.jpg", "b.jpg", "c d.jpg"}, text, first_label, std::move(known));
  }
  std::vector<std::int32_t> read(const std::vector<std::string_view>& files,
                                 const std::string& text, std::int64_t first_label,
                                 std::vector<std::string> known) {
    const OpenOptions options{folder_.write("labels.txt", text), first_label, std::move(known)};
    Listing listing;
    const auto labels = read_labels(files, options, listing);
    class_names_ = listing.class_names;
    remark_ = listing.remark;
    return labels;
  }
  std::string message(const std::string& text, std::int64_t first_label = 0,
                      const std::vector<std::string>& known = {}) {
    return base::thrown_message<base::DataError>([&] { read(text, first_label, known); });
  }
  const base::TemporaryDirectory folder_;
  std::vector<std::string> class_names_;
  std::string remark_;
};

TEST_F(Labels, StandInTheOrderOfTheFiles) {
  EXPECT_EQ(read("3\n0\n1\n"), (std::vector<std::int32_t>{3, 0, 1}));
  EXPECT_EQ(class_names_, (std::vector<std::string>{"0", "1", "2", "3"}));
  EXPECT_EQ(read("3\r\n1\r\n1"), (std::vector<std::int32_t>{3, 1, 1}));
}

TEST_F(Labels, AreRefusedInOtherEncodings) {
  EXPECT_THAT(message("\xef\xbb\xbf"
                      "3\n0\n1\n"),
              HasSubstr("labels.txt: begins with a byte order mark; save it as UTF-8 without one"));
  EXPECT_THAT(message(std::string("\xff\xfe"
                                  "3\0\n\0",
                                  6)),
              HasSubstr("labels.txt: expected UTF-8, found UTF-16"));
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

/// 50,000 lines that begin as ILSVRC2012_validation_ground_truth.txt does.
std::string ground_truth() {
  std::string text = "490\n361\n171\n822\n";
  for (int i = 4; i < 50'000; ++i) text += std::to_string(i % 1000 + 1) + "\n";
  return text;
}

TEST_F(Labels, OfTheGroundTruthOf2012AreImageNetsOwnNumbers) {
  std::vector<std::string> names(50'000);
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = "v" + std::to_string(100'000 + i);
  const std::vector<std::string_view> files(names.begin(), names.end());
  std::vector<std::string> sorted = ilsvrc2012_wordnet_ids();
  std::ranges::sort(sorted);
  ASSERT_EQ(std::ranges::unique(sorted).begin() - sorted.begin(), 1000);
  for (const auto& known : {sorted, std::vector<std::string>()}) {
    const std::vector<std::int32_t> labels = read(files, ground_truth(), 1, known);
    EXPECT_EQ(class_names_, sorted);
    EXPECT_EQ(remark_, "");
    const auto name = [&](std::size_t image) {
      return class_names_[static_cast<std::size_t>(labels[image])];
    };
    // The classes of the first four images as TensorFlow's list of WordNet ids has them.
    EXPECT_EQ(name(0), "n01751748");
    EXPECT_EQ(name(1), "n09193705");
    EXPECT_EQ(name(2), "n02105855");
    EXPECT_EQ(name(3), "n04263257");
    EXPECT_EQ(name(1000), "n02119789");  // number 1
    EXPECT_EQ(name(1999), "n03255030");  // number 1,000
  }
  const std::vector<std::string> few(sorted.begin(), sorted.end() - 1);
  EXPECT_THAT(base::thrown_message<base::DataError>([&] { read(files, ground_truth(), 0, few); }),
              AllOf(HasSubstr("labels.txt: line "), HasSubstr("ImageNet's number "),
                    HasSubstr("is not one of the 999 known classes")));
}

TEST_F(Labels, ThatAreIntegersBesideWordNetIdsAreRemarkedOn) {
  const std::vector<std::string> known = {"n01440764", "n01443537", "n01484850"};
  EXPECT_EQ(read("2\n0\n1\n", 0, known), (std::vector<std::int32_t>{2, 0, 1}));
  EXPECT_THAT(remark_, AllOf(HasSubstr("labels.txt: its integers are taken as positions of the "
                                       "sorted class folders, from 0 on"),
                             HasSubstr("write WordNet ids instead")));
  read("n01443537\nn01440764\nn01443537\n", 0, known);
  EXPECT_EQ(remark_, "");
  read("2\n0\n1\n", 0, {"cat", "dog", "fox"});
  EXPECT_EQ(remark_, "");
}

TEST_F(Labels, MustBeOneForEachImage) {
  EXPECT_THAT(message("1\n2\n"), HasSubstr("expected 3 labels, one for each image, found 2"));
  EXPECT_THAT(message("1\n2\n3\n4\n"), HasSubstr("found 4"));
}

TEST_F(Labels, NameTheLineThatIsWrong) {
  EXPECT_THAT(message("0\n0\n1\n", 1), HasSubstr("line 1: expected a label of 1 to"));
  EXPECT_THAT(message("0\n1\n2000000\n"),
              HasSubstr("line 3: expected a label of 0 to 1048575, found 2000000"));
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
