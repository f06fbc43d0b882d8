// The distribution of synthetic click logs.
#include "workloads/dlrm/planted_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "runner/base/error.h"
#include "runner/base/for_each_index.h"
#include "runner/base/hash_chain.h"
#include "workloads/dlrm/logit_histogram.h"

namespace dlrm {
namespace {

using base::chain;
using base::normal_of;
using base::uniform_of;

/// First keys of the hash chains of parameters and samples.
enum Key : std::uint64_t { kFeatureWeight = 7, kRowWeight = 11, kRowLatent = 13, kSample = 17 };
/// First keys of the hash chains of a sample's variates.
enum Draw : std::uint64_t { kShared, kOwn, kMissing, kId, kLabel };

/// Scales of the three terms of the logit.
constexpr double kDenseScale = 2.0 * 0.35, kIdScale = 2.5 * 0.45, kPairScale = 0.55;
constexpr double kLatentScale = 0.5;  ///< scales the latent vectors' dot products to deviation 1
constexpr std::int64_t kMostPairs = 12;

/// Value `i` of `count` evenly spaced values from `low` to `high`.
double evenly(double low, double high, std::int64_t i, std::int64_t count) {
  return count > 1 ? low + (high - low) * static_cast<double>(i) / static_cast<double>(count - 1)
                   : low;
}

/// The value that a record stores for a raw count.
std::int32_t count_in_record(std::int32_t raw) { return std::max(raw, 0); }

double exponent_of(std::int64_t table) { return 1.05 + 0.01 * static_cast<double>(table % 10); }

}  // namespace

void check_planted_shape(const PlantedShape& shape) {
  constexpr std::int64_t kMostDense = 1024;
  constexpr std::size_t kMostTables = 1024;
  constexpr std::int64_t kMostRows = std::numeric_limits<std::int32_t>::max();
  if (shape.dense < 1 || shape.dense > kMostDense) {
    throw base::ConfigError(
        fmt::format("generate: --dense: must be 1 to {}, got {}", kMostDense, shape.dense));
  }
  if (shape.tables.empty() || shape.tables.size() > kMostTables) {
    throw base::ConfigError(fmt::format("generate: --tables: must be 1 to {} sizes, got {}",
                                        kMostTables, shape.tables.size()));
  }
  for (const std::int64_t rows : shape.tables) {
    if (rows >= 1 && rows <= kMostRows) continue;
    throw base::ConfigError(
        fmt::format("generate: --tables: a size must be 1 to {}, got {}", kMostRows, rows));
  }
  if (!(shape.positive_rate > 0.0 && shape.positive_rate < 1.0)) {
    throw base::ConfigError(fmt::format(
        "generate: --positive-rate: must be between 0 and 1, got {}", shape.positive_rate));
  }
}

PlantedModel::PlantedModel(PlantedShape shape, int threads)
    : shape_(std::move(shape)),
      format_{shape_.dense, static_cast<std::int64_t>(shape_.tables.size())} {
  check_planted_shape(shape_);
  const std::int64_t dense = shape_.dense;
  for (std::int64_t i = 0; i < dense; ++i) {
    features_.push_back({evenly(0.5, 4.0, i, dense), evenly(0.8, 1.6, i, dense),
                         evenly(0.0, 0.45, i, dense),
                         normal_of(chain({kFeatureWeight, static_cast<std::uint64_t>(i)}))});
  }
  const auto count = static_cast<std::int64_t>(shape_.tables.size());
  pairs_ = std::min(kMostPairs, count / 2);
  for (std::int64_t j = 0; j < count; ++j) {
    const std::int64_t rows = shape_.tables[static_cast<std::size_t>(j)];
    Table table{Zipf(rows, exponent_of(j)), {}};
    table.head.resize(static_cast<std::size_t>(std::min(rows, Zipf::kHead)));
    tables_.push_back(std::move(table));
  }
  base::for_each_index(tables_.size(), threads, [this](std::size_t j) {
    std::vector<Row>& head = tables_[j].head;
    for (std::size_t id = 0; id < head.size(); ++id) head[id] = make_row(j, id);
  });
  fit_bias(threads);
}

PlantedModel::Row PlantedModel::make_row(std::uint64_t table, std::uint64_t id) {
  Row row;
  row.weight = static_cast<float>(normal_of(chain({kRowWeight, table, id})));
  const std::uint64_t latent = chain({kRowLatent, table, id});
  for (std::uint64_t r = 0; r < kRank; ++r) {
    row.latent[r] = static_cast<float>(normal_of(chain({r}, latent)));
  }
  return row;
}

double PlantedModel::draw_counts(std::uint64_t sample, std::span<std::int32_t> counts) const {
  constexpr double kSharedPart = 0.5, kOwnPart = 0.866;
  constexpr double kMost = std::numeric_limits<std::int32_t>::max();
  const double shared = normal_of(chain({kShared}, sample));
  const std::uint64_t own = chain({kOwn}, sample), missing = chain({kMissing}, sample);
  double sum = 0.0;
  for (std::size_t i = 0; i < features_.size(); ++i) {
    const Feature& feature = features_[i];
    counts[i] = kMissingCount;
    if (uniform_of(chain({i}, missing)) >= feature.missing) {
      const double normal = kSharedPart * shared + kOwnPart * normal_of(chain({i}, own));
      const double raw = std::floor(std::exp(feature.mean + feature.deviation * normal)) - 1.0;
      counts[i] = static_cast<std::int32_t>(std::min(raw, kMost));
    }
    const double centre = feature.mean * (1.0 - feature.missing);
    sum += feature.weight * (std::log1p(count_in_record(counts[i])) - centre) / feature.deviation;
  }
  return kDenseScale / std::sqrt(static_cast<double>(features_.size())) * sum;
}

double PlantedModel::draw_ids(std::uint64_t sample, std::span<std::int32_t> ids) const {
  const std::uint64_t hash = chain({kId}, sample);
  double linear = 0.0, products = 0.0;
  Row previous;
  for (std::size_t j = 0; j < tables_.size(); ++j) {
    const std::int64_t id = tables_[j].law.draw(chain({j}, hash));
    ids[j] = static_cast<std::int32_t>(id);
    const Row row = id < Zipf::kHead ? tables_[j].head[static_cast<std::size_t>(id)]
                                     : make_row(j, static_cast<std::uint64_t>(id));
    linear += row.weight;
    if (j % 2 == 1 && j < 2 * static_cast<std::size_t>(pairs_)) {
      double product = 0.0;
      for (std::int64_t r = 0; r < kRank; ++r) {
        product += double{row.latent[r]} * double{previous.latent[r]};
      }
      products += kLatentScale * product;
    }
    previous = row;
  }
  const double sum = kIdScale / std::sqrt(static_cast<double>(tables_.size())) * linear;
  return pairs_ > 0 ? sum + kPairScale / std::sqrt(static_cast<double>(pairs_)) * products : sum;
}

double PlantedModel::logit_without_bias(std::uint64_t sample,
                                        std::span<std::int32_t> record) const {
  const std::size_t dense = features_.size();
  return draw_counts(sample, record.subspan(1, dense)) +
         draw_ids(sample, record.subspan(1 + dense));
}

std::uint64_t PlantedModel::hash_of(ClickSplit split, std::int64_t index) const {
  return chain(
      {kSample, shape_.seed, static_cast<std::uint64_t>(split), static_cast<std::uint64_t>(index)});
}

double PlantedModel::draw(ClickSplit split, std::int64_t index,
                          std::span<std::int32_t> record) const {
  const double logit = draw_raw(split, index, record);
  for (std::int32_t& count : record.subspan(1, features_.size())) count = count_in_record(count);
  return logit;
}

double PlantedModel::draw_raw(ClickSplit split, std::int64_t index,
                              std::span<std::int32_t> record) const {
  const std::uint64_t sample = hash_of(split, index);
  const double logit = bias_ + logit_without_bias(sample, record);
  record[0] = uniform_of(chain({kLabel}, sample)) < sigmoid(logit) ? 1 : 0;
  return logit;
}

void PlantedModel::fit_bias(int threads) {
  constexpr std::size_t kBlocks = 64, kBlockSamples = 4096;
  constexpr int kHalvings = 48;
  constexpr double kFurthest = 64.0;
  std::vector<double> logits(kBlocks * kBlockSamples);
  base::for_each_index(kBlocks, threads, [&](std::size_t block) {
    std::vector<std::int32_t> record(static_cast<std::size_t>(format_.record_values()));
    for (std::size_t i = block * kBlockSamples; i < (block + 1) * kBlockSamples; ++i) {
      const auto sample = hash_of(ClickSplit::kCalibration, static_cast<std::int64_t>(i));
      logits[i] = logit_without_bias(sample, record);
    }
  });
  double low = -kFurthest, high = kFurthest;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = 0.5 * (low + high);
    double sum = 0.0;
    for (const double logit : logits) sum += sigmoid(logit + middle);
    (sum < shape_.positive_rate * static_cast<double>(logits.size()) ? low : high) = middle;
  }
  bias_ = 0.5 * (low + high);
}

}  // namespace dlrm
