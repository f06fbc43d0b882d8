// JSON documents as text.
#include "runner/base/json_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace {

TEST(JsonText, IsAsciiWhateverTheDocumentHolds) {
  const nlohmann::ordered_json document = {{"z", "\x1b\xc2\x9b\xe2\x80\xae\xef\xbb\xbf\xc3\xa9"},
                                           {"a", "\xff"}};
  EXPECT_EQ(base::json_text(document, -1),
            "{\"z\":\"\\u001b\\u009b\\u202e\\ufeff\\u00e9\",\"a\":\"\\ufffd\"}\n");
  EXPECT_EQ(nlohmann::ordered_json::parse(base::json_text(document))["z"], document["z"]);
}

TEST(JsonText, IsOneLineForAnyBytes) {
  const nlohmann::json document = {{"path", "/data/caf\xe9"}, {"line", "a\nb"}};
  EXPECT_EQ(base::json_line(document), R"({"line":"a\nb","path":"/data/caf\ufffd"})");
}

}  // namespace
