// Tests that several ranks train layers and tables as one rank does, and one rank as plain loops in
// double precision do.
#include "workloads/parallel/hybrid/hybrid_parallel.h"

#include <gmock/gmock.h>

#include "runner/base/error.h"
#include "runner/base/thrown_message.h"
#include "workloads/nn/plain_network.h"
#include "workloads/parallel/hybrid/hybrid_trial.h"

namespace parallel {
namespace {

using testing::HasSubstr;

constexpr char kNeedsBf16[] = "needs avx512_bf16";

EmbeddingConfig uneven() { return tables_of({50, 7, 200, 3, 31}, 16); }
/// Two wide tables, which are split into uneven parts on more than two ranks.
EmbeddingConfig wide() { return tables_of({300, 90}, 40); }

template <class Change>
HybridCase changed(const std::string& name, EmbeddingConfig config, Change change) {
  HybridCase one{name, std::move(config)};
  change(one);
  return one;
}

std::vector<HybridCase> cases() {
  using nn::Precision;
  using nn::SparseRule;
  using nn::TableStorage;
  using nn::TableUpdate;
  std::vector<HybridCase> all = {{"alltoall", uneven()}};
  const auto add = [&](const char* name, const EmbeddingConfig& config, const auto& change) {
    all.push_back(changed(name, config, change));
  };
  const auto several_ids = [](HybridCase& c) {
    std::int64_t sizes[] = {2, 1, 5, 1, 3};
    for (std::size_t i = 0; i < 5; ++i) c.embeddings.tables.at(i).bag_size = sizes[i];
  };
  const auto adagrad = [](HybridCase& c) {
    c.embeddings.rule = SparseRule::kAdagrad;
    c.learning_rate = 0.1;
  };
  const auto rowwise = [](HybridCase& c) {
    c.embeddings.rule = SparseRule::kRowwiseAdagrad;
    c.learning_rate = 0.1;
  };
  const auto replicated = [](HybridCase& c) { c.embeddings.replicate_up_to_rows = 31; };
  const auto both = [](const auto& one, const auto& other) {
    return [=](HybridCase& c) {
      one(c);
      other(c);
    };
  };
  add("scatter", uneven(), [](auto& c) { c.embeddings.alltoall = AlltoallVariant::kScatter; });
  add("scatter_list", wide(),
      [](auto& c) { c.embeddings.alltoall = AlltoallVariant::kScatterList; });
  add("cut", wide(), [](auto&) {});
  add("cut_adagrad", wide(), adagrad);
  add("rowwise_adagrad_uncut", wide(), rowwise);
  add("several_ids", uneven(), several_ids);
  add("adagrad_several_ids", uneven(), both(adagrad, several_ids));
  add("rowwise_adagrad_several_ids", uneven(), both(rowwise, several_ids));
  add("replicated", uneven(), both(replicated, several_ids));
  add("replicated_adagrad", uneven(), both(replicated, both(adagrad, several_ids)));
  add("replicated_rowwise_adagrad", uneven(), both(replicated, both(rowwise, several_ids)));
  add("all_replicated", uneven(), [](auto& c) { c.embeddings.replicate_up_to_rows = 200; });
  add("race_free", uneven(), [](auto& c) { c.embeddings.update = TableUpdate::kRaceFree; });
  add("split_storage", uneven(),
      both(several_ids, [](HybridCase& c) { c.embeddings.storage = TableStorage::kSplitBf16; }));
  add("bf16_payload", uneven(), [](auto& c) { c.embeddings.payload = Precision::kBf16; });
  add("bf16", uneven(), both(several_ids, [](HybridCase& c) { c.precision = Precision::kBf16; }));
  add("bf16_split_replicated", uneven(), both(replicated, [](HybridCase& c) {
        c.precision = Precision::kBf16;
        c.embeddings.storage = TableStorage::kSplitBf16;
      }));
  add("bf16_cut", wide(), [](auto& c) { c.precision = Precision::kBf16; });
  return all;
}

bool can_run(const HybridCase& one) {
  return one.precision == nn::Precision::kF32 ||
         base::usable_instruction_set() >= base::InstructionSet::kAvx512Bf16;
}

class Hybrid : public testing::TestWithParam<HybridCase> {
 protected:
  void SetUp() override {
    if (!can_run(GetParam())) GTEST_SKIP() << kNeedsBf16;
  }
  const runner::Communicator world_ = runner::Communicator::world();
  const runner::Communicator alone_ = world_.split(-1, 0);
};

TEST_P(Hybrid, DoesTheMathematicsOfOneRank) {
  HybridTrial many(world_, GetParam()), one(alone_, GetParam());
  const Arrays start = one.weights();
  for (const auto& [name, values] : many.weights()) EXPECT_EQ(values, start.at(name)) << name;
  // Sums over samples differ in order; with values rounded to bf16 (8 bits), some of these then
  // round the other way.
  const bool rounds = GetParam().precision == nn::Precision::kBf16 ||
                      GetParam().embeddings.payload == nn::Precision::kBf16;
  const double of_loss = rounds ? 1e-3 : 1e-6, of_update = rounds ? 0.03 : 1e-4;
  for (int i = 0; i < 4; ++i) {
    const double expected = one.step();
    EXPECT_NEAR(many.step(), expected, of_loss * expected) << "step " << i;
  }
  expect_same_updates(start, many.weights(), one.weights(), of_update);
}

TEST_P(Hybrid, InfersAsOneRank) {
  HybridTrial many(world_, GetParam()), one(alone_, GetParam());
  const std::vector<float> mine = many.infer(), all = one.infer();
  const double tolerance = GetParam().precision == nn::Precision::kBf16 ? 0.02 : 1e-5;
  ASSERT_EQ(static_cast<std::int64_t>(mine.size()), many.slice().count);
  for (std::size_t i = 0; i < mine.size(); ++i) {
    const auto at = static_cast<std::size_t>(many.slice().first) + i;
    EXPECT_NEAR(mine[i], all[at], tolerance * (1.0 + std::abs(all[at]))) << "sample " << at;
  }
}

TEST_P(Hybrid, GivesTheSameBitsAgainAndOnEveryReplica) {
  HybridTrial first(world_, GetParam()), second(world_, GetParam());
  EXPECT_EQ(first.steps(3), second.steps(3));
  EXPECT_EQ(first.weights(), second.weights());
  const auto hash = static_cast<std::int64_t>(first.model().replica_hash() >> 1U);
  EXPECT_EQ(world_.allreduce_min(hash), world_.allreduce_max(hash));
}

TEST_P(Hybrid, GivesTheSameBitsWhenIdsTravelDuringTheStepBefore) {
  HybridTrial first(world_, GetParam()), second(world_, GetParam());
  for (int step = 0; step < 6; ++step) {
    ASSERT_EQ(second.step(step % 3 < 2), first.step()) << step;
  }
  EXPECT_EQ(second.weights(), first.weights());
  EXPECT_EQ(first.sent_ahead(), 0);
  const bool sends = !second.model().exchange().is_local() && second.slice().count > 0;
  EXPECT_EQ(second.sent_ahead(), sends ? 4 : 0);
  EXPECT_EQ(second.infer(), first.infer()) << "the last step was followed by no other";
}

/// Reference: a step on the whole batch in double precision.
class Twin {
 public:
  Twin(const HybridTrial& trial, const Arrays& start)
      : config_(trial.what().embeddings), net_(trial.network()), start_(start) {
    for (std::int64_t n = 0; n < kHybridBatch; ++n) {
      samples_.emplace_back(config_, 0, n);
      dense_.insert(dense_.end(), samples_.back().dense.begin(), samples_.back().dense.end());
    }
    for (const nn::ParameterSpec& spec : net_.parameters()) {
      parameters_.push_back(as_doubles(start.at(spec.name)));
    }
  }
  /// All arrays after one step.
  std::map<std::string, plain::Array> step(double rate) {
    const plain::Options options = {kHybridBatch, 1, true, {}, {}, nullptr, {embeddings()}};
    plain::Pass pass = plain::forward(net_, parameters_, dense_, options);
    plain::Array upstream;
    for (std::size_t n = 0; n < samples_.size(); ++n) {
      const double logit = pass.values.back()[n], label = static_cast<double>(samples_[n].label);
      upstream.push_back((1.0 / (1.0 + std::exp(-logit)) - label) / kHybridBatch);
      loss += (std::log1p(std::exp(logit)) - label * logit) / kHybridBatch;
    }
    plain::backward(net_, parameters_, options, upstream, pass);
    std::map<std::string, plain::Array> stepped;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      plain::Array& to = stepped[net_.parameters()[i].name] = parameters_[i];
      for (std::size_t k = 0; k < to.size(); ++k) to[k] -= rate * pass.parameter_gradients[i][k];
    }
    for (std::size_t table = 0; table < config_.tables.size(); ++table) {
      stepped[config_.tables[table].name] =
          stepped_table(table, pass.value_gradients[kEmbeddingsInput], rate);
    }
    return stepped;
  }
  double loss = 0.0;

 private:
  static plain::Array as_doubles(const std::vector<float>& values) {
    return {values.begin(), values.end()};
  }
  std::size_t width() const { return static_cast<std::size_t>(config_.tables.front().width); }
  plain::Array embeddings() const {
    plain::Array all;
    for (const HybridSample& sample : samples_) {
      for (std::size_t table = 0; table < config_.tables.size(); ++table) {
        const std::vector<float>& rows = start_.at(config_.tables[table].name);
        for (std::size_t c = 0; c < width(); ++c) {
          double sum = 0.0;
          for (const std::int32_t id : sample.ids[table]) {
            sum += static_cast<double>(rows[static_cast<std::size_t>(id) * width() + c]);
          }
          all.push_back(sum);
        }
      }
    }
    return all;
  }
  plain::Array stepped_table(std::size_t table, const plain::Array& gradient, double rate) const {
    plain::Array rows = as_doubles(start_.at(config_.tables[table].name));
    plain::Array sums(rows.size(), 0.0);
    for (std::size_t n = 0; n < samples_.size(); ++n) {
      const std::size_t at = (n * config_.tables.size() + table) * width();
      for (const std::int32_t id : samples_[n].ids[table]) {
        const std::size_t row = static_cast<std::size_t>(id) * width();
        for (std::size_t c = 0; c < width(); ++c) sums[row + c] += gradient[at + c];
      }
    }
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] -= rate * sums[i] / divisor(sums, i);
    return rows;
  }
  double divisor(const plain::Array& sums, std::size_t i) const {
    if (config_.rule == nn::SparseRule::kSgd) return 1.0;
    if (config_.rule == nn::SparseRule::kAdagrad) return std::abs(sums[i]) + config_.epsilon;
    double squares = 0.0;
    const std::size_t row = i / width() * width();
    for (std::size_t c = 0; c < width(); ++c) squares += sums[row + c] * sums[row + c];
    return std::sqrt(squares / static_cast<double>(width())) + config_.epsilon;
  }

  EmbeddingConfig config_;
  nn::Network net_;
  Arrays start_;
  std::vector<HybridSample> samples_;
  plain::Array dense_;
  std::vector<plain::Array> parameters_;
};

/// Detects learning rates that are wrong by a factor of the number of ranks.
TEST_P(Hybrid, TakesTheStepOfPlainLoops) {
  const HybridCase& one = GetParam();
  if (one.precision == nn::Precision::kBf16 || one.embeddings.payload == nn::Precision::kBf16 ||
      one.embeddings.storage == nn::TableStorage::kSplitBf16) {
    GTEST_SKIP() << "rounds more than the twin does";
  }
  HybridTrial trial(world_, one);
  const Arrays start = trial.weights();
  const double loss = trial.step();
  const Arrays stepped = trial.weights();
  if (world_.rank() != 0) return;  // only rank 0 has whole tables
  Twin twin(trial, start);
  for (const auto& [name, values] : twin.step(one.learning_rate)) {
    EXPECT_LT(update_error(start.at(name), stepped.at(name), values), 1e-4) << name;
    EXPECT_NE(stepped.at(name), start.at(name)) << name << " was not trained";
  }
  EXPECT_NEAR(loss, twin.loss, 1e-6 * twin.loss);
}

INSTANTIATE_TEST_SUITE_P(Cases, Hybrid, testing::ValuesIn(cases()),
                         [](const auto& named) { return named.param.name; });

TEST(HybridParallel, PlacesTablesAsTheCasesSay) {
  const int ranks = runner::Communicator::world().size();
  const auto parts_of = [](const TablePlacement& placement, int table) {
    return std::ranges::count(placement.shards, table, &TableShard::table);
  };
  if (ranks > 2) {
    EXPECT_GT(parts_of(place(wide(), ranks), 0), 1);
  }
  EmbeddingConfig config = wide();
  config.rule = nn::SparseRule::kRowwiseAdagrad;
  EXPECT_EQ(parts_of(place(config, ranks), 0), 1);
  config = uneven();
  config.replicate_up_to_rows = 31;
  EXPECT_EQ(place(config, ranks).replicated,
            ranks > 1 ? std::vector<int>({1, 3, 4}) : std::vector<int>());
}

TEST(HybridParallel, RoundsAPayloadToEightBits) {
  const runner::Communicator world = runner::Communicator::world();
  HybridCase rounding{"bf16_payload", uneven()};
  rounding.embeddings.payload = nn::Precision::kBf16;
  HybridTrial exact(world, {"alltoall", uneven()}), rounded(world, rounding);
  const Arrays start = exact.weights();
  const double loss = exact.step(), rounded_loss = rounded.step();
  EXPECT_NE(loss, rounded_loss);
  EXPECT_NEAR(loss, rounded_loss, std::ldexp(loss, -8));
  // Where gradients cancel, the relative rounding error is larger.
  const Arrays a = rounded.weights(), b = exact.weights();
  for (const auto& [name, values] : a) {
    EXPECT_LT(update_error(start.at(name), values, b.at(name)), std::ldexp(1.0, -4)) << name;
  }
}

TEST(HybridParallel, TrainsTablesAtAMultipleOfTheLayersRate) {
  const runner::Communicator world = runner::Communicator::world();
  HybridCase given{"faster", uneven()};
  given.embeddings.replicate_up_to_rows = 31;
  HybridTrial usual(world, given);
  given.embeddings.learning_rate_factor = 4.0;
  HybridTrial faster(world, given);
  const Arrays start = usual.weights();
  usual.step();
  faster.step();
  const Arrays a = faster.weights(), b = usual.weights();
  const std::size_t layers = usual.network().parameters().size();
  EXPECT_EQ(a.size(), world.rank() == 0 ? layers + given.embeddings.tables.size() : layers);
  for (const auto& [name, values] : a) {
    const double factor = name.starts_with("table") ? 4.0 : 1.0;
    std::vector<double> expected;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double before = static_cast<double>(start.at(name)[i]);
      expected.push_back(before + factor * (static_cast<double>(b.at(name)[i]) - before));
    }
    EXPECT_LT(update_error(start.at(name), values, expected), 1e-3) << name;
  }
}

TEST(HybridParallel, TellsTheBytesOfItsTables) {
  const runner::Communicator world = runner::Communicator::world();
  for (const HybridCase& one : cases()) {
    if (!can_run(one)) continue;
    HybridTrial trial(world, one);
    const TablePlacement placement = place(one.embeddings, world.size());
    EXPECT_EQ(table_bytes(one.embeddings, shards_of(one.embeddings, placement, world.rank())),
              trial.model().tables().memory_bytes())
        << one.name;
    EXPECT_EQ(placement.ranks[static_cast<std::size_t>(world.rank())].bytes,
              trial.model().tables().memory_bytes() + placement.replicated_bytes)
        << one.name;
  }
}

TEST(HybridParallel, RefusesAccumulation) {
  const runner::Communicator world = runner::Communicator::world();
  const base::SystemClock clock;
  telemetry::Telemetry telemetry(clock);
  DataParallelConfig dense;
  dense.global_batch = 32;
  dense.accumulation = 2;
  const nn::Network net = hybrid_network(uneven());
  EXPECT_THAT(base::thrown_message<base::ConfigError>(
                  [&] { HybridParallel(net, dense, uneven(), world, world, telemetry); }),
              HasSubstr("gradient_accumulation_steps: expected 1"));
}

TEST(RequireFit, NamesWhatANetworkLacksForTables) {
  const EmbeddingConfig tables = uneven();
  const nn::Network right = hybrid_network(tables);
  EXPECT_EQ(&require_fit(right, {}, tables), &tables);
  const auto refusal = [&](const nn::Network& network) {
    return base::thrown_message<base::ShapeError>([&] { require_fit(network, {}, tables); });
  };
  std::int64_t columns = 0;
  for (const TableSpec& table : tables.tables) columns += table.width;
  const auto network_of = [](std::int64_t width, nn::InputGradient gradient) {
    nn::Network network;
    (void)network.input({3, {}});
    (void)network.input({width, {}}, gradient);
    return network;
  };
  nn::Network one;
  (void)one.input({3, {}});
  EXPECT_THAT(refusal(one), HasSubstr("expected two inputs, the second of " +
                                      std::to_string(columns) + " columns"));
  EXPECT_THAT(refusal(one), HasSubstr("got 1 inputs"));
  EXPECT_THAT(refusal(network_of(columns, nn::InputGradient::kNone)),
              HasSubstr("a gradient that is not wanted"));
  EXPECT_THAT(refusal(network_of(columns - 1, nn::InputGradient::kWanted)),
              HasSubstr("got 2 inputs, " + std::to_string(columns - 1) + " columns"));

  DataParallelConfig twice;
  twice.accumulation = 2;
  EXPECT_THAT(base::thrown_message<base::ConfigError>([&] { require_fit(right, twice, tables); }),
              HasSubstr("/training/gradient_accumulation_steps: expected 1"));
  EmbeddingConfig varying = tables;
  varying.tables[1].bag_size = 0;
  EXPECT_THAT(
      base::thrown_message<base::ConfigError>([&] { require_fit(right, {}, varying); }),
      HasSubstr("table table1: expected bags of one id or more, all of one size, got size 0"));
}

}  // namespace
}  // namespace parallel
