// Tests of reading and writing method files.
#include "workloads/parallel/method_file.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runner/base/error.h"
#include "runner/base/temporary_directory.h"
#include "runner/base/thrown_message.h"

namespace parallel {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using Methods = std::map<std::string, std::string>;

class MethodFile : public testing::Test {
 protected:
  std::string file(const std::string& text) const {
    folder_.write("methods.json", text);
    return (folder_.path() / "methods.json").string();
  }
  std::string refusal(const std::string& text) const {
    return base::thrown_message<base::ConfigError>([&] { read_methods(file(text)); });
  }
  base::TemporaryDirectory folder_;
};

TEST_F(MethodFile, IsReadAsItWasWritten) {
  const Methods methods = {{"forward 64->128 k3x3 s1x1 p1x1 of 56x56 f32", "padded"},
                           {"weights_gradient 64->128 k1x1 s2x2 p0x0 of 56x56 f32", "library"}};
  EXPECT_EQ(read_methods(file(methods_document(methods, 2).dump())), methods);
  EXPECT_EQ(read_methods(file(methods_document({}, 2).dump())), Methods());
}

TEST_F(MethodFile, IsRefusedWithThePlaceOfWhatIsWrong) {
  EXPECT_THAT(
      base::thrown_message<base::ConfigError>([] { read_methods("/nowhere/methods.json"); }),
      HasSubstr("/nowhere/methods.json: cannot open"));
  EXPECT_THAT(refusal("{"), HasSubstr("methods.json: line 1"));
  EXPECT_THAT(refusal("[]"), HasSubstr("expected an object, got []"));
  EXPECT_THAT(refusal(R"({"schema": 2, "methods": []})"), HasSubstr("schema"));
  EXPECT_THAT(refusal(R"({"schema": 1, "methods": {}})"), HasSubstr("methods"));
  EXPECT_THAT(refusal(R"({"schema": 1, "methods": [], "more": 1})"), HasSubstr("more"));
  const auto rows = [&](const json& methods) {
    return refusal(json({{"schema", 1}, {"methods", methods}}).dump());
  };
  const json good = {{"product", "forward 1->2"}, {"method", "padded"}};
  EXPECT_THAT(rows({{{"product", "sideways 1->2"}, {"method", "padded"}}}),
              HasSubstr("expected forward, source_gradient or weights_gradient and shapes, got "
                        "sideways"));
  EXPECT_THAT(rows({{{"product", "forward 1->2"}, {"method", "guess"}}}),
              HasSubstr("expected the name of a method, got guess"));
  EXPECT_THAT(rows({good, good}), HasSubstr("given twice: forward 1->2"));
}

}  // namespace
}  // namespace parallel
