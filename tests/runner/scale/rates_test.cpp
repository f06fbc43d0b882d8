// Tests of units, and of rates from the files of other commands.
#include "runner/scale/rates.h"

#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "runner/base/error.h"
#include "runner/base/fake_clock.h"
#include "runner/base/temporary_directory.h"
#include "runner/base/thrown_message.h"
#include "runner/telemetry/report_file.h"

namespace scale {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST(LinkRate, HasUnits) {
  EXPECT_DOUBLE_EQ(parse_link_rate("10Gbit/s"), 1.25e9);
  EXPECT_DOUBLE_EQ(parse_link_rate("1.2GB/s"), 1.2e9);
  EXPECT_DOUBLE_EQ(parse_link_rate("8e3bit/s"), 1e3);
  EXPECT_DOUBLE_EQ(parse_latency("50us"), 50e-6);
  EXPECT_DOUBLE_EQ(parse_latency("1.5ms"), 1.5e-3);
  EXPECT_DOUBLE_EQ(parse_latency("2s"), 2);
}

TEST(LinkRate, IsRefusedWithoutThem) {
  for (const char* text : {"", "10", "10G", "10Gb/s", "-1GB/s", "0GB/s", "infGB/s", "GB/s"}) {
    EXPECT_THAT(base::thrown_message<base::ConfigError>([&] { parse_link_rate(text); }),
                HasSubstr("--link: expected a positive number with one of the units bit/s"))
        << text;
  }
  EXPECT_THAT(base::thrown_message<base::ConfigError>([] { parse_latency("5min"); }),
              HasSubstr("--latency: expected a positive number with one of the units ns us ms s, "
                        "got '5min'"));
}

class RateFiles : public testing::Test {
 protected:
  std::string write(const std::string& name, const json& document) const {
    folder_.write(name, document.dump());
    return path(name);
  }
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  std::string refusal_of(const json& document) const {
    const std::string file = write("refused.json", document);
    return base::thrown_message<base::DataError>([&] { (void)read_compute_rate(file); });
  }
  const base::TemporaryDirectory folder_;
};

json bench() {
  return {{"workload", "resnet50"},
          {"batch_per_rank", 32},
          {"flops_per_sample", 1000},
          {"breakdown_s_per_step",
           {{"input", 0.5}, {"forward", 1}, {"backward", 2}, {"optimizer", 0.5}, {"exchange", 9}}}};
}

TEST_F(RateFiles, ComeFromABench) {
  const ComputeRate rate = read_compute_rate(write("bench.json", bench()));
  EXPECT_EQ(rate.samples_per_s, 8);
  EXPECT_EQ(rate.flops_per_sample, 1000);
  EXPECT_EQ(rate.workload, "resnet50");
  json without = bench();
  without["breakdown_s_per_step"].erase("backward");
  EXPECT_THAT(refusal_of(without), HasSubstr("/breakdown_s_per_step/backward: expected seconds"));
  json none = bench();
  none["batch_per_rank"] = 0;
  EXPECT_THAT(refusal_of(none),
              HasSubstr("/batch_per_rank: expected a number above 0 and up to 1e18, got 0"));
  EXPECT_THAT(refusal_of(json::array()), HasSubstr("expected a run's telemetry file"));
}

/// Of two ranks, which compute 1 + 2 + 3 + 4 s each, wait for 5 s, and train 40 and 20 samples.
json telemetry_of_run() {
  const base::FakeClock clock;
  const telemetry::Telemetry telemetry(clock);
  std::vector<std::string> entries;
  for (const int rank : {0, 1}) {
    json entry = json::parse(telemetry::rank_entry({rank, "host", rank, 1}, telemetry));
    entry["wall_s"] = 15;
    const json computing = {{"input", 1}, {"forward", 2}, {"backward", 3}, {"optimizer", 4}};
    entry["subsystems_s"].update(computing);
    entry["subsystems_s"]["exchange"] = 5;
    entry["counters"]["train_samples"] = rank == 0 ? 40 : 20;
    entry["counters"]["flops"] = rank == 0 ? 400 : 200;
    entries.push_back(entry.dump());
  }
  const base::TemporaryDirectory folder;
  const std::string path = (folder.path() / "t.json").string();
  telemetry::write_report(path, "resnet50", entries, {}, json::object());
  std::ifstream in(path);
  return json::parse(in);
}

TEST_F(RateFiles, ComeFromARun) {
  const std::string file = write("result_1.telemetry.json", telemetry_of_run());
  for (const std::string& given : {file, folder_.path().string()}) {
    const ComputeRate rate = read_compute_rate(given);
    EXPECT_EQ(rate.samples_per_s, 3) << "60 samples in 20 s";
    EXPECT_EQ(rate.flops_per_sample, 10);
    EXPECT_EQ(rate.workload, "resnet50");
    EXPECT_EQ(rate.source, file);
  }
  json idle = telemetry_of_run();
  for (json& rank : idle["ranks"]) rank["counters"]["train_samples"] = 0;
  write("result_1.telemetry.json", idle);
  EXPECT_THAT(base::thrown_message<base::DataError>([&] { (void)read_compute_rate(file); }),
              HasSubstr("expected a run that trained samples"));
}

TEST_F(RateFiles, NeedARunInAFolder) {
  EXPECT_THAT(base::thrown_message<base::DataError>(
                  [&] { (void)read_compute_rate(folder_.path().string()); }),
              HasSubstr("expected a run's file, result_1.telemetry.json, found none"));
}

TEST_F(RateFiles, TakeTheSlowestLink) {
  json exchange = {{"kind", "exchange"},
                   {"links",
                    {{{"bytes_per_s", 100}, {"latency_s", 0.1}},
                     {{"bytes_per_s", 50}, {"latency_s", 0.05}},
                     {{"bytes_per_s", 70}, {"latency_s", 0.2}}}}};
  const Link link = read_link(write("exchange.json", exchange));
  EXPECT_EQ(link.bytes_per_s, 50);
  EXPECT_EQ(link.latency_s, 0.2);
  const auto refusal = [&](const json& document) {
    const std::string file = write("refused.json", document);
    return base::thrown_message<base::DataError>([&] { (void)read_link(file); });
  };
  exchange["links"][1]["latency_s"] = "short";
  EXPECT_THAT(refusal(exchange), HasSubstr("/links/1/latency_s: expected a number above 0"));
  exchange["links"] = json::array();
  EXPECT_THAT(refusal(exchange), HasSubstr("/links: expected links between nodes, found none"));
  EXPECT_THAT(refusal(bench()), HasSubstr("expected the JSON of trainmark bench exchange"));
}

}  // namespace
}  // namespace scale
