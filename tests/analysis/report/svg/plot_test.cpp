// The SVG of reference points, read back.
#include "analysis/report/svg/plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "analysis/findings/convergence_plot.h"
#include "analysis/report/made_plots.h"
#include "analysis/report/svg/labels.h"
#include "analysis/report/xml_reader.h"

namespace {

using namespace analysis;
using namespace analysis::report;
using golden::Xml;
using golden::XmlElement;
using testing::HasSubstr;

constexpr double kPixel = 0.02;  ///< coordinates have two decimals

std::string svg_of(const std::vector<ConvergencePlot>& plots) { return plots_svg(plots); }

/// Maps values to pixels, by the positions and labels of the first and the last tick.
class Axis {
 public:
  Axis(const std::vector<XmlElement>& ticks, const std::string& attribute, bool is_logarithmic)
      : is_logarithmic_(is_logarithmic) {
    const auto& first = ticks.front();
    const auto& last = ticks.back();
    begin_ = first.number(attribute);
    from_ = position(std::stod(first.text));
    slope_ = (last.number(attribute) - begin_) / (position(std::stod(last.text)) - from_);
  }
  double at(double value) const { return begin_ + slope_ * (position(value) - from_); }

 private:
  double position(double value) const { return is_logarithmic_ ? std::log2(value) : value; }
  bool is_logarithmic_;
  double begin_ = 0.0, from_ = 0.0, slope_ = 0.0;
};

/// Circles in groups of the class `css`, which leaves out those of the legend.
std::vector<XmlElement> means_in(const Xml& xml, const std::string& css) {
  std::vector<XmlElement> chosen;
  for (const XmlElement& one : xml.elements("circle")) {
    if (one.within == " rcp " + css) chosen.push_back(one);
  }
  return chosen;
}

TEST(PlotsSvg, IsWellFormedWhateverItHolds) {
  for (const auto& plots : std::vector<std::vector<ConvergencePlot>>{
           {},
           {golden::plot_of()},
           {golden::plot_of(golden::four_sets()), golden::plot_of()},
           {golden::hostile_plot()},
           {golden::all_pruned()},
           {golden::plot_of_first(0)},
           {golden::plot_of_first(1)}}) {
    const std::string text = svg_of(plots);
    Xml xml(text);
    EXPECT_TRUE(xml.is_well_formed()) << text;
    EXPECT_EQ(xml.elements("svg").size(), 1u);
    EXPECT_EQ(xml.elements("script").size(), 0u);
    EXPECT_EQ(xml.elements("desc").size(), 1u);
    EXPECT_THAT(text, testing::Not(HasSubstr("nan")));
    EXPECT_THAT(text, testing::Not(HasSubstr("inf\"")));
  }
}

TEST(PlotsSvg, EscapesNames) {
  ConvergencePlot plot = golden::plot_of({golden::set_at("<b>&\"x\"", 256, 21)});
  const std::string text = svg_of({plot});
  EXPECT_THAT(text, HasSubstr("&lt;b&gt;&amp;&quot;x&quot;"));
  EXPECT_THAT(text, testing::Not(HasSubstr("<b>")));
}

TEST(PlotsSvg, PointsLieWhereTheScalesSay) {
  const std::string text = svg_of({golden::plot_of(golden::four_sets())});
  Xml xml(text);
  ASSERT_TRUE(xml.is_well_formed());
  // A reader needs at least two ticks on each axis.
  const auto batch_sizes = xml.elements("text", "tick middle");
  const auto values = xml.elements("text", "tick end");
  ASSERT_GE(batch_sizes.size(), 2u);
  ASSERT_GE(values.size(), 2u);
  const Axis x(batch_sizes, "x", true);
  constexpr double kBaseLine = 4.0;  // from the middle of a label down to its base line
  const Axis y(values, "y", false);
  const auto counted = means_in(xml, "point");
  ASSERT_EQ(counted.size(), 2u);
  EXPECT_NEAR(counted[0].number("cx"), x.at(256), kPixel);
  EXPECT_NEAR(counted[0].number("cy"), y.at(20) - kBaseLine, kPixel);
  EXPECT_NEAR(counted[1].number("cx"), x.at(1024), kPixel);
  EXPECT_NEAR(counted[1].number("cy"), y.at(30) - kBaseLine, kPixel);
  const auto pruned = means_in(xml, "point pruned");
  ASSERT_EQ(pruned.size(), 1u);
  EXPECT_NEAR(pruned[0].number("cx"), x.at(512), kPixel);
  EXPECT_NEAR(pruned[0].number("cy"), y.at(40) - kBaseLine, kPixel);
}

TEST(PlotsSvg, EachVerdictHasAShapeOfItsOwn) {
  const std::string text = svg_of({golden::plot_of(golden::four_sets())});
  Xml xml(text);
  ASSERT_TRUE(xml.is_well_formed());
  const auto drawn = [&](const std::string& tag, const std::string& css) {
    std::vector<XmlElement> in_plot;
    for (const XmlElement& one : xml.elements(tag, css)) {
      if (one.within == " rcp set") in_plot.push_back(one);
    }
    return in_plot;
  };
  ASSERT_EQ(drawn("polygon", "passes").size(), 1u);
  ASSERT_EQ(drawn("polygon", "bypass").size(), 1u);
  EXPECT_EQ(drawn("path", "fails").size(), 1u) << "the other one has no mean";
  const auto corners = [](const XmlElement& shape) {
    const std::string& points = shape.attributes.at("points");
    return std::count(points.begin(), points.end(), ',');
  };
  EXPECT_EQ(corners(drawn("polygon", "passes")[0]), 3);
  EXPECT_EQ(corners(drawn("polygon", "bypass")[0]), 4);
  // The triangle's tip is above the set's place.
  const Axis x(xml.elements("text", "tick middle"), "x", true);
  EXPECT_NEAR(std::stod(drawn("polygon", "passes")[0].attributes.at("points")), x.at(256), kPixel);
}

TEST(PlotsSvg, LabelsSetsByFolderAndListsThem) {
  const std::string text = svg_of({golden::plot_of(golden::four_sets())});
  EXPECT_THAT(text, HasSubstr(">1 a/strong</text>"));
  EXPECT_THAT(text, HasSubstr(">2 b/strong</text>"));
  EXPECT_THAT(text, HasSubstr(">4 d/strong/oc20</text>"));
  EXPECT_THAT(text, HasSubstr(">insufficient convergence</text>"));
  EXPECT_THAT(text, HasSubstr("prefers-color-scheme: dark"));
  EXPECT_THAT(text, HasSubstr("b/strong/oc20 fails at batch size 1024 with mean 25."));
  EXPECT_THAT(text, HasSubstr("mean epochs until the target is reached"));
}

TEST(PlotsSvg, StacksChartsAndIsAsHighAsAll) {
  const auto height_of = [](const std::vector<ConvergencePlot>& plots) {
    const std::string text = svg_of(plots);
    Xml xml(text);
    EXPECT_TRUE(xml.is_well_formed());
    const double height = xml.elements("svg")[0].number("height");
    for (const XmlElement& one : xml.elements("text")) {
      EXPECT_LT(one.number("y"), height);
      EXPECT_LT(one.number("x"), xml.elements("svg")[0].number("width"));
    }
    return height;
  };
  const double one = height_of({golden::plot_of()});
  EXPECT_GT(height_of({golden::plot_of(), golden::plot_of(golden::four_sets())}), 2.0 * one);
}

TEST(LabelPlaces, KeepLabelsApartFromEachOtherAndWithinTheArea) {
  LabelPlaces places({0, 0, 200, 100});
  std::vector<Box> held;
  const Box marker{90, 45, 100, 55};
  places.block(marker);
  for (int i = 0; i < 20; ++i) {
    const auto box = places.place(marker, 60, 15);
    if (!box) continue;
    EXPECT_FALSE(box->overlaps(marker));
    EXPECT_TRUE((Box{0, 0, 200, 100}.holds(*box)));
    for (const Box& other : held) EXPECT_FALSE(box->overlaps(other));
    held.push_back(*box);
  }
  EXPECT_GE(held.size(), 4u);
  EXPECT_LE(held.size(), 18u) << "three beside each other, six above each other";
  EXPECT_FALSE(places.place(marker, 150, 15));
}

TEST(LabelPlaces, AvoidLinesWhereTheyCan) {
  LabelPlaces places({0, 0, 200, 100});
  const Box marker{90, 45, 100, 55};
  places.avoid(120, 50);  // to the right
  const auto box = places.place(marker, 60, 15);
  ASSERT_TRUE(box);
  EXPECT_FALSE(box->holds(120, 50));
}

}  // namespace
