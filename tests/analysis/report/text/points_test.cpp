// Sets drawn from the reference's runs, as text.
#include "analysis/report/text/points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "analysis/report/made_plots.h"

namespace {

using namespace analysis;
using namespace analysis::report;
using testing::HasSubstr;

TEST(BootstrapText, TellsSharesQuantilesAndAHistogramThatFits) {
  const auto set = golden::three_points();
  const auto drawn = analysis::submission::bootstrap(set, {}, 256, 1);
  for (const std::size_t width : {40u, 80u, 200u}) {
    std::ostringstream out;
    write_bootstrap_text(out, set, drawn, width);
    std::istringstream in(out.str());
    for (std::string line; std::getline(in, line);) EXPECT_LE(line.size(), width) << line;
    EXPECT_THAT(out.str(), AllOf(HasSubstr("10000 sets of 5"), HasSubstr("quantile 99 %"),
                                 HasSubstr("  x\n"), HasSubstr("####")));
  }
}

}  // namespace
