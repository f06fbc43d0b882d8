// Made-up reference points and tested sets for tests of plots.
#pragma once

#include <string>
#include <vector>

#include "analysis/findings/convergence_plot.h"

namespace golden {

/// Three batch sizes. The middle one, 512, is pruned: its mean, 40, is above the line from 20
/// to 30.
inline analysis::submission::ReferenceSet three_points() {
  analysis::submission::ReferenceSet set;
  set.usage = "hpc";
  set.round = "3.0";
  set.benchmark = "oc20";
  set.unit = "epochs";
  set.runs_required = 5;
  set.source = "made up";
  set.points = {{256, {18, 19, 19, 20, 20, 20, 20, 21, 21, 22}},
                {512, {38, 39, 39, 40, 40, 40, 40, 41, 41, 42}},
                {1024, {28, 29, 29, 30, 30, 30, 30, 31, 31, 32}}};
  return set;
}

inline analysis::PlottedSet set_at(
    const std::string& name, double batch_size, double mean,
    analysis::PlottedSet::Verdict verdict = analysis::PlottedSet::Verdict::kPasses) {
  return {name, verdict, analysis::PlotPoint{batch_size, mean}, 18.0, "256"};
}

/// A set of each verdict, and one that cannot be drawn.
inline std::vector<analysis::PlottedSet> four_sets() {
  using Verdict = analysis::PlottedSet::Verdict;
  std::vector<analysis::PlottedSet> sets = {
      set_at("a/strong/oc20", 256, 21), set_at("b/strong/oc20", 1024, 25, Verdict::kFails),
      set_at("c/strong/oc20", 512, 23, Verdict::kPassesByBypass)};
  sets.push_back({"d/strong/oc20", Verdict::kFails, {}, {}, "insufficient convergence"});
  return sets;
}

inline analysis::ConvergencePlot plot_of(std::vector<analysis::PlottedSet> sets = {}) {
  return analysis::convergence_plot(three_points(), {}, std::move(sets));
}

/// A plot whose points are all pruned, without curve and limits.
inline analysis::ConvergencePlot all_pruned() {
  analysis::ConvergencePlot plot = plot_of();
  for (auto& point : plot.points) point.pruned = true;
  plot.curve.clear();
  plot.limits.clear();
  return plot;
}

/// A plot of the first `points` reference points.
inline analysis::ConvergencePlot plot_of_first(std::size_t points) {
  analysis::submission::ReferenceSet set = three_points();
  set.points.resize(points);
  return analysis::convergence_plot(set, {});
}

/// Markup, invalid UTF-8 sequences, and every byte.
inline std::string hostile_text() {
  std::string text =
      "]]>--><!&\"'<script> \xef\xbf\xbe \xef\xbf\xbf \xed\xa0\x80 \xf4\x90\x80\x80 ";
  for (int byte = 0; byte < 256; ++byte) text += static_cast<char>(byte);
  return text;
}

inline analysis::ConvergencePlot hostile_plot() {
  analysis::submission::ReferenceSet set = three_points();
  set.benchmark = set.source = set.unit = set.round = hostile_text();
  return analysis::convergence_plot(set, {},
                                    {set_at(hostile_text(), 256, 21), set_at("huge", 1e308, 1e308),
                                     set_at("zero", 0, 20), set_at("below", -256, 20)});
}

}  // namespace golden
