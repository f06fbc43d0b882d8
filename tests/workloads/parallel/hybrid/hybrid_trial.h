// A small recommendation network with tables, trained on samples that depend only on their step and
// place in the batch.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runner/base/random.h"
#include "telemetry_account.h"
#include "workloads/nn/layers/loss.h"
#include "workloads/optimizer/momentum_optimizers.h"
#include "workloads/optimizer/optimizer.h"
#include "workloads/parallel/hybrid/hybrid_parallel.h"

namespace parallel {

using Arrays = std::map<std::string, std::vector<float>>;

struct HybridCase {
  std::string name;
  EmbeddingConfig embeddings;
  nn::Precision precision = nn::Precision::kF32;
  double learning_rate = 0.5;
  double momentum = 0.0;  ///< of the dense layers
  friend void PrintTo(const HybridCase& one, std::ostream* out) { *out << one.name; }
};

inline constexpr std::int64_t kDenseFeatures = 5;
inline constexpr std::int64_t kHybridBatch = 37;  ///< prime: uneven on more than one rank
inline constexpr nn::ValueId kEmbeddingsInput = 1;

inline EmbeddingConfig tables_of(const std::vector<std::int64_t>& rows, std::int64_t width) {
  EmbeddingConfig config;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    config.tables.push_back({"table" + std::to_string(i), rows[i], width});
  }
  config.epsilon = 1e-3;  // a smaller one would amplify rounding errors of small gradients
  return config;
}

inline nn::Network hybrid_network(const EmbeddingConfig& config) {
  const std::int64_t width = config.tables.front().width;
  const auto tables = static_cast<std::int64_t>(config.tables.size());
  nn::Network net;
  nn::ValueId value = net.input({kDenseFeatures, {}});
  const nn::ValueId embeddings = net.input({tables * width, {}}, nn::InputGradient::kWanted);
  const auto add = [&](const std::string& name, std::int64_t outputs, bool relu) {
    const double spread = std::sqrt(2.0 / static_cast<double>(net.shape(value).channels));
    value = net.fully_connected(value, {name,
                                        outputs,
                                        {nn::Distribution::kNormal, spread, 0.0},
                                        {nn::Distribution::kNormal, 0.1, 0.0},
                                        relu});
  };
  add("bottom0", 24, true);
  add("bottom1", width, true);
  value = net.dot_interaction(value, embeddings);
  add("top0", 32, true);
  add("top1", 1, false);
  return net;
}

/// The sample in `place` of the batch of `step`.
struct HybridSample {
  std::vector<float> dense;
  std::vector<std::vector<std::int32_t>> ids;  ///< by table
  float label = 0.0F;

  HybridSample(const EmbeddingConfig& config, std::int64_t step, std::int64_t place) {
    base::RandomStream random(17, base::Purpose::kGenerate, static_cast<std::uint64_t>(step),
                              static_cast<std::uint64_t>(place));
    for (std::int64_t i = 0; i < kDenseFeatures; ++i) {
      dense.push_back(static_cast<float>(random.uniform(-1.0, 2.0)));
    }
    for (std::size_t table = 0; table < config.tables.size(); ++table) {
      ids.emplace_back();
      const auto rows = static_cast<std::uint64_t>(config.tables[table].rows);
      for (std::int64_t i = 0; i < config.tables[table].bag_size; ++i) {
        ids.back().push_back(static_cast<std::int32_t>(random.below(rows)));
      }
    }
    label = random.uniform() < 0.4 ? 1.0F : 0.0F;
  }
};

/// An initialized model on `world`.
class HybridTrial {
 public:
  HybridTrial(const runner::Communicator& world, HybridCase given, std::uint64_t seed = 5)
      : world_(world),
        node_(world.split_node()),
        case_(std::move(given)),
        net_(hybrid_network(case_.embeddings)),
        telemetry_(clock_),
        model_(net_, dense_config(), case_.embeddings, world, node_, telemetry_),
        optimizer_(nn::make_sgd({.momentum = case_.momentum})) {
    model_.initialize(seed, *optimizer_);
  }
  ~HybridTrial() {
    telemetry::expect_whole_entry(telemetry::rank_entry({0, "here", 0, 1}, telemetry_));
  }
  HybridTrial(const HybridTrial&) = delete;
  HybridTrial& operator=(const HybridTrial&) = delete;

  /// Collective. The mean loss over the global batch. is_followed: whether a step comes next, whose
  /// ids are at hand at the second question, as if they were read meanwhile.
  double step(bool is_followed = false) {
    load_samples();
    const std::vector<std::int32_t> next = ids_of(steps_ + 1);
    int questions = 0;
    const HybridParallel::NextIds next_ids = [&]() -> HybridParallel::Ids {
      if (!is_followed || ++questions < 2) return {};
      ++sent_ahead_;
      return next;
    };
    double loss = 0.0;
    model_.step(
        ids_, [this](std::int64_t) { load_dense(); },
        [&](std::int64_t) {
          nn::Executor& executor = model_.executor();
          loss = nn::binary_cross_entropy(executor.outputs(), labels_,
                                          1.0 / static_cast<double>(kHybridBatch),
                                          executor.output_gradient())
                     .loss;
        },
        *optimizer_, case_.learning_rate, next_ids);
    ++steps_;
    world_.allreduce_sum(std::span<double>(&loss, 1));
    return loss / static_cast<double>(kHybridBatch);
  }
  /// Collective. Takes `count` steps; returns the last loss.
  double steps(int count) {
    double loss = 0.0;
    for (int i = 0; i < count; ++i) loss = step();
    return loss;
  }
  /// Steps whose ids travelled during the step before.
  int sent_ahead() const { return sent_ahead_; }
  /// Collective. Logits of this rank's samples of the next batch.
  std::vector<float> infer() {
    load_samples();
    model_.infer(ids_, [this] { load_dense(); });
    return {model_.executor().outputs().begin(), model_.executor().outputs().end()};
  }
  /// Collective. Weights of the layers on every rank, of the tables on rank 0 only.
  Arrays weights() const {
    Arrays arrays;
    for (std::size_t i = 0; i < net_.parameters().size(); ++i) {
      arrays[net_.parameters()[i].name] =
          model_.executor().parameters().read_weights(static_cast<int>(i));
    }
    for (std::size_t i = 0; i < case_.embeddings.tables.size(); ++i) {
      const std::vector<float> rows = model_.read_table(i);
      if (world_.rank() == 0) arrays[case_.embeddings.tables[i].name] = rows;
    }
    world_.barrier();  // layer weights are shared: no rank may change them while others read
    return arrays;
  }

  /// Collective.
  std::vector<base::StateArray> state() { return model_.state(*optimizer_); }
  void restore(const base::StateSource& source, std::int64_t steps_done) {
    model_.restore(source, *optimizer_);
    steps_ = steps_done;
  }

  HybridParallel& model() { return model_; }
  const nn::Network& network() const { return net_; }
  const HybridCase& what() const { return case_; }
  const nn::PassSlice& slice() {
    return model_.dense().split().slices[static_cast<std::size_t>(world_.rank())];
  }

 private:
  DataParallelConfig dense_config() const {
    DataParallelConfig config;
    config.global_batch = kHybridBatch;
    config.instruction_set = base::usable_instruction_set();
    config.arithmetic.precision = case_.precision;
    return config;
  }
  void load_samples() {
    dense_.clear();
    labels_.clear();
    for (std::int64_t i = 0; i < model_.local_batch(); ++i) {
      const HybridSample sample(case_.embeddings, steps_, slice().first + i);
      dense_.insert(dense_.end(), sample.dense.begin(), sample.dense.end());
      labels_.push_back(sample.label);
    }
    ids_ = ids_of(steps_);
  }
  /// Of this rank's samples of a step.
  std::vector<std::int32_t> ids_of(std::int64_t step) {
    std::vector<std::int32_t> ids;
    for (std::size_t table = 0; table < case_.embeddings.tables.size(); ++table) {
      for (std::int64_t i = 0; i < model_.local_batch(); ++i) {
        const HybridSample sample(case_.embeddings, step, slice().first + i);
        ids.insert(ids.end(), sample.ids[table].begin(), sample.ids[table].end());
      }
    }
    return ids;
  }
  void load_dense() { std::copy(dense_.begin(), dense_.end(), model_.executor().input().begin()); }

  const runner::Communicator& world_;
  runner::Communicator node_;
  HybridCase case_;
  nn::Network net_;
  base::SystemClock clock_;
  telemetry::Telemetry telemetry_;
  HybridParallel model_;
  std::unique_ptr<nn::Optimizer> optimizer_;
  std::int64_t steps_ = 0;
  int sent_ahead_ = 0;
  std::vector<float> dense_, labels_;
  std::vector<std::int32_t> ids_;
};

/// ||a - b|| / ||b - start|| of one array.
template <class A, class B>
double update_error(const std::vector<float>& start, const std::vector<A>& a,
                    const std::vector<B>& b) {
  double distance = 0.0, norm = 0.0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    const auto goal = static_cast<double>(b[i]);
    distance += std::pow(static_cast<double>(a.at(i)) - goal, 2);
    norm += std::pow(goal - static_cast<double>(start.at(i)), 2);
  }
  if (distance == 0.0) return 0.0;
  return norm > 0.0 ? std::sqrt(distance / norm) : std::numeric_limits<double>::infinity();
}

/// Expects that each array of `a` changed from `start` as in `b`, within `tolerance`.
inline void expect_same_updates(const Arrays& start, const Arrays& a, const Arrays& b,
                                double tolerance) {
  for (const auto& [name, values] : a) {
    EXPECT_LT(update_error(start.at(name), values, b.at(name)), tolerance) << name;
    EXPECT_NE(values, start.at(name)) << name << " was not trained";
  }
}

}  // namespace parallel
