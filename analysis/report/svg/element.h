// The pieces of the SVG pictures, with every text escaped. Lengths in pixels, y downwards; `css`
// names classes of the style sheet. Hides elements, attributes and colours.
#pragma once

#include <string>

#include "analysis/findings/convergence_plot.h"

namespace analysis::report {

inline constexpr double kHalfMarker = 6.0;  ///< of the width and height of a marker

/// `y` is the base line; `more`: further attributes.
std::string svg_text(double x, double y, const std::string& css, const std::string& content,
                     const std::string& more = "");
std::string svg_line(double x0, double y0, double x1, double y1, const std::string& css);
/// An upright line with ends.
std::string svg_interval(double x, double top, double bottom);
/// The mean of a reference point.
std::string svg_mean(double x, double y);
/// A triangle for a set that passes, a diamond for one that passes by bypass, else a cross.
std::string svg_marker(PlottedSet::Verdict verdict, double x, double y);
/// `content` in a group that tells `what` to pointers that rest on it.
std::string svg_told(const std::string& css, const std::string& what, const std::string& content);

/// The whole document; title and description are for those who do not see it.
std::string svg_document(const std::string& title, const std::string& description, double width,
                         double height, const std::string& content);

}  // namespace analysis::report
