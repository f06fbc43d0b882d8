// Comparisons of results of `bench exchange` as text.
#include "analysis/report/text/exchange.h"

#include <fmt/format.h>

#include "runner/base/printable.h"
#include "runner/base/units.h"

namespace analysis::report {
namespace {

using comparison::ExchangeComparison;
using comparison::ExchangeDifference;
using comparison::ExchangeResult;

std::string verdict_of(const ExchangeDifference& row) {
  if (!row.p_value) return "too few calls";
  if (!row.distinguishable) return "not distinguishable";
  return row.is_faster ? "faster" : "slower";
}

std::string line_of(const ExchangeDifference& row) {
  return fmt::format("{:<16} {:>12} {:<9} {:>12.2f} {:>12.2f} {:>8.3f} {:>8}  {}",
                     base::printable(row.key.operation), row.key.bytes, row.key.side,
                     row.first_s / base::kMicrosecond, row.second_s / base::kMicrosecond, row.ratio,
                     row.p_value ? fmt::format("{:.2g}", *row.p_value) : "-", verdict_of(row));
}

std::string text_of(const ExchangeResult& first, const ExchangeResult& second,
                    const ExchangeComparison& comparison) {
  std::string text = base::printable(fmt::format("{} beside {}", second.name, first.name)) + "\n";
  for (const std::string& difference : comparison.differences) {
    text += base::printable("  they differ in " + difference) + "\n";
  }
  if (comparison.only_first + comparison.only_second > 0) {
    text += fmt::format("  {} rows are in the first alone, {} in the second\n",
                        comparison.only_first, comparison.only_second);
  }
  text += fmt::format("{:<16} {:>12} {:<9} {:>12} {:>12} {:>8} {:>8}\n", "operation", "bytes", "by",
                      "first (us)", "second (us)", "ratio", "p");
  for (const ExchangeDifference& row : comparison.rows) text += line_of(row) + "\n";
  return text;
}

}  // namespace

std::string exchange_compare_text(const std::vector<ExchangeResult>& results,
                                  const std::vector<ExchangeComparison>& comparisons) {
  std::string text;
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    text += text_of(results.front(), results[i + 1], comparisons[i]);
  }
  return text;
}

}  // namespace analysis::report
