// KeyTable and is_same_text(), compared with the standard library.
#include "runner/mllog/key_table.h"

#include <gtest/gtest.h>

#include <map>

namespace mllog {
namespace {

TEST(KeyTable, HoldsWhatAMapHolds) {
  KeyTable<int> table;
  EXPECT_EQ(table.find("seed"), nullptr);
  std::map<std::string, int> map;
  for (int i = 0; i < 3000; ++i) {  // keys of all lengths, many of them repeated
    const std::string key = std::string(static_cast<std::size_t>(i % 40), 'k') +
                            std::to_string(i % 701) + (i % 3 == 0 ? "_start" : "");
    table[key] += i;
    map[key] += i;
  }
  EXPECT_EQ(table.size(), map.size());
  for (const auto& [key, value] : map) {
    ASSERT_NE(table.find(key), nullptr) << key;
    EXPECT_EQ(*table.find(key), value) << key;
    EXPECT_EQ(table.find(key + "_"), nullptr) << key;
  }
}

TEST(KeyTable, HoldsTheEmptyKey) {
  KeyTable<int> table;
  table[""] = 3;
  EXPECT_EQ(*table.find(""), 3);
  EXPECT_EQ(table.find("a"), nullptr);
}

TEST(SameText, ComparesEveryByteOfEveryLength) {
  for (std::size_t size = 0; size < 40; ++size) {
    const std::string text(size, 'x');
    EXPECT_TRUE(is_same_text(text, std::string(size, 'x'))) << size;
    EXPECT_FALSE(is_same_text(text, text + "x")) << size;
    for (std::size_t at = 0; at < size; ++at) {
      std::string other = text;
      other[at] = 'y';
      EXPECT_FALSE(is_same_text(text, other)) << size << ", " << at;
    }
  }
}

}  // namespace
}  // namespace mllog
