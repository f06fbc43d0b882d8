// Reference points as text.
// Hides its layout.
#include <fmt/format.h>

#include <ostream>

#include "analysis/numbers.h"
#include "analysis/report/convergence_plot.h"
#include "analysis/report/text_page.h"
#include "analysis/report/write_check.h"

namespace analysis::report {
namespace {

using Align = TextTable::Align;

}  // namespace

void write_points_text(std::ostream& out, const submission::ReferenceSet& set,
                       const submission::RcpEraFacts& era, std::size_t width) {
  TextPage page(out, width);
  page.title(set.round.empty() ? fmt::format("Reference points of {}", set.benchmark)
                               : fmt::format("Reference points of {}-{} for {}", set.usage,
                                             set.round, set.benchmark));
  page.paragraph("Source: " + set.source);
  page.paragraph(fmt::format("Statistics of the era {}: {}", era.name, era.meaning));
  page.heading(fmt::format("Until the target is reached, in {}", set.unit), {});
  TextTable table;
  for (const char* const heading : {"batch size", "runs", "mean", "stdev", "interval", "least"}) {
    table.add_column(heading, Align::kRight);
  }
  table.add_column("", Align::kLeft);
  const submission::ReferenceCurve curve(set, era.era);
  for (const auto& point : curve.points()) {
    const submission::MeanTest& test = point.test;
    table.add_row({digits_text(point.batch_size), std::to_string(test.reference_runs),
                   digits_text(test.mean), digits_text(test.stdev),
                   fmt::format("{:.6g} to {:.6g}", test.mean - test.half_width(),
                               test.mean + test.half_width()),
                   digits_text(point.least_mean), point.pruned ? "pruned" : ""});
  }
  page.table(table);
  page.paragraph(
      fmt::format("mean: without {}. interval: holds the means of nine in ten sets of {} runs that "
                  "converge as the reference. least: the mean that a set needs to pass. pruned: no "
                  "reference, as other batch sizes converge faster.",
                  set.extremes(), set.runs_required));
  out << '\n';
  write_plot_text(out, convergence_plot(set, {era.era}), width);
}

}  // namespace analysis::report
