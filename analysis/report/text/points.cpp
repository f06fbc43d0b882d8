// Reference points, and sets drawn from their runs, as text.
#include "analysis/report/text/points.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "analysis/findings/convergence_plot.h"
#include "analysis/numbers.h"
#include "analysis/report/text/page.h"
#include "analysis/report/text/plot.h"

namespace analysis::report {
namespace {

using Align = TextTable::Align;
using submission::Bootstrap;

constexpr std::size_t kWidestBar = 50;
/// Columns left of a bar: indent, ends of the bin, number of sets, gaps.
constexpr std::size_t kBesideBar = 30;
constexpr std::size_t kNarrowestBar = 8;
constexpr char kPassing = '#', kFailing = 'x';

/// A bar of length proportional to the bin's sets, `widest` for `fullest` sets, rounded up so that
/// every set shows. Failing sets come first, as they are the faster ones.
std::string histogram_bar(const Bootstrap::Bin& bin, std::int64_t fullest, std::size_t widest) {
  const auto cells = [&](std::int64_t sets) {
    return static_cast<std::size_t>(std::ceil(
        static_cast<double>(sets) * static_cast<double>(widest) / static_cast<double>(fullest)));
  };
  const std::size_t all = cells(bin.sets);
  const std::size_t failing = std::min(all, cells(bin.failing));
  return std::string(failing, kFailing) + std::string(all - failing, kPassing);
}

TextTable histogram(const Bootstrap& drawn, std::size_t width) {
  std::int64_t fullest = 1;
  for (const Bootstrap::Bin& bin : drawn.histogram) fullest = std::max(fullest, bin.sets);
  const std::size_t room = width > kBesideBar ? width - kBesideBar : 0;
  const std::size_t widest = std::clamp(room, kNarrowestBar, kWidestBar);
  TextTable table;
  table.add_column("from", Align::kRight);
  table.add_column("below", Align::kRight);
  table.add_column("sets", Align::kRight);
  table.add_column("", Align::kLeft);
  for (const Bootstrap::Bin& bin : drawn.histogram) {
    table.add_row({digits_text(bin.from), digits_text(bin.to), std::to_string(bin.sets),
                   histogram_bar(bin, fullest, widest)});
  }
  return table;
}

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

void write_bootstrap_text(std::ostream& out, const submission::ReferenceSet& set,
                          const Bootstrap& drawn, std::size_t width) {
  TextPage page(out, width);
  out << '\n';
  page.title(fmt::format("Bootstrap at batch size {}", digits_text(drawn.point.batch_size)));
  page.paragraph(fmt::format(
      "{} sets of {} runs, drawn with replacement from the reference's {} runs by seed {}; of each "
      "the mean without {}, in {}",
      drawn.sets, drawn.runs_per_set, drawn.reference_runs, drawn.seed, set.extremes(), set.unit));
  page.fact(
      "passes",
      fmt::format("{:.2f} % +- {:.2f}", 100.0 * drawn.passing(), 100.0 * drawn.standard_error()),
      {});
  page.fact("fails",
            fmt::format("{:.2f} %: mean below {}{}", 100.0 * drawn.failing(),
                        digits_text(drawn.point.least_mean),
                        drawn.point.pruned ? ", though that point is pruned" : ""),
            {});
  page.fact("mean", digits_text(drawn.mean), {});
  page.fact("stdev", digits_text(drawn.stdev), {});
  for (const Bootstrap::Quantile& quantile : drawn.quantiles) {
    page.fact(fmt::format("quantile {:.0f} %", 100.0 * quantile.share), digits_text(quantile.mean),
              {});
  }
  out << '\n';
  page.table(histogram(drawn, width));
  page.paragraph(fmt::format(
      "passes: share of the sets whose mean is at least the point's least, with the standard error "
      "of that share; the test is made for 95 %. quantile: the least mean that this share of the "
      "sets do not exceed. {} passing sets, {} failing ones.",
      kPassing, kFailing));
}

}  // namespace analysis::report
