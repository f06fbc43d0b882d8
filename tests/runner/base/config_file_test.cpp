// load_config: the places that errors name, and the effect of overrides.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runner/base/error.h"
#include "runner/base/object_reader.h"
#include "runner/base/strict_json.h"
#include "runner/base/temporary_directory.h"
#include "runner/base/thrown_message.h"

namespace base {
namespace {

using Json = nlohmann::json;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class ConfigFile : public ::testing::Test {
 protected:
  Json load(const std::string& text, const std::vector<std::string>& overrides = {}) {
    return load_config(directory_.write("small.json", text), overrides);
  }
  std::string refusal(const std::string& text, const std::vector<std::string>& overrides = {}) {
    return thrown_message<ConfigError>([&] { load(text, overrides); });
  }
  TemporaryDirectory directory_;
};

TEST_F(ConfigFile, AllowsComments) {
  EXPECT_EQ(load("// what this is\n{\"a\": 1, // one\n \"b\": \"x // y\"}"),
            Json::parse(R"({"a": 1, "b": "x // y"})"));
}

TEST_F(ConfigFile, KeepsSeedsOf64Bits) {
  const Json config = load(R"({"seed": 18446744073709551615})");
  EXPECT_EQ(config["seed"].get<std::uint64_t>(), 18446744073709551615u);
}

TEST_F(ConfigFile, SaysLineAndColumnOfASyntaxError) {
  EXPECT_THAT(refusal("{\n  \"a\": 1,\n  \"b\": }\n"),
              HasSubstr("small.json: line 3, column 8: not valid JSON: "));
  EXPECT_THAT(refusal("{\"a\": 1"), HasSubstr("small.json: line 1, column 8: not valid JSON"));
  EXPECT_THAT(refusal(""), HasSubstr("small.json: line 1, column 1: not valid JSON"));
  EXPECT_THAT(refusal("{} x"), HasSubstr("line 1, column 4: not valid JSON"));
  EXPECT_THAT(refusal("{\"a\": NaN}"), HasSubstr("line 1, column 7: not valid JSON"));
}

TEST_F(ConfigFile, SaysWhatIsNoJson) {
  const auto reason = [&](const std::string& text) {
    const std::string whole = refusal(text);
    const std::string mark = "not valid JSON: ";
    return whole.substr(whole.find(mark) + mark.size());
  };
  EXPECT_EQ(reason("{\"a\": 1,}"),
            "expected a name in double quotes, found '}' after a comma; remove the comma");
  EXPECT_EQ(reason("{\"a\": 1,, \"b\": 2}"), "expected a name in double quotes, found ','");
  EXPECT_EQ(reason("{\"a\" 1}"), "expected a colon, found '1'");
  EXPECT_EQ(reason("{\"a\": 1 \"b\": 2}"), "expected a comma or '}', found '\"'");
  EXPECT_EQ(reason("{\"a\": [1 2]}"), "expected a comma or ']', found '2'");
  EXPECT_EQ(reason("{\"a\": None}"), "expected a value, found 'None'; JSON has null");
  EXPECT_EQ(reason("{\"a\": -inf}"), "expected a value, found '-inf'");
  EXPECT_EQ(reason("{\"a\": nan}"), "expected a value, found 'nan'; JSON has finite numbers only");
  EXPECT_EQ(reason("{'a': 1}"),
            "expected a name in double quotes, found a single quote; JSON has double quotes");
  EXPECT_EQ(reason("workload: dlrm"), "expected a value, found 'workload'");
  EXPECT_EQ(reason("{\"a\": \"x"),
            "expected a double quote that ends the text, found the end of the file");
  EXPECT_EQ(reason("{\"a\": \"x\n\"}"),
            "expected a text that ends in its line, with \\n for a line break, found a control "
            "character (0x0A)");
  EXPECT_EQ(reason("{\"a\": \"\\q\"}"),
            "expected one of \" \\ / b f n r t u after a backslash, found 'q'");
  EXPECT_EQ(reason("{} x"), "expected the end of the file, found 'x'");
  EXPECT_EQ(reason("# x\n{}"), "expected a value, found '#'; comments are not allowed here");
  EXPECT_EQ(reason(" \n"), "expected a value, found an empty file");
  EXPECT_EQ(reason("{\"a\": \"Z\xfcrich\"}"), "the byte 0xFC is not UTF-8; save the file as UTF-8");
}

TEST_F(ConfigFile, RefusesNumbersBeyondADouble) {
  EXPECT_THAT(refusal("{\n\"a\": 1e999}"),
              HasSubstr("line 2, column 6: not valid JSON: 1e999 is beyond the largest number"));
}

TEST_F(ConfigFile, RefusesDuplicateKeysWithTheirPath) {
  EXPECT_THAT(refusal("{\"a\": [0, {\"b\": 1,\n \"b\": 2}]}"),
              HasSubstr("small.json: line 2, column 4: /a/1/b: duplicate key"));
  EXPECT_NO_THROW(load(R"({"a": {"b": 1}, "c": {"b": 2}})"));
}

TEST_F(ConfigFile, RefusesBottomlessNesting) {
  EXPECT_THAT(refusal(std::string(100000, '[')), HasSubstr("nested deeper than 200 levels"));
}

TEST_F(ConfigFile, RefusesTextThatIsNotUtf8) {
  EXPECT_THAT(refusal("{\"a\": \"\xff\"}"), HasSubstr("line 1, column 8: not valid JSON"));
}

TEST_F(ConfigFile, NamesUtf16AsSuch) {
  const std::string utf16 = std::string("{\0\"\0a\0", 6);
  for (const std::string& text : {"\xff\xfe" + utf16, utf16, std::string("\0{\0\"", 4)}) {
    EXPECT_THAT(refusal(text),
                EndsWith("not valid JSON: expected UTF-8, found UTF-16; convert it, for example by "
                         "iconv -f UTF-16 -t UTF-8"));
  }
}

TEST_F(ConfigFile, RefusesARootThatIsNoObject) {
  EXPECT_THAT(refusal("[1]"), EndsWith("must be a JSON object, got [1]"));
}

TEST_F(ConfigFile, NamesAFileThatCannotBeRead) {
  const std::string absent = (directory_.path() / "absent.json").string();
  EXPECT_EQ(thrown_message<ConfigError>([&] { load_config(absent, {}); }),
            absent + ": cannot open: No such file or directory");
  EXPECT_THAT(thrown_message<ConfigError>([&] { load_config(directory_.path().string(), {}); }),
              EndsWith(": expected a regular file, found a folder"));
  EXPECT_THAT(thrown_message<ConfigError>([&] { load_config("/dev/zero", {}); }),
              EndsWith(": expected a regular file, found a device"));
}

TEST_F(ConfigFile, AppliesOverridesInOrder) {
  EXPECT_EQ(load(R"({"a": {"b": 1}, "s": "x"})",
                 {"a.b=2", "a.c=[1, 2.5]", "s=plain text", "t=a=b", "n.m.o=true", "s2=\"3\"",
                  "a.b=3", "e=", "seed=18446744073709551615"}),
            Json::parse(R"({"a": {"b": 3, "c": [1, 2.5]}, "s": "plain text", "t": "a=b",
                            "n": {"m": {"o": true}}, "s2": "3", "e": "",
                            "seed": 18446744073709551615})"));
}

TEST_F(ConfigFile, RefusesOverridesThatAreNoUtf8) {
  EXPECT_THAT(refusal("{}", {"a=te\xC8t"}), testing::HasSubstr("expected UTF-8"));
}

TEST_F(ConfigFile, RefusesOverridesThatLeadNowhere) {
  EXPECT_EQ(refusal("{\"a\": 5}", {"a.b=1"}), "--set a.b=1: /a is not an object but 5");
  EXPECT_EQ(refusal("{}", {"a"}), "--set a: must look like key=value or outer.inner=value");
  EXPECT_EQ(refusal("{}", {"=1"}), "--set =1: has an empty key");
  EXPECT_EQ(refusal("{}", {"a..b=1"}), "--set a..b=1: has an empty key");
  EXPECT_EQ(refusal("{}", {"a.=1"}), "--set a.=1: has an empty key");
}

TEST(StrictJson, RefusesCommentsUnlessAllowed) {
  EXPECT_THROW(parse_strict_json("// c\n1", "x", JsonComments::kRefused), DataError);
  EXPECT_EQ(parse_strict_json("// c\n1", "x", JsonComments::kAllowed), 1);
}

}  // namespace
}  // namespace base
