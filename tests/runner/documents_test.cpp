// Facts as lines and tables.
#include "runner/documents.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

namespace {

using nlohmann::json;

std::string printed(const json& facts) {
  std::ostringstream out;
  runner::print_facts(facts, out);
  return out.str();
}

TEST(PrintFacts, WritesALineForEachValue) {
  EXPECT_EQ(printed({{"a", {{"b", 1}, {"c", "x"}}}, {"list", {1, 2}}}),
            "a.b   1\na.c   x\nlist  1, 2\n");
}

TEST(PrintFacts, PutsTablesBehindTheLines) {
  const json rows = {{{"name", "conv1"}, {"kind", "jit"}, {"ms", 1.23456}, {"limit", 7}},
                     {{"name", "bn"}, {"kind", "own"}, {"ms", 10.0}, {"limit", nullptr}}};
  EXPECT_EQ(printed({{"a", 1}, {"layers", rows}}),
            "a  1\n"
            "\n"
            "layers\n"
            "name   limit     ms  kind\n"
            "conv1      7  1.235  jit\n"
            "bn         -     10  own\n");
}

}  // namespace
