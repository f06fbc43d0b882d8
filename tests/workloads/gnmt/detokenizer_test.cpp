// Detokenizing against Moses' own results.
#include "workloads/gnmt/detokenizer.h"

#include <gtest/gtest.h>

#include "runner/base/error.h"

namespace {

using gnmt::Language;

std::string english(const std::string& tokens) {
  return gnmt::detokenize(tokens, Language::kEnglish);
}
std::string german(const std::string& tokens) {
  return gnmt::detokenize(tokens, Language::kGerman);
}

void expect_of_both(const std::string& tokens, const std::string& text) {
  EXPECT_EQ(english(tokens), text);
  EXPECT_EQ(german(tokens), text);
}

TEST(Detokenizer, DropsBlanksAroundPunctuation) {
  expect_of_both("&quot; Ja &quot; , sagte er : es ist 3.5 % mehr ( ca . ) !",
                 "\"Ja\", sagte er: es ist 3.5% mehr (ca.)!");
  expect_of_both("„ Nein “ , rief sie ; das kostet $ 5 .", "„Nein“, rief sie; das kostet $5.");
}

TEST(Detokenizer, UnescapesAndJoinsHyphens) {
  expect_of_both("die EU @-@ Kommission &amp; der Rat &#91; 1 &#93;",
                 "die EU-Kommission & der Rat [1]");
  expect_of_both("die EU @-@ Kommission &amp; der Rat [ 1 ]", "die EU-Kommission & der Rat [1]");
  expect_of_both("a &lt; b &#124; c &amp;lt; d", "a < b | c &lt; d");
}

TEST(Detokenizer, KnowsEnglishApostrophes) {
  const std::string tokens = "The Jones &apos; house isn &apos;t here .";
  EXPECT_EQ(english(tokens), "The Jones' house isn't here.");
  EXPECT_EQ(german(tokens), "The Jones 'house isn 't here.");
}

TEST(Detokenizer, CountsEachQuotationMarkByItself) {
  expect_of_both("&quot; a ` b ` c &quot; d &quot; e &quot;", "\"a `b` c\" d \"e\"");
  expect_of_both("„ a &quot; b „ c “", "„a\" b „c“");  // all count as the straight one
}

TEST(Detokenizer, LeavesNoBlankBetweenChineseWords) {
  expect_of_both("Das ist 中 文 .", "Das ist 中文.");
}

TEST(Detokenizer, LeavesTagsAndBlankLinesAsTheyAre) {
  expect_of_both("<seg id = 1 , x>", "<seg id = 1 , x>");
  expect_of_both("", "");
  expect_of_both("  ", "  ");
  expect_of_both("  a   b  ", "a b");
}

TEST(Detokenizer, RefusesWhatIsNotUtf8) {
  EXPECT_THROW(english("a \xFF"), base::DataError);
  EXPECT_THROW(gnmt::join_pieces("a \xFF"), base::DataError);
}

TEST(JoinPieces, RemovesMarksAndSpecialTokens) {
  EXPECT_EQ(gnmt::join_pieces("das Ha@@ us@@ dach ist ro@@ t"), "das Hausdach ist rot");
  EXPECT_EQ(gnmt::join_pieces("<s> ein Ha@@ <\\s> <pad> <pad>"), "ein Ha");
  EXPECT_EQ(gnmt::join_pieces("<unk> a@@"), "<unk> a");
}

}  // namespace
