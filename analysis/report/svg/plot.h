// Plots of reference points and sets as SVG.
#pragma once

#include <span>
#include <string>

#include "analysis/findings/convergence_plot.h"

namespace analysis::report {

/// The plots below each other as one SVG document that needs nothing else, light or dark as the
/// reader's settings are.
std::string plots_svg(std::span<const ConvergencePlot> plots);

}  // namespace analysis::report
