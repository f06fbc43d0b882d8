// Plots of reference points and sets for a terminal.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <span>

#include "analysis/findings/convergence_plot.h"

namespace analysis::report {

/// At most `width` columns wide, with a legend and a table of the sets. Plain characters.
void write_plot_text(std::ostream& out, const ConvergencePlot& plot, std::size_t width);

/// Each with its title, or a line saying that there is none.
void write_plots_text(std::ostream& out, std::span<const ConvergencePlot> plots, std::size_t width);

}  // namespace analysis::report
