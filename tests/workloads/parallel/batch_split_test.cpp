// Tests of the split of a batch over ranks, and of its disclosure in the log.
#include <gtest/gtest.h>

#include <limits>

#include "runner/base/error.h"
#include "workloads/parallel/data_parallel.h"

namespace {

TEST(BatchSplit, RefusesABatchThatDoesNotFit) {
  EXPECT_THROW(parallel::split_batch({48, 5, 1, {}}, 1), base::ConfigError);
  EXPECT_THROW(parallel::split_batch({48, 1, 7, {}}, 1), base::ConfigError);
  EXPECT_THROW(parallel::split_batch({4, 1, 1, {}}, 5), base::ConfigError);
  for (const std::int64_t large :
       {std::int64_t{1} << 31, std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_THROW(parallel::split_batch({large, 1, large, {}}, 2), base::ConfigError) << large;
  }
  EXPECT_EQ(parallel::split_batch({3 * parallel::kMostPassSamples, 3, 1, {}}, 1).slices[0].count,
            parallel::kMostPassSamples);
}

TEST(BatchSplit, DisclosesWhatARankHasOfAPass) {
  parallel::DataParallelConfig config;
  config.global_batch = 50;
  config.accumulation = 2;
  runner::Disclosure facts = disclosure_of(config, split_batch(config, 3), 3);
  EXPECT_EQ(facts.micro_batch_size, 9);  // of 25 = 9 + 8 + 8
  EXPECT_EQ(facts.linear, "fp32");
  EXPECT_EQ(facts.communication, "fp32");
  config.arithmetic.precision = nn::Precision::kBf16;
  facts = disclosure_of(config, split_batch(config, 3), 3);
  EXPECT_EQ(facts.linear, "bfloat16");
  EXPECT_EQ(facts.communication, "fp32");
  config.ranks_per_sample = 2;
  facts = disclosure_of(config, split_batch(config, 4), 4);
  EXPECT_EQ(facts.communication, "bfloat16");
  EXPECT_EQ(facts.context_ranks, 2);
  EXPECT_EQ(facts.micro_batch_size, 13);
  parallel::DataParallelConfig narrow;
  narrow.global_batch = 4;
  narrow.gradients.payload = parallel::GradientPayload::kBf16;
  facts = disclosure_of(narrow, split_batch(narrow, 2), 2);
  EXPECT_EQ(facts.linear, "fp32");
  EXPECT_EQ(facts.communication, "bfloat16");
  EXPECT_EQ(facts.gradients, "bf16 with error feedback");
  facts = disclosure_of(narrow, split_batch(narrow, 2), 1);
  EXPECT_EQ(facts.communication, "fp32");
  EXPECT_EQ(facts.gradients, "");
  narrow.gradients.payload = parallel::GradientPayload::kInt8;
  EXPECT_EQ(disclosure_of(narrow, split_batch(narrow, 2), 2).communication, "int8");
  narrow.gradients.payload = parallel::GradientPayload::kTopK;
  facts = disclosure_of(narrow, split_batch(narrow, 2), 2);
  EXPECT_EQ(facts.communication, "fp32");
  EXPECT_EQ(facts.gradients, "top_k 0.01 with error feedback");
}

}  // namespace
