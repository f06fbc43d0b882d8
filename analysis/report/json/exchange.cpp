// Comparisons of results of `bench exchange` as JSON.
#include "analysis/report/json/exchange.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "analysis/report/json/compare.h"
#include "runner/base/printable.h"

namespace analysis::report {
namespace {

using comparison::ExchangeComparison;
using comparison::ExchangeDifference;
using comparison::ExchangeResult;
using Json = nlohmann::ordered_json;

Json json_of(const ExchangeDifference& row) {
  return {{"operation", base::printable(row.key.operation)},
          {"bytes", row.key.bytes},
          {"side", row.key.side},
          {"first_s", row.first_s},
          {"second_s", row.second_s},
          {"first_busbw_bytes_per_s", row.first_bus_bytes_per_s},
          {"second_busbw_bytes_per_s", row.second_bus_bytes_per_s},
          {"ratio", row.ratio},
          {"p_value", row.p_value ? Json(*row.p_value) : Json()},
          {"distinguishable", row.distinguishable}};
}

Json json_of(const ExchangeResult& second, const ExchangeComparison& comparison) {
  Json rows = Json::array();
  for (const ExchangeDifference& row : comparison.rows) rows.push_back(json_of(row));
  return {{"file", base::printable(second.name)},
          {"rows", std::move(rows)},
          {"only_first", comparison.only_first},
          {"only_second", comparison.only_second},
          {"differences", comparison.differences}};
}

Json exchange_definitions() {
  return {{"first_s", "median seconds of a call in the first file, on the slowest rank"},
          {"second_s", "the same in this file"},
          {"first_busbw_bytes_per_s", "the first file's bus bandwidth"},
          {"second_busbw_bytes_per_s", "this file's"},
          {"ratio", "first_s over second_s: above 1, this file's exchange is faster"},
          {"p_value",
           "share of swaps of calls between the two files after which the means of the logarithms "
           "of their times differ as much; adjusted for the number of rows (Holm). null: so few "
           "calls cannot be told apart"},
          {"distinguishable", "p_value below 0.04. Calls of one process share its conditions"},
          {"only_first", "rows, operation by size and side, that this file lacks"},
          {"only_second", "rows that the first file lacks"},
          {"differences", "conditions that differ: ranks, nodes, threads of a rank"}};
}

}  // namespace

std::string exchange_compare_json_text(const std::vector<ExchangeResult>& results,
                                       const std::vector<ExchangeComparison>& comparisons) {
  Json listed = Json::array(), compared = Json::array();
  for (const ExchangeResult& result : results) {
    listed.push_back({{"file", base::printable(result.name)}, {"rows", result.rows.size()}});
  }
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    compared.push_back(json_of(results[i + 1], comparisons[i]));
  }
  return bench_document_text("exchange", std::move(listed), std::move(compared),
                             exchange_definitions());
}

}  // namespace analysis::report
