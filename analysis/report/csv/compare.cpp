// Comparisons as a tidy CSV table.
#include "analysis/report/csv/compare.h"

#include "analysis/report/csv/report.h"
#include "analysis/value.h"
#include "runner/base/printable.h"

namespace analysis::report {

std::string compare_csv(const Compared& compared) {
  std::string csv =
      csv_line({"benchmark", "first", "second", "figure", "unit", "first_value", "second_value",
                "ratio", "low", "high", "p_value", "distinguishable"});
  const auto exact = [](double value) { return to_exact_text(Value(value)); };
  const auto add = [&](const ComparedGroup& group, std::size_t index,
                       const comparison::FigureComparison& figure) {
    csv += csv_line(
        {base::printable(group.benchmark), base::printable(group.sides.front().side.name),
         base::printable(group.sides[index + 1].side.name), figure.name, figure.unit,
         exact(figure.first), exact(figure.second), exact(figure.ratio), exact(figure.interval.low),
         exact(figure.interval.high), to_exact_text(optional_value(figure.p_value)),
         figure.distinguishable ? "true" : "false"});
  };
  for (const ComparedGroup& group : compared.groups) {
    for (std::size_t i = 0; i < group.comparisons.size(); ++i) {
      const comparison::RunComparison& one = group.comparisons[i];
      if (one.total) add(group, i, *one.total);
      for (const comparison::FigureComparison& factor : one.factors) add(group, i, factor);
    }
  }
  return csv;
}

}  // namespace analysis::report
