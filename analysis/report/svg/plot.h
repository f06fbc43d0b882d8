// Plots of reference points and sets as SVG.
#pragma once

#include <span>
#include <string>

#include "analysis/findings/convergence_plot.h"

namespace analysis::report {

/// The plots, one below the other, as one self-contained SVG document. Its colours follow the
/// viewer's light or dark setting.
std::string plots_svg(std::span<const ConvergencePlot> plots);

}  // namespace analysis::report
