// Pieces of SVG.
#include "analysis/report/svg/element.h"

#include <fmt/format.h>

#include "analysis/report/xml/element.h"

namespace analysis::report {
namespace {

constexpr double kHalfCap = 5.0;  ///< half the width of an interval's end caps

// Colours distinguishable with any colour vision, on light and dark backgrounds. Without var(),
// which converters to PDF and PNG do not support.
constexpr char kStyle[] = R"(<style>
.rcp text { font: 13px system-ui, "DejaVu Sans", sans-serif; fill: #1b1f24; }
.rcp .title { font-size: 17px; font-weight: 600; }
.rcp .cell { font-size: 12px; }
.rcp .head { font-size: 12px; font-weight: 600; }
.rcp .quiet, .rcp .tick { fill: #57606a; font-size: 12px; }
.rcp .name { font-size: 12px; stroke: #ffffff; stroke-width: 3px; paint-order: stroke; stroke-linejoin: round; }
.rcp .end { text-anchor: end; }
.rcp .middle { text-anchor: middle; }
.rcp .page { fill: #ffffff; }
.rcp .grid { stroke: #d8dee4; stroke-width: 1; }
.rcp .axis { stroke: #57606a; stroke-width: 1; }
.rcp .leader { stroke: #8c959f; stroke-width: 0.75; }
.rcp .curve { fill: none; stroke: #0072b2; stroke-width: 1.5; }
.rcp .limit { fill: none; stroke: #b35900; stroke-width: 1.5; stroke-dasharray: 6 4; }
.rcp .least { stroke: #b35900; stroke-width: 2.5; }
.rcp .interval { stroke: #0072b2; stroke-width: 1.5; }
.rcp .mean { fill: #0072b2; stroke: #0072b2; stroke-width: 1.5; }
.rcp .pruned .interval { stroke: #8c959f; stroke-width: 1; }
.rcp .pruned .mean { fill: #ffffff; stroke: #8c959f; }
.rcp .passes { fill: #1a7f37; stroke: #ffffff; stroke-width: 1; }
.rcp .bypass { fill: #9a6700; stroke: #ffffff; stroke-width: 1; }
.rcp .fails { fill: none; stroke: #cf222e; stroke-width: 3; stroke-linecap: round; }
@media (prefers-color-scheme: dark) {
.rcp text { fill: #e6e9ec; }
.rcp .quiet, .rcp .tick { fill: #9aa4af; }
.rcp .name { stroke: #0f1419; }
.rcp .page { fill: #0f1419; }
.rcp .grid { stroke: #2a323b; }
.rcp .axis { stroke: #9aa4af; }
.rcp .curve, .rcp .interval { stroke: #56b4e9; }
.rcp .limit, .rcp .least { stroke: #ff9d4d; }
.rcp .mean { fill: #56b4e9; stroke: #56b4e9; }
.rcp .pruned .interval { stroke: #768390; }
.rcp .pruned .mean { fill: #0f1419; stroke: #9aa4af; }
.rcp .passes { fill: #4cc46a; stroke: #0f1419; }
.rcp .bypass { fill: #e0c04a; stroke: #0f1419; }
.rcp .fails { stroke: #ff7b72; }
}
</style>
)";

}  // namespace

std::string svg_text(double x, double y, const std::string& css, const std::string& content,
                     const std::string& more) {
  return fmt::format("<text x=\"{:.2f}\" y=\"{:.2f}\" class=\"{}\"{}>{}</text>\n", x, y, css, more,
                     xml_text(content));
}

std::string svg_line(double x0, double y0, double x1, double y1, const std::string& css) {
  return fmt::format(
      "<line x1=\"{:.2f}\" y1=\"{:.2f}\" x2=\"{:.2f}\" y2=\"{:.2f}\" class=\"{}\"/>\n", x0, y0, x1,
      y1, css);
}

std::string svg_mean(double x, double y) {
  return fmt::format("<circle cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"4.5\" class=\"mean\"/>\n", x, y);
}

std::string svg_group_with_title(const std::string& css, const std::string& what,
                                 const std::string& content) {
  return fmt::format("<g class=\"{}\"><title>{}</title>\n{}</g>\n", css, xml_text(what), content);
}

std::string svg_marker(PlottedSet::Verdict verdict, double x, double y) {
  constexpr double m = kHalfMarker;
  if (verdict == PlottedSet::Verdict::kPasses) {
    return fmt::format(
        "<polygon points=\"{:.2f},{:.2f} {:.2f},{:.2f} {:.2f},{:.2f}\" class=\"passes\"/>\n", x,
        y - m, x + m, y + m, x - m, y + m);
  }
  if (verdict == PlottedSet::Verdict::kPassesByBypass) {
    return fmt::format(
        "<polygon points=\"{:.2f},{:.2f} {:.2f},{:.2f} {:.2f},{:.2f} {:.2f},{:.2f}\" "
        "class=\"bypass\"/>\n",
        x, y - m, x + m, y, x, y + m, x - m, y);
  }
  return fmt::format(
      "<path d=\"M{:.2f},{:.2f} L{:.2f},{:.2f} M{:.2f},{:.2f} L{:.2f},{:.2f}\" class=\"fails\"/>\n",
      x - m + 1, y - m + 1, x + m - 1, y + m - 1, x - m + 1, y + m - 1, x + m - 1, y - m + 1);
}

std::string svg_interval(double x, double top, double bottom) {
  return svg_line(x, top, x, bottom, "interval") +
         svg_line(x - kHalfCap, top, x + kHalfCap, top, "interval") +
         svg_line(x - kHalfCap, bottom, x + kHalfCap, bottom, "interval");
}

std::string svg_document(const std::string& title, const std::string& description, double width,
                         double height, const std::string& content) {
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"rcp\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\" "
      "aria-labelledby=\"rcp-title rcp-desc\">\n<title id=\"rcp-title\">{2}</title>\n"
      "<desc id=\"rcp-desc\">{3}</desc>\n{4}<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n"
      "{5}</svg>\n",
      width, height, xml_text(title), xml_text(description), kStyle, content);
}

}  // namespace analysis::report
