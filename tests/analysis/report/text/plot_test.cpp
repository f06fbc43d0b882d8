// Plots of reference points as text.
#include "analysis/report/text/plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "analysis/findings/convergence_plot.h"
#include "analysis/report/made_plots.h"
#include "runner/base/printable.h"

namespace {

using namespace analysis;
using namespace analysis::report;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> lines_of(const ConvergencePlot& plot, std::size_t width) {
  std::ostringstream out;
  write_plot_text(out, plot, width);
  std::vector<std::string> lines;
  std::istringstream in(out.str());
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// A character's position in the plot, right of the vertical axis.
struct Cell {
  std::size_t column, line;
};
std::vector<Cell> cells_of(const std::vector<std::string>& lines, char character) {
  std::vector<Cell> cells;
  for (std::size_t y = 0; y < lines.size(); ++y) {
    if (lines[y].find("+--") != std::string::npos) break;  // below is the legend
    const std::size_t axis = lines[y].find_first_of("|+");
    if (axis == std::string::npos) continue;
    for (std::size_t x = axis + 1; x < lines[y].size(); ++x) {
      if (lines[y][x] == character) cells.push_back({x, y});
    }
  }
  return cells;
}

TEST(PlotText, FitsEveryWidth) {
  for (const std::size_t width : {0u, 40u, 80u, 200u}) {
    for (const ConvergencePlot& plot :
         {golden::plot_of(), golden::plot_of(golden::four_sets()), golden::hostile_plot(),
          golden::all_pruned(), golden::plot_of_first(0), golden::plot_of_first(1)}) {
      for (const std::string& line : lines_of(plot, width)) {
        EXPECT_LE(base::columns(line), std::max<std::size_t>(width, 40)) << line;
        EXPECT_EQ(line, base::printable(line));
      }
    }
  }
}

TEST(PlotText, DrawsPointsByBatchSizeAndMean) {
  for (const std::size_t width : {40u, 80u, 200u}) {
    const auto lines = lines_of(golden::plot_of(), width);
    const auto means = cells_of(lines, 'O');
    ASSERT_EQ(means.size(), 2u) << width;  // from the top: 30 at 1024, 20 at 256
    const auto pruned = cells_of(lines, 'x');
    ASSERT_EQ(pruned.size(), 1u);  // 40 at 512
    EXPECT_LT(pruned[0].line, means[0].line);
    EXPECT_LT(means[1].column, pruned[0].column);
    // 512 is half way from 256 to 1024 on a logarithmic axis; 30 half way from 20 to 40.
    EXPECT_NEAR(static_cast<double>(pruned[0].column),
                static_cast<double>(means[0].column + means[1].column) / 2.0, 1.0);
    EXPECT_NEAR(static_cast<double>(means[0].line),
                static_cast<double>(pruned[0].line + means[1].line) / 2.0, 1.0);
  }
}

TEST(PlotText, MarksBatchSizesBelowTheirPoints) {
  const auto lines = lines_of(golden::plot_of(), 80);
  const auto axis = std::find_if(lines.begin(), lines.end(), [](const std::string& line) {
    return line.find("+--") != std::string::npos;
  });
  ASSERT_NE(axis, lines.end());
  for (const Cell& mean : cells_of(lines, 'O')) EXPECT_EQ((*axis)[mean.column], '+');
  EXPECT_THAT(*(axis + 1), AllOf(HasSubstr("256 "), HasSubstr(" 512 "), HasSubstr(" 1024")));
}

TEST(PlotText, MarksSetsAndListsThemWithTheirVerdict) {
  const auto lines = lines_of(golden::plot_of(golden::four_sets()), 100);
  EXPECT_EQ(cells_of(lines, '1').size(), 1u);
  EXPECT_EQ(cells_of(lines, '2').size(), 1u);
  EXPECT_EQ(cells_of(lines, '4').size(), 0u);
  const std::string all = testing::PrintToString(lines);
  EXPECT_THAT(all, HasSubstr("b/strong/oc20     2        1024    25     18  fails"));
  EXPECT_THAT(all, HasSubstr("insufficient convergence"));
  EXPECT_THAT(all, HasSubstr("mean epochs until the target is reached"));
}

TEST(PlotText, TellsSetsAtOnePlaceApartFromOne) {
  const auto lines =
      lines_of(golden::plot_of({golden::set_at("a", 256, 25), golden::set_at("b", 256, 25)}), 80);
  EXPECT_EQ(cells_of(lines, '#').size(), 1u);
  EXPECT_EQ(cells_of(lines, '1').size(), 0u);
}

TEST(PlotText, LegendNamesOnlyWhatIsThere) {
  const std::string one = testing::PrintToString(lines_of(golden::plot_of_first(1), 200));
  EXPECT_THAT(one, Not(HasSubstr("pruned")));
  EXPECT_THAT(one, Not(HasSubstr("means between points")));
  const std::string three = testing::PrintToString(lines_of(golden::plot_of(), 200));
  EXPECT_THAT(three, AllOf(HasSubstr("x mean of a pruned point"), HasSubstr("between points")));
}

TEST(PlotText, SaysThatNothingWasTested) {
  std::ostringstream out;
  write_plots_text(out, {}, 80);
  EXPECT_THAT(out.str(), HasSubstr("No set was tested"));
}

}  // namespace
