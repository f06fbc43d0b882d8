// Comparison of layers.
#include "analysis/comparison/layers.h"

#include <gtest/gtest.h>

namespace {

using analysis::comparison::layer_differences;

TEST(LayerDifferences, StandWithTheLargestFirst) {
  const auto differences =
      layer_differences({{"a", 1.0}, {"b", 2.0}, {"gone", 0.5}}, {{"a", 1.25}, {"b", 1.0}});
  ASSERT_EQ(differences.size(), 3u);
  EXPECT_EQ(differences[0].name, "b");
  EXPECT_EQ(differences[0].difference_s(), -1.0);
  EXPECT_EQ(differences[1].name, "gone");
  EXPECT_FALSE(differences[1].second_s);
  EXPECT_EQ(differences[2].difference_s(), 0.25);
}

}  // namespace
