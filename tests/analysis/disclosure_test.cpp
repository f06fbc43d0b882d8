// Text of precision and parallelism.
#include "analysis/disclosure.h"

#include <gmock/gmock.h>

#include <map>
#include <string>

#include "runner/mllog/keys.h"

namespace {

namespace keys = mllog::keys;
using analysis::Disclosure;
using analysis::Value;
using Logged = std::map<std::string, Value>;

Disclosure disclosure_of(const Logged& logged) {
  return analysis::disclosure_of([&](const std::string& key) {
    const auto found = logged.find(key);
    return found == logged.end() ? Value() : found->second;
  });
}

Logged all_of_them() {
  return {
      {keys::kPrecisionInLinear, "bfloat16"},        {keys::kPrecisionInAttention, "bfloat16"},
      {keys::kPrecisionInCommunication, "bfloat16"}, {keys::kTensorParallelism, std::int64_t{1}},
      {keys::kPipelineParallelism, std::int64_t{1}}, {keys::kContextParallelism, std::int64_t{1}},
      {keys::kExpertParallelism, std::int64_t{1}},   {keys::kMicroBatchSize, std::int64_t{2}},
      {keys::kConfigFilename, "config.sh"}};
}

TEST(Disclosure, IsOneWordWhereAllAgree) {
  const Disclosure told = disclosure_of(all_of_them());
  EXPECT_EQ(told.precision, "bfloat16");
  EXPECT_EQ(told.parallelism, "data");
  EXPECT_EQ(told.micro_batch_size, Value(std::int64_t{2}));
  EXPECT_EQ(told.config_filename, "config.sh");
}

TEST(Disclosure, NamesWhatDiffers) {
  Logged logged = all_of_them();
  logged[keys::kPrecisionInLinear] = "mxfp4";
  logged[keys::kTensorParallelism] = std::int64_t{8};
  logged[keys::kPipelineParallelism] = 4.0;
  const Disclosure told = disclosure_of(logged);
  EXPECT_EQ(told.precision, "linear mxfp4, attention bfloat16, communication bfloat16");
  EXPECT_EQ(told.parallelism, "tensor 8, pipeline 4");
}

TEST(Disclosure, TellsHowGradientsTravelIfNotInFull) {
  Logged logged = all_of_them();
  EXPECT_EQ(disclosure_of(logged).gradients, "");
  logged[keys::kGradientsBetweenNodes] = "top_k 0.01 with error feedback";
  EXPECT_EQ(disclosure_of(logged).gradients, "top_k 0.01 with error feedback");
}

TEST(Disclosure, SaysNoMoreThanTheLog) {
  EXPECT_FALSE(disclosure_of({}).is_told());
  EXPECT_EQ(disclosure_of({{keys::kPrecisionInLinear, "fp8"}}).precision, "linear fp8");
  EXPECT_EQ(disclosure_of({{keys::kPrecisionInLinear, "fp8"}}).parallelism, "");
  EXPECT_TRUE(disclosure_of({{keys::kMicroBatchSize, std::int64_t{0}}}).is_told());
}

}  // namespace
