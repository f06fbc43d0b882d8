// Pieces of SVG with every text escaped. Lengths are in pixels, y points down; `css` names classes
// of the style sheet.
#pragma once

#include <string>

#include "analysis/findings/convergence_plot.h"

namespace analysis::report {

inline constexpr double kHalfMarker = 6.0;  ///< half the width and height of a marker

/// `y` is the base line; `more` holds further attributes.
std::string svg_text(double x, double y, const std::string& css, const std::string& content,
                     const std::string& more = "");
std::string svg_line(double x0, double y0, double x1, double y1, const std::string& css);
/// A vertical line with end caps.
std::string svg_interval(double x, double top, double bottom);
/// A circle for the mean of a reference point.
std::string svg_mean(double x, double y);
/// A triangle for a set that passes, a diamond for one that passes by bypass, else a cross.
std::string svg_marker(PlottedSet::Verdict verdict, double x, double y);
/// A group of `content` that shows `what` when the pointer rests on it.
std::string svg_group_with_title(const std::string& css, const std::string& what,
                                 const std::string& content);

/// The whole document. Screen readers read title and description.
std::string svg_document(const std::string& title, const std::string& description, double width,
                         double height, const std::string& content);

}  // namespace analysis::report
