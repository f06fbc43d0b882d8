// The tokenizers and the lower case against sacreBLEU 1.2.10's own results.
#include "workloads/gnmt/tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runner/base/error.h"
#include "runner/base/thrown_message.h"
#include "workloads/gnmt/code_points.h"

namespace {

using gnmt::Casing;
using gnmt::Tokenizer;
using testing::HasSubstr;

std::string tokenized(const std::string& sentence, Tokenizer tokenizer,
                      Casing casing = Casing::kKept) {
  std::string joined;
  for (const std::string& word : gnmt::words_of(sentence, tokenizer, casing)) {
    joined += (joined.empty() ? "" : " ") + word;
  }
  return joined;
}

std::string intl(const std::string& sentence) { return tokenized(sentence, Tokenizer::kIntl); }
std::string of_13a(const std::string& sentence) { return tokenized(sentence, Tokenizer::k13a); }

TEST(IntlTokenizer, SeparatesPunctuationFromWhatIsNoDigit) {
  EXPECT_EQ(intl("Hello, world! It costs $1,000.50 (approx.)."),
            "Hello , world ! It costs $ 1,000.50 ( approx . ) .");
  EXPECT_EQ(intl("„Ja“, sagte er: 3.5% mehr – 20€!"), "„ Ja “ , sagte er : 3.5 % mehr – 20 € !");
  EXPECT_EQ(intl("U.S.-Beispiel, 10-jährig"), "U . S . - Beispiel , 10 - jährig");
}

TEST(IntlTokenizer, LeavesAFullStopBehindADigitAtTheEnd) {
  EXPECT_EQ(intl("Er kam um 8:30 Uhr/9."), "Er kam um 8:30 Uhr / 9.");
  EXPECT_EQ(intl("Er kam um 8:30 Uhr/9. \t"), "Er kam um 8:30 Uhr / 9.");
}

TEST(IntlTokenizer, TakesTheBackslashForNoPunctuation) {
  EXPECT_EQ(intl("a\\b c_d e@f #tag x^y z~"), "a\\b c _ d e @ f # tag x ^ y z ~");
}

TEST(IntlTokenizer, TakesDigitsOfAllScripts) {
  EXPECT_EQ(intl("٣,٥ ३.२! ok"), "٣,٥ ३.२ ! ok");  // Arabic-Indic and Devanagari
}

TEST(Tokenizer13a, SeparatesAsciiAlone) {
  EXPECT_EQ(of_13a("„Ja“, sagte er: 3.5% mehr – 20€!"), "„Ja“ , sagte er : 3.5 % mehr – 20€ !");
  EXPECT_EQ(of_13a("Er kam um 8:30 Uhr/9."), "Er kam um 8 : 30 Uhr / 9 .");
  EXPECT_EQ(of_13a("1990-95 <skipped>A&amp;B &quot;x&quot; &lt;y&gt;"),
            "1990 - 95 A & B \" x \" < y >");
}

TEST(NoTokenizer, SplitsAtEveryWhiteSpace) {
  EXPECT_EQ(tokenized(" a.b\u00A0c\u2028d\te\x1F"
                      "f ",
                      Tokenizer::kNone),
            "a.b c d e f");
  EXPECT_EQ(tokenized("", Tokenizer::kNone), "");
  EXPECT_EQ(tokenized(" \u3000\r", Tokenizer::kIntl), "");
}

/// Values of Python's str.lower().
TEST(LowerCase, IsUnicodesFullMapping) {
  EXPECT_EQ(gnmt::lower_case("Die EU"), "die eu");
  EXPECT_EQ(gnmt::lower_case("ÄÖÜ ẞ ß Ǆ"), "äöü ß ß ǆ");
  EXPECT_EQ(gnmt::lower_case("ΟΔΟΣ ΣΑΣ. Σ"), "οδος σας. σ");
  EXPECT_EQ(gnmt::lower_case("İI"), "i\u0307i");
  EXPECT_EQ(gnmt::lower_case("𐐀"), "𐐨");
}

TEST(LowerCase, ComesBeforeTheTokenizer) {
  EXPECT_EQ(tokenized("ÄRGER, Straße!", Tokenizer::kIntl, Casing::kLower), "ärger , straße !");
}

TEST(WordsOf, RefusesWhatIsNotUtf8) {
  EXPECT_EQ(base::thrown_message<base::DataError>([] { intl("Stra\xDF\x65"); }),
            "byte 5: expected UTF-8, found byte 0xdf");
}

TEST(TokenizerNames, AreReadAndWritten) {
  for (const char* name : {"none", "13a", "intl"}) {
    EXPECT_STREQ(gnmt::to_string(gnmt::parse_tokenizer(name)), name);
  }
  EXPECT_THAT(base::thrown_message<base::ConfigError>([] { gnmt::parse_tokenizer("zh"); }),
              HasSubstr("expected none, 13a or intl, got 'zh'"));
}

}  // namespace
