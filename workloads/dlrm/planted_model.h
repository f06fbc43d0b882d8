// The law behind synthetic click logs: counts, ids, and the probability of a click given both.
// Hides its parameters and how they are drawn.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "staging/dataset/criteo.h"
#include "workloads/dlrm/zipf.h"

namespace dlrm {

/// Files of a dataset: the values enter the hash.
enum class ClickSplit : std::uint64_t { kTrain, kTest, kValidation, kCalibration };

/// Stands for a count that is missing in PlantedModel::draw_raw().
inline constexpr std::int32_t kMissingCount = std::numeric_limits<std::int32_t>::min();

struct PlantedShape {
  std::int64_t dense = 13;
  std::vector<std::int64_t> tables;  ///< rows of each
  double positive_rate = 0.25;       ///< share of clicks that the bias is fitted to
  std::uint64_t seed = 1;
};

/// Throws ConfigError for a shape without dense features or tables, for table sizes that are no
/// positive int32, and for a rate outside (0, 1).
void check_planted_shape(const PlantedShape& shape);

/// Ids follow Zipf's law, counts are log-normal with a part that a sample's counts share, some are
/// missing; the logit is linear in both and adds products of pairs of tables' latent vectors. Its
/// parameters are the same for every seed, so its best possible AUC is, too. Every sample is a pure
/// function of (seed, split, index). Memory is bounded, whatever the sizes of the tables.
class PlantedModel {
 public:
  /// Fits the bias on `threads` threads (0: as many as CPUs may be used); it depends on the shape
  /// alone. Throws as check_planted_shape().
  PlantedModel(PlantedShape shape, int threads);
  const PlantedShape& shape() const { return shape_; }
  double bias() const { return bias_; }
  /// Of the records that it draws.
  const dataset::ClickFormat& format() const { return format_; }
  /// Fills `record` (label, counts, ids) and returns the logit that its label was drawn from.
  double draw(ClickSplit split, std::int64_t index, std::span<std::int32_t> record) const;
  /// The same with counts as the logs have them, where records have 0: -1, or kMissingCount.
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
    std::vector<Row> head;  ///< the rows drawn most; others are made when needed
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
