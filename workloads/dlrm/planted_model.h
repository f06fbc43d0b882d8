// The distribution of synthetic click logs: counts, ids, and the probability of a click given both.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "staging/dataset/criteo.h"
#include "workloads/dlrm/zipf.h"

namespace dlrm {

/// Files of a dataset. The values are part of the hash, so they must not change.
enum class ClickSplit : std::uint64_t { kTrain, kTest, kValidation, kCalibration };

/// A missing count in PlantedModel::draw_raw().
inline constexpr std::int32_t kMissingCount = std::numeric_limits<std::int32_t>::min();

struct PlantedShape {
  std::int64_t dense = 13;
  std::vector<std::int64_t> tables;  ///< rows of each table
  double positive_rate = 0.25;       ///< fraction of clicks to which the bias is fitted
  std::uint64_t seed = 1;
};

/// Throws ConfigError unless there are 1 to 1024 dense features and 1 to 1024 tables, table sizes
/// are positive int32, and the rate is in (0, 1).
void check_planted_shape(const PlantedShape& shape);

/// Ids follow Zipf's law. Counts are log-normal with a component common to a sample's counts; some
/// are missing. The logit is linear in the counts' logarithms and in weights of the ids, plus dot
/// products of the latent vectors of pairs of tables. The parameters do not depend on the seed, and
/// so neither does the best possible AUC. Every sample is a pure function of (seed, split, index).
/// Memory is bounded for tables of any size.
class PlantedModel {
 public:
  /// Fits the bias, which depends on the shape only, on `threads` threads (0: one for each usable
  /// CPU). Throws as check_planted_shape().
  PlantedModel(PlantedShape shape, int threads);
  const PlantedShape& shape() const { return shape_; }
  double bias() const { return bias_; }
  /// The format of the drawn records.
  const dataset::ClickFormat& format() const { return format_; }
  /// Fills `record` (label, counts, ids) and returns the logit from which the label was drawn.
  double draw(ClickSplit split, std::int64_t index, std::span<std::int32_t> record) const;
  /// As draw(), but keeps counts of -1 and kMissingCount, which draw() replaces by 0.
  double draw_raw(ClickSplit split, std::int64_t index, std::span<std::int32_t> record) const;

 private:
  static constexpr std::int64_t kRank = 4;  ///< of the latent vectors
  struct Feature {
    double mean, deviation, missing, weight;
  };
  struct Row {
    float weight = 0.0F;
    float latent[kRank] = {};
  };
  struct Table {
    Zipf law;
    std::vector<Row> head;  ///< cache of the first rows, drawn most often; others are recomputed
  };
  static Row make_row(std::uint64_t table, std::uint64_t id);
  double draw_counts(std::uint64_t sample, std::span<std::int32_t> counts) const;
  double draw_ids(std::uint64_t sample, std::span<std::int32_t> ids) const;
  double logit_without_bias(std::uint64_t sample, std::span<std::int32_t> record) const;
  std::uint64_t hash_of(ClickSplit split, std::int64_t index) const;
  void fit_bias(int threads);

  PlantedShape shape_;
  dataset::ClickFormat format_;
  std::vector<Feature> features_;
  std::vector<Table> tables_;
  std::int64_t pairs_ = 0;
  double bias_ = 0.0;
};

}  // namespace dlrm
