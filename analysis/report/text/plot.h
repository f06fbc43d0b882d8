// Plots of reference points and sets as text.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <span>

#include "analysis/findings/convergence_plot.h"

namespace analysis::report {

/// Writes the plot in ASCII, with a legend and a table of the sets. At most `width` columns wide,
/// but at least 40.
void write_plot_text(std::ostream& out, const ConvergencePlot& plot, std::size_t width);

/// Writes each plot after its title, or a line that there is none.
void write_plots_text(std::ostream& out, std::span<const ConvergencePlot> plots, std::size_t width);

}  // namespace analysis::report
