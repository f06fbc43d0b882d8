// The data of plots of reference points, as SVG or on a terminal: the points, the means that they
// require of submissions, and the sets that were tested against them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/findings/check_report.h"
#include "analysis/findings/scale.h"
#include "analysis/submission/rcp.h"

namespace analysis {

struct PlotPoint {
  double batch_size = 0.0;
  double value = 0.0;  ///< in the plot's unit
};
/// By rising batch size; joined by straight lines on the plot's scales.
using PlotLine = std::vector<PlotPoint>;

/// A set of runs that was tested against reference points.
struct PlottedSet {
  enum class Verdict { kPasses, kPassesByBypass, kFails };
  std::string name;
  Verdict verdict = Verdict::kFails;
  std::optional<PlotPoint> place;  ///< absent if there is no mean to draw
  std::optional<double> least;     ///< least mean that passes
  std::string compared_with;       ///< batch size of the reference, or why there was no test
};
PlottedSet plotted_set(const std::string& name, const submission::RcpResult& result);
/// "passes", "passes by bypass", "fails".
std::string to_string(PlottedSet::Verdict verdict);

/// One benchmark in one round. All points, lines and sets lie within its scales.
struct ConvergencePlot {
  std::string benchmark;
  std::string title, source, era;
  std::int64_t runs_required = 0;  ///< of a set
  std::string unit;                ///< of the reference points: "epochs", "samples" ...
  std::vector<submission::ConvergencePoint> points;
  PlotLine curve;                ///< the reference mean
  std::vector<PlotLine> limits;  ///< the least mean that passes; discontinuous at points
  std::vector<PlottedSet> sets;
  Scale batch_sizes = Scale::around(Scale::Kind::kLogarithmic, {});
  Scale values = Scale::around(Scale::Kind::kLinear, {});
};

/// Leaves out points and sets that are not drawable; `compared_with` of such a set says so.
ConvergencePlot convergence_plot(const submission::ReferenceSet& set,
                                 const submission::RcpOptions& options,
                                 std::vector<PlottedSet> sets = {});

/// A plot for each benchmark and round with tested folders, by name.
std::vector<ConvergencePlot> convergence_plots(const CheckReport& report,
                                               const submission::RcpOptions& options);

/// "global batch size in samples, logarithmic".
std::string batch_size_axis();
/// The text in place of plots if there are none.
inline constexpr char kNoPlots[] = "No set was tested against reference points.";
/// "mean epochs until the target is reached".
std::string value_axis(const ConvergencePlot& plot);

}  // namespace analysis
