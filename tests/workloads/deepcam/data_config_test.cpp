// Tests of the "dataset" section: defaults and refusals.
#include "workloads/deepcam/data_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runner/base/error.h"
#include "runner/base/thrown_message.h"

namespace deepcam {
namespace {

using nlohmann::json;

DataConfig parsed(const json& section) {
  const base::ObjectReader reader(section, "test.json");
  const DataConfig data = parse_data(reader);
  reader.reject_unknown();
  return data;
}

TEST(ParseData, HasDefaults) {
  const DataConfig data = parsed({{"train", "/data/train"}, {"validation", "/data/validation"}});
  EXPECT_EQ(data.train, "/data/train");
  EXPECT_EQ(data.validation, "/data/validation");
  EXPECT_EQ(data.statistics, "/data/stats.h5");
  EXPECT_EQ(data.train_samples, 0);
  EXPECT_EQ(data.shards, 1);
  EXPECT_EQ(data.cache_bytes, 0);
  EXPECT_EQ(data.decode_threads, 0);
  EXPECT_EQ(data.prefetch_batches, 2);
  EXPECT_FALSE(data.counts_known());
}

TEST(ParseData, LooksForStatisticsBesideTheTrainingSet) {
  for (const auto& [train, statistics] : {std::pair("/data/train/", "/data/stats.h5"),
                                          {"data/train", "data/stats.h5"},
                                          {"train", "stats.h5"},
                                          {"train/", "stats.h5"},
                                          {"../a/b", "../a/stats.h5"}}) {
    EXPECT_EQ(parsed({{"train", train}, {"validation", "v"}}).statistics, statistics);
  }
  EXPECT_EQ(parsed({{"train", "/a/b"}, {"validation", "v"}, {"statistics", "/c/s.h5"}}).statistics,
            "/c/s.h5");
}

TEST(ParseData, TakesEveryKey) {
  const DataConfig data = parsed({{"train", "t"},
                                  {"validation", "v"},
                                  {"train_samples", 121266},
                                  {"validation_samples", 15158},
                                  {"shards", 4},
                                  {"cache_bytes", 1000},
                                  {"decode_threads", 3},
                                  {"prefetch_batches", 5}});
  EXPECT_EQ(data.train_samples, 121266);
  EXPECT_EQ(data.validation_samples, 15158);
  EXPECT_EQ(data.shards, 4);
  EXPECT_EQ(data.cache_bytes, 1000);
  EXPECT_EQ(data.decode_threads, 3);
  EXPECT_EQ(data.prefetch_batches, 5);
  EXPECT_TRUE(data.counts_known());
}

TEST(ParseData, RefusesWhatCannotBe) {
  const json good = {{"train", "t"}, {"validation", "v"}};
  const auto message = [&](const char* key, const json& value) {
    json bad = good;
    bad[key] = value;
    return base::thrown_message<base::ConfigError>([&] { parsed(bad); });
  };
  for (const auto& [key, value] :
       std::initializer_list<std::pair<const char*, json>>{{"train", ""},
                                                           {"validation", 3},
                                                           {"statistics", ""},
                                                           {"train_samples", -1},
                                                           {"shards", 0},
                                                           {"cache_bytes", -1},
                                                           {"decode_threads", 5000},
                                                           {"prefetch_batches", 0},
                                                           {"statistic", "s.h5"}}) {
    EXPECT_THAT(message(key, value), testing::HasSubstr(std::string("/") + key));
  }
  EXPECT_THAT(base::thrown_message<base::ConfigError>([] {
                parsed({{"train", "t"}});
              }),
              testing::HasSubstr("validation"));
}

}  // namespace
}  // namespace deepcam
