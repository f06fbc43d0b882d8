// Comparisons of results of `bench exchange`: figures, bad input.
#include "analysis/comparison/exchange_result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runner/base/error.h"
#include "runner/base/thrown_message.h"

namespace {

using analysis::comparison::compare_exchanges;
using analysis::comparison::ExchangeComparison;
using analysis::comparison::ExchangeResult;
using analysis::comparison::parse_exchange;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

json side(const std::vector<double>& times) {
  return {{"time_s", {{"times", times}}}, {"busbw_bytes_per_s", 1000.0 / times.front()}};
}

json row(const std::string& operation, std::int64_t bytes, const json& training, const json& mpi) {
  return {{"operation", operation}, {"bytes", bytes}, {"training", training}, {"mpi", mpi}};
}

json document(const json& rows, int ranks = 2) {
  return {{"kind", "exchange"}, {"ranks", ranks}, {"nodes", 1}, {"rows", rows}};
}

ExchangeResult parsed(const json& document) { return parse_exchange(document.dump(), "x").value(); }

TEST(ExchangeComparison, DividesMedianTimesOfWhatBothHave) {
  const std::vector<double> slow = {2.0, 2.2, 2.1, 2.0, 2.1}, fast = {1.0, 1.1, 1.05, 1.05, 1.0};
  const ExchangeResult first = parsed(
      document({row("allreduce", 8, side(slow), side(fast)), row("halo", 8, nullptr, side(fast))}));
  const ExchangeResult second = parsed(document(
      {row("allreduce", 8, side(fast), side(fast)), row("allreduce", 16, side(fast), side(fast))},
      4));
  const ExchangeComparison comparison = compare_exchanges(first, second, 1);
  ASSERT_EQ(comparison.rows.size(), 2u);
  EXPECT_EQ(comparison.rows[0].key.side, "mpi");
  EXPECT_EQ(comparison.rows[0].ratio, 1.0);
  EXPECT_FALSE(comparison.rows[0].distinguishable);
  EXPECT_EQ(comparison.rows[1].key.side, "training");
  EXPECT_DOUBLE_EQ(comparison.rows[1].ratio, 2.1 / 1.05);
  EXPECT_EQ(comparison.rows[1].first_bus_bytes_per_s, 500.0);
  // Of the 252 ways to choose five of ten, the observed one and its mirror; two rows.
  EXPECT_DOUBLE_EQ(comparison.rows[1].p_value.value(), 2 * 2.0 / 252.0);
  EXPECT_TRUE(comparison.rows[1].is_faster);
  EXPECT_TRUE(comparison.rows[1].distinguishable);
  EXPECT_EQ(comparison.only_first, 1);
  EXPECT_EQ(comparison.only_second, 2);
  EXPECT_THAT(comparison.differences, ElementsAre("ranks: 2 and 4"));
}

TEST(ExchangeComparison, NamesWhatIsWrongInAFile) {
  const json good = row("allreduce", 8, nullptr, side({1, 1, 1}));
  const auto fault = [&](const json& rows) {
    return base::thrown_message<base::DataError>([&] { parsed(document(rows)); });
  };
  EXPECT_NO_THROW(parsed(document(json::array({good}))));
  EXPECT_EQ(fault("none"),
            "x: /rows: must be a list; expected what trainmark bench exchange --json writes");
  EXPECT_THAT(fault(json::array({good, good})),
              HasSubstr("/rows/1: a second row of 8 bytes of allreduce"));
  EXPECT_THAT(fault(json::array({1})), HasSubstr("/rows/0/operation: must be a name"));
  const std::vector<std::pair<json, const char*>> patches = {
      {{{"bytes", 0}}, "/rows/0/bytes: must be a positive whole number, got 0"},
      {{{"bytes", 1.5}}, "/rows/0/bytes: must be a positive whole number, got 1.5"},
      {{{"mpi", 3}}, "/rows/0/mpi/time_s/times: must be a list of seconds, got null"},
      {{{"mpi", {{"time_s", {{"times", json::array()}}}}}}, "must be a list of seconds, got []"},
      {{{"mpi", side({1, 1, -1})}}, "/time_s/times: must be a positive number from 1e-12 to 1e+18"},
      {{{"mpi", {{"busbw_bytes_per_s", "fast"}}}}, "/rows/0/mpi/busbw_bytes_per_s: must be"}};
  for (const auto& [patch, message] : patches) {
    json bad = good;
    bad.merge_patch(patch);
    EXPECT_THAT(fault(json::array({bad})), HasSubstr(message));
  }
}

TEST(ExchangeComparison, LeavesOtherKindsToOthers) {
  EXPECT_FALSE(parse_exchange("{}", "x").has_value());
  EXPECT_FALSE(parse_exchange("[1]", "x").has_value());
  EXPECT_THROW(parse_exchange("{", "x"), base::DataError);
}

TEST(ExchangeComparison, SaysWhereCallsAreTooFew) {
  const ExchangeResult slow =
      parsed(document(json::array({row("halo", 8, nullptr, side({3, 3, 3}))})));
  const ExchangeResult fast =
      parsed(document(json::array({row("halo", 8, nullptr, side({1, 1, 1}))})));
  const ExchangeComparison comparison = compare_exchanges(slow, fast, 1);
  EXPECT_FALSE(comparison.rows.at(0).p_value.has_value());
  EXPECT_FALSE(comparison.rows.at(0).distinguishable);
}

TEST(ExchangeComparison, RefusesWhatCannotBeCompared) {
  const json one = row("halo", 8, nullptr, side({1, 1, 1}));
  const json other = row("halo", 16, nullptr, side({1, 1, 1}));
  EXPECT_THAT(base::thrown_message<base::ConfigError>([&] {
                compare_exchanges(parsed(document(json::array({one}))),
                                  parsed(document(json::array({other}))), 1);
              }),
              HasSubstr("x and x: expected rows of the same operations and sizes, found none"));
  json failed = document(json::array({one}));
  failed["failure"] = "7 elements are wrong";
  EXPECT_EQ(base::thrown_message<base::DataError>([&] { parsed(failed); }),
            "x: its results cannot be trusted: \"7 elements are wrong\"");
}

}  // namespace
