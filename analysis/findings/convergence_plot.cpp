// The data of plots of reference points.
#include "analysis/findings/convergence_plot.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "analysis/facts_of_log.h"
#include "analysis/numbers.h"

namespace analysis {
namespace {

using submission::ConvergencePoint;
using submission::RcpOutcome;
using submission::RcpResult;
using submission::ReferenceSet;

/// Segments of a line between two points. It is straight over the batch size, but curved on a
/// logarithmic axis.
constexpr int kPartsOfLine = 32;

bool is_drawable_at(const PlotPoint& place) {
  return is_drawable(1.0 / place.batch_size) && place.batch_size > 0.0 &&
         is_drawable(place.batch_size) && is_drawable(place.value);
}

bool is_drawable_point(const ConvergencePoint& point) {
  const submission::MeanTest& test = point.test;
  return is_drawable_at({point.batch_size, test.mean}) && is_drawable(test.half_width()) &&
         is_drawable(test.mean + test.half_width());
}

/// Adds the interpolated mean and the limit between two reference points.
void add_lines(const submission::ReferenceCurve& reference, const ConvergencePoint& low,
               const ConvergencePoint& high, ConvergencePlot& plot) {
  PlotLine limit;
  for (int part = 0; part <= kPartsOfLine; ++part) {
    const double share = static_cast<double>(part) / kPartsOfLine;
    const double batch_size =
        part == 0              ? low.batch_size
        : part == kPartsOfLine ? high.batch_size
                               : low.batch_size * std::pow(high.batch_size / low.batch_size, share);
    const ConvergencePoint between = reference.between(low, high, batch_size);
    if (part > 0 || plot.curve.empty()) plot.curve.push_back({batch_size, between.test.mean});
    limit.push_back({batch_size, between.least_mean});
  }
  plot.limits.push_back(std::move(limit));
}

void set_scales(ConvergencePlot& plot) {
  std::vector<double> batch_sizes, values;
  const auto add = [&](double batch_size, double value) {
    batch_sizes.push_back(batch_size);
    values.push_back(value);
  };
  for (const ConvergencePoint& point : plot.points) {
    add(point.batch_size, point.test.mean - point.test.half_width());
    add(point.batch_size, point.test.mean + point.test.half_width());
    add(point.batch_size, point.least_mean);
  }
  for (const PlotLine& limit : plot.limits) {
    for (const PlotPoint& place : limit) add(place.batch_size, place.value);
  }
  for (const PlottedSet& set : plot.sets) {
    if (set.place) add(set.place->batch_size, set.place->value);
  }
  plot.batch_sizes = Scale::around(Scale::Kind::kLogarithmic, batch_sizes);
  plot.values = Scale::around(Scale::Kind::kLinear, values);
}

std::string round_name(const ReferenceSet& set) {
  return set.round.empty() ? "own points" : fmt::format("{}-{}", set.usage, set.round);
}

std::string reference_text(const RcpResult& result) {
  if (result.outcome == RcpOutcome::kInterpolated) {
    return digits_text(result.between[0]) + " to " + digits_text(result.between[1]);
  }
  const std::string at = result.reference ? digits_text(result.reference->batch_size) : "";
  if (result.outcome == RcpOutcome::kFound) return at;
  if (result.outcome == RcpOutcome::kSlowerOnSmallerBatch) return at + ", the smallest";
  if (result.outcome == RcpOutcome::kMissing) return "no point there";
  return std::string(submission::to_string(result.outcome));
}

}  // namespace

std::string to_string(PlottedSet::Verdict verdict) {
  switch (verdict) {
    case PlottedSet::Verdict::kPasses:
      return "passes";
    case PlottedSet::Verdict::kPassesByBypass:
      return "passes by bypass";
    default:
      return "fails";
  }
}

PlottedSet plotted_set(const std::string& name, const RcpResult& result) {
  PlottedSet set;
  set.name = name;
  if (result.passed) {
    set.verdict =
        result.bypassed ? PlottedSet::Verdict::kPassesByBypass : PlottedSet::Verdict::kPasses;
  }
  set.compared_with = reference_text(result);
  if (result.reference) set.least = result.reference->least_mean;
  if (!result.batch_size || !result.submission_mean) return set;
  set.place = PlotPoint{*result.batch_size, *result.submission_mean};
  return set;
}

ConvergencePlot convergence_plot(const ReferenceSet& set, const submission::RcpOptions& options,
                                 std::vector<PlottedSet> sets) {
  ConvergencePlot plot;
  plot.benchmark = set.benchmark;
  plot.runs_required = set.runs_required;
  plot.title = fmt::format("Reference convergence points: {}, {}", set.benchmark, round_name(set));
  plot.source = set.source;
  plot.era = submission::facts_of(options.era).name;
  plot.unit = set.unit;
  if (!set.points.empty()) {
    const submission::ReferenceCurve reference(set, options.era);
    std::vector<ConvergencePoint> counted;
    for (ConvergencePoint point : reference.points()) {
      if (options.points == submission::RcpPoints::kAll) point.pruned = false;
      if (!is_drawable_point(point)) continue;
      if (!point.pruned) counted.push_back(point);
      plot.points.push_back(std::move(point));
    }
    for (std::size_t i = 1; i < counted.size(); ++i) {
      add_lines(reference, counted[i - 1], counted[i], plot);
    }
  }
  for (PlottedSet& one : sets) {
    if (one.place && !is_drawable_at(*one.place)) {
      one.place.reset();
      one.compared_with = "cannot be drawn";
    }
  }
  plot.sets = std::move(sets);
  set_scales(plot);
  // Below the smallest batch size, the limit of that point applies.
  for (const ConvergencePoint& point : plot.points) {
    if (point.pruned) continue;
    plot.limits.insert(plot.limits.begin(), {{plot.batch_sizes.low(), point.least_mean},
                                             {point.batch_size, point.least_mean}});
    break;
  }
  return plot;
}

std::vector<ConvergencePlot> convergence_plots(const CheckReport& report,
                                               const submission::RcpOptions& options) {
  struct Group {
    const ReferenceSet* points = nullptr;
    std::vector<PlottedSet> sets;
  };
  std::map<std::tuple<std::string, std::string, std::string>, Group> groups;
  const auto add = [&](const std::string& name, const std::optional<RcpResult>& result) {
    if (!result || !result->points) return;
    const ReferenceSet& points = *result->points;
    Group& group = groups[{points.benchmark, points.usage, points.round}];
    group.points = &points;
    group.sets.push_back(plotted_set(name, *result));
  };
  for (const CheckedSet& set : report.sets) {
    add(shown_name(set), set.rcp);
  }
  if (report.submission) {
    for (const submission::PackageSet& set : report.submission->report.sets) add(set.name, set.rcp);
  }
  std::vector<ConvergencePlot> plots;
  for (auto& [key, group] : groups) {
    plots.push_back(convergence_plot(*group.points, options, std::move(group.sets)));
  }
  return plots;
}

std::string batch_size_axis() { return "global batch size in samples, logarithmic"; }

std::string value_axis(const ConvergencePlot& plot) {
  return fmt::format("mean {} until the target is reached", plot.unit);
}

}  // namespace analysis
