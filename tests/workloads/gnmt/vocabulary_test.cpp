// Words and their numbers.
#include "workloads/gnmt/vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/temporary_directory.h"
#include "runner/base/thrown_message.h"

namespace {

using gnmt::Vocabulary;
using gnmt::WordId;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

class VocabularyTest : public testing::Test {
 protected:
  Vocabulary made(const std::string& text, std::int64_t multiple = 8) const {
    return Vocabulary(folder_.write("vocab", text), multiple);
  }
  std::string refusal(const std::string& text) const {
    return base::thrown_message<base::DataError>([&] { made(text); });
  }

 private:
  const base::TemporaryDirectory folder_;
};

TEST_F(VocabularyTest, NumbersWordsBehindTheSpecialOnes) {
  const Vocabulary vocabulary = made(",\n.\nthe\nHa@@\nus\n");
  EXPECT_THAT(vocabulary.encode("the Ha@@ us , fell ."), ElementsAre(2, 6, 7, 8, 4, 1, 5, 3));
  EXPECT_THAT(vocabulary.encode(" the\u00A0us\r"), ElementsAre(2, 6, 8, 3));
  EXPECT_THAT(vocabulary.encode(""), ElementsAre(2, 3));
  EXPECT_EQ(vocabulary.id_of("<\\s>"), gnmt::kEnd);
  EXPECT_EQ(vocabulary.id_of("</s>"), gnmt::kUnknown);
}

TEST_F(VocabularyTest, HasTheSizeOfTheBenchmarks) {
  std::string words;
  for (int i = 0; i < 32313; ++i) words += "w" + std::to_string(i) + "\n";
  const Vocabulary vocabulary = made(words);
  EXPECT_EQ(vocabulary.size(), 32320);
  EXPECT_EQ(vocabulary.id_of("w32312"), 32316);
  EXPECT_EQ(vocabulary.id_of("madeupword0000"), 32317);
  EXPECT_EQ(vocabulary.id_of("madeupword0002"), 32319);
  EXPECT_EQ(made(words, 1).size(), 32317);
}

TEST_F(VocabularyTest, DecodesUpToTheEnd) {
  const Vocabulary vocabulary = made("a\nb@@\nc\n");
  const auto decoded = [&](const std::vector<WordId>& ids) { return vocabulary.decode(ids); };
  EXPECT_EQ(decoded({2, 4, 5, 6, 1, 3, 4, 0}), "a b@@ c <unk>");
  EXPECT_EQ(decoded({5, 6}), "b@@ c");
  EXPECT_EQ(decoded({2, 3}), "");
  EXPECT_EQ(decoded(vocabulary.encode("a c")), "a c");
  EXPECT_THROW(decoded({4, 8}), base::Error);
}

TEST_F(VocabularyTest, RefusesWhatIsNoListOfWords) {
  EXPECT_THAT(refusal("the 1234\nof 99\n"),
              EndsWith("vocab:1: expected one word, found 'the 1234'"));
  EXPECT_THAT(refusal("the\n\nof\n"), EndsWith("vocab:2: expected one word, found ''"));
  EXPECT_THAT(refusal("the\nof\nthe\n"),
              EndsWith("vocab:3: expected a word that is new, found 'the'"));
  EXPECT_THAT(refusal("<unk>\n"), HasSubstr("vocab:1: expected a word that is new"));
  EXPECT_THAT(refusal(""), EndsWith("vocab: expected a word a line, found an empty file"));
  EXPECT_THAT(refusal("gut\n\xDF\n"), HasSubstr("vocab:2: byte 1: expected UTF-8"));
}

TEST_F(VocabularyTest, IsBounded) {
  std::string words;
  for (int i = 0; i < 65532; ++i) words += std::to_string(i) + "\n";
  EXPECT_EQ(made(words).size(), 65536);
  EXPECT_THAT(refusal(words + "more\n"), EndsWith("vocab:65533: expected at most 65532 words"));
}

}  // namespace
