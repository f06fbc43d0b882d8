// What MLPerf asks of each benchmark.
// Hides the table.
#include "analysis/benchmark.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "runner/mllog/keys.h"

namespace analysis {
namespace {

using mllog::keys::kEvalAccuracy;
using mllog::keys::kEvalError;

constexpr std::array kBenchmarks = {
    Benchmark{"cosmoflow", kEvalError, Direction::kFalls, 0.124, 10, EpochMeaning::kOrdinal},
    Benchmark{"deepcam", kEvalAccuracy, Direction::kRises, 0.82, 5, EpochMeaning::kOrdinal},
    Benchmark{"oc20", kEvalError, Direction::kFalls, 0.036, 5, EpochMeaning::kOrdinal},
    Benchmark{"openfold", kEvalAccuracy, Direction::kRises, 0.8, 10, EpochMeaning::kSamples},
    Benchmark{"resnet", kEvalAccuracy, Direction::kRises, 0.759, 5, EpochMeaning::kOrdinal},
    Benchmark{"dlrm", kEvalAccuracy, Direction::kRises, 0.8025, 5, EpochMeaning::kFraction},
    Benchmark{"dlrm_dcnv2", kEvalAccuracy, Direction::kRises, 0.80275, 10, EpochMeaning::kFraction},
};

}  // namespace

bool QualityTarget::met_by(double quality) const {
  if (!value) return false;
  return direction == Direction::kRises ? quality >= *value : quality <= *value;
}

double QualityTarget::better(double one, double other) const {
  return direction == Direction::kRises ? std::fmax(one, other) : std::fmin(one, other);
}

const Benchmark* find_benchmark(std::string_view name) {
  const auto found = std::find_if(kBenchmarks.begin(), kBenchmarks.end(),
                                  [&](const Benchmark& row) { return row.name == name; });
  return found == kBenchmarks.end() ? nullptr : &*found;
}

}  // namespace analysis
