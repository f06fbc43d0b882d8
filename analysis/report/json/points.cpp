// Reference points, and sets drawn from their runs, as JSON.
#include "analysis/report/json/points.h"

#include <nlohmann/json.hpp>

#include "analysis/submission/reference_curve.h"
#include "runner/base/json_text.h"

namespace analysis::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kPointsSchema = 1;

Json bootstrap_json(const std::optional<submission::Bootstrap>& drawn,
                    const submission::ReferenceSet& set) {
  if (!drawn) return nullptr;
  Json quantiles = Json::array(), histogram = Json::array();
  for (const auto& [share, mean] : drawn->quantiles) {
    quantiles.push_back({{"share", share}, {"mean", mean}});
  }
  for (const submission::Bootstrap::Bin& bin : drawn->histogram) {
    histogram.push_back(
        {{"from", bin.from}, {"below", bin.to}, {"sets", bin.sets}, {"failing", bin.failing}});
  }
  return {{"batch_size", drawn->point.batch_size},
          {"reference_runs", drawn->reference_runs},
          {"runs_per_set", drawn->runs_per_set},
          {"sets", drawn->sets},
          {"seed", drawn->seed},
          {"least_mean", drawn->point.least_mean},
          {"passing", drawn->passing()},
          {"failing", drawn->failing()},
          {"standard_error", drawn->standard_error()},
          {"mean", drawn->mean},
          {"stdev", drawn->stdev},
          {"quantiles", quantiles},
          {"histogram", histogram},
          {"definitions",
           {{"sets", "drawn with replacement from the reference's runs at batch_size"},
            {"passing", "share of the sets whose mean is at least least_mean"},
            {"failing", "share of the sets whose mean is below least_mean"},
            {"standard_error", "of either share as an estimate of the probability"},
            {"mean", "of the sets' means, each without " + set.extremes()},
            {"stdev", "of the sets' means, divided by their number"},
            {"quantiles", "the least mean that at least that share of the sets do not exceed"},
            {"histogram", "sets by their means, and how many of them fail"}}}};
}

}  // namespace

Json point_json(const submission::ConvergencePoint& point) {
  const submission::MeanTest& test = point.test;
  return {{"batch_size", point.batch_size},
          {"mean", test.mean},
          {"stdev", test.stdev},
          {"runs", test.reference_runs},
          {"interval", {test.mean - test.half_width(), test.mean + test.half_width()}},
          {"least_mean", point.least_mean},
          {"pruned", point.pruned}};
}

std::string points_json_text(const submission::ReferenceSet& set,
                             const submission::RcpEraFacts& era,
                             const std::optional<submission::Bootstrap>& drawn) {
  Json points = Json::array();
  const submission::ReferenceCurve curve(set, era.era);
  for (const auto& point : curve.points()) {
    points.push_back(point_json(point));
  }
  const Json document = {{"schema", kPointsSchema},
                         {"benchmark", set.benchmark},
                         {"usage", set.usage.empty() ? Json(nullptr) : Json(set.usage)},
                         {"round", set.round.empty() ? Json(nullptr) : Json(set.round)},
                         {"unit", set.unit},
                         {"runs_required", set.runs_required},
                         {"source", set.source},
                         {"era", era.name},
                         {"points", points},
                         {"bootstrap", bootstrap_json(drawn, set)}};
  return base::json_text(document);
}

}  // namespace analysis::report
