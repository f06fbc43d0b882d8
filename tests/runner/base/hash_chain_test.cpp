// Tests of hash chains against published values.
#include "runner/base/hash_chain.h"

#include <gtest/gtest.h>

namespace base {
namespace {

TEST(HashChain, HasThePublishedValues) {
  EXPECT_EQ(mix(0), 0xe220a8397b1dcdafU);
  EXPECT_EQ(mix(1), 0x910a2dec89025cc1U);
  EXPECT_EQ(chain({3, 4}), mix(mix(3) ^ 4));
  EXPECT_EQ(chain({4}, chain({3})), chain({3, 4}));
  const double expected[] = {0.09351878, -1.23769354, 0.62409309};
  for (std::uint64_t c = 0; c < 3; ++c) {
    EXPECT_NEAR(normal_of(chain({11, 0, c})), expected[c], 5e-9);
  }
}

}  // namespace
}  // namespace base
