// Reference points, what they ask of submissions, and sets that were tested against them: what both
// pictures show, as SVG and on a terminal. Hides how the lines between the points are found.
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

struct PlotPlace {
  double batch_size = 0.0;
  double value = 0.0;  ///< in the plot's unit
};
/// By rising batch size; straight between two places on the plot's scales.
using PlotLine = std::vector<PlotPlace>;

/// A set of runs that was tested.
struct PlottedSet {
  enum class Verdict { kPasses, kPassesByBypass, kFails };
  std::string name;
  Verdict verdict = Verdict::kFails;
  std::optional<PlotPlace> place;  ///< absent: there is no mean to draw
  std::optional<double> least;     ///< mean that it needs
  std::string compared_with;       ///< batch size of the reference, or what kept it from a test
};
PlottedSet plotted_set(const std::string& name, const submission::RcpResult& result);
/// "passes", "passes by bypass", "fails".
std::string to_string(PlottedSet::Verdict verdict);

/// One benchmark in one round. Everything in it lies within its scales.
struct ConvergencePlot {
  std::string benchmark;
  std::string title, source, era;
  std::int64_t runs_required = 0;  ///< of a set
  std::string unit;                ///< of the reference points: "epochs", "samples" ...
  std::vector<submission::ConvergencePoint> points;
  PlotLine curve;                ///< the mean that sets are compared with
  std::vector<PlotLine> limits;  ///< the least mean that passes; it jumps at reference points
  std::vector<PlottedSet> sets;
  Scale batch_sizes = Scale::around(Scale::Kind::kLogarithmic, {});
  Scale values = Scale::around(Scale::Kind::kLinear, {});
};

/// Points and sets that no scale holds are left out, sets with a word of it.
ConvergencePlot convergence_plot(const submission::ReferenceSet& set,
                                 const submission::RcpOptions& options,
                                 std::vector<PlottedSet> sets = {});

/// A plot for each benchmark and round that folders were tested for, by name.
std::vector<ConvergencePlot> convergence_plots(const CheckReport& report,
                                               const submission::RcpOptions& options);

/// "global batch size in samples, logarithmic" and "mean epochs until the target is reached".
std::string batch_size_axis();
/// What stands in place of plots where there are none.
inline constexpr char kNoPlots[] = "No set was tested against reference points.";
std::string value_axis(const ConvergencePlot& plot);

}  // namespace analysis
