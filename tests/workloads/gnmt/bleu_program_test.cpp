// `trainmark bleu` from outside.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runner/from_outside.h"
#include "workloads/exit_codes.h"

namespace {

using nlohmann::json;
using outside::content;
using outside::Ended;
using outside::kData;
using outside::kUsage;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kHypothesis[] =
    "Die Katze sitzt auf der Matte.\nEs gibt viele Leute hier, sagte er.\n"
    "Das kostet 1,000.50 Euro!\n";
constexpr char kReference[] =
    "Die Katze saß auf der Matte.\nEs sind viele Leute hier, sagte Er.\n"
    "Das kostet nur 1,000.50 Euro.\n";

class BleuProgram : public outside::ProgramTest {
 protected:
  BleuProgram() {
    write("hypothesis", kHypothesis);
    write("reference", kReference);
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }
  Ended bleu(const std::string& arguments) const {
    return shell("cd " + folder_.string() + " && " TRAINMARK " bleu " + arguments);
  }
};

TEST_F(BleuProgram, PrintsTheScoreOfTheRules) {
  const Ended ended = bleu("--reference reference hypothesis");
  ASSERT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(ended.out,
            "BLEU             55.05\n"
            "precision 1      85.7 %, 18 of 21\n"
            "precision 2      66.7 %, 12 of 18\n"
            "precision 3      46.7 %, 7 of 15\n"
            "precision 4      41.7 %, 5 of 12\n"
            "brevity penalty  0.953\n"
            "words            21, the reference 22, in 3 sentences\n"
            "settings         BLEU+case.lc+numrefs.1+smooth.exp+tok.intl\n");
  EXPECT_EQ(bleu("--reference reference hypothesis --lowercase").out, ended.out);
}

TEST_F(BleuProgram, WritesJsonOfOtherSettings) {
  const Ended ended = bleu("--reference reference hypothesis --cased --tokenize 13a --json -");
  ASSERT_EQ(ended.status, 0) << ended.err;
  const json document = json::parse(ended.out);
  EXPECT_NEAR(document.at("bleu").get<double>(), 41.9530248453, 1e-9);
  EXPECT_THAT(document.at("correct"), ElementsAre(17, 10, 5, 3));
  EXPECT_EQ(document.at("sentences"), 3);
  EXPECT_EQ(document.at("signature"), "BLEU+case.mixed+numrefs.1+smooth.exp+tok.13a");
  ASSERT_EQ(bleu("--reference reference hypothesis --json score.json").status, 0);
  EXPECT_EQ(json::parse(content(folder_ / "score.json")).at("hypothesis_words"), 21);
}

TEST_F(BleuProgram, DetokenizesByTheRulesOfALanguage) {
  write("plain", "The Jones' house isn't here.\n");
  write("tokens", "The Jo@@ nes &apos; house isn &apos;t here . <\\s>\n");
  const std::string files = "--reference plain tokens --tokenize none --cased";
  EXPECT_THAT(bleu(files + " --detokenize en").out,
              AllOf(HasSubstr("BLEU             100.00\n"), HasSubstr("tok.none+detok.en\n")));
  EXPECT_THAT(bleu(files + " --detokenize de").out, HasSubstr("precision 1      33.3 %, 2 of 6"));
}

TEST_F(BleuProgram, RefusesFilesThatDoNotBelongTogether) {
  write("short", "Die Katze sitzt auf der Matte.\n");
  const Ended shorter = bleu("--reference reference short");
  EXPECT_EQ(shorter.status, kData);
  EXPECT_THAT(shorter.err, HasSubstr("short: expected 3 lines, as reference has, found 1"));
  const Ended longer = bleu("--reference short reference");
  EXPECT_EQ(longer.status, kData);
  EXPECT_THAT(longer.err, HasSubstr("reference: expected 1 line, as short has, found 3"));
  write("empty", "");
  const Ended empty = bleu("--reference empty empty");
  EXPECT_EQ(empty.status, kData);
  EXPECT_THAT(empty.err, HasSubstr("empty: expected a sentence a line, found an empty file"));
}

TEST_F(BleuProgram, NamesThePlaceOfDamagedText) {
  write("latin",
        "gut\nStra\xDF"
        "e\nja\n");
  const Ended ended = bleu("--reference reference latin");
  EXPECT_EQ(ended.status, kData);
  EXPECT_THAT(ended.err, HasSubstr("latin:2: byte 5: expected UTF-8, found byte 0xdf"));
  EXPECT_EQ(bleu("--reference absent hypothesis").status, kData);
}

TEST_F(BleuProgram, RefusesOptionsThatCannotBe) {
  EXPECT_EQ(bleu("hypothesis").status, kUsage);
  EXPECT_EQ(bleu("--reference reference hypothesis --tokenize zh").status, kUsage);
  EXPECT_EQ(bleu("--reference reference hypothesis --cased --lowercase").status, kUsage);
  EXPECT_EQ(bleu("--reference reference hypothesis --json reference").status, kUsage);
  EXPECT_EQ(content(folder_ / "reference"), kReference);
}

}  // namespace
