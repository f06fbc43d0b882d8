// Several embedding tables at once against each one alone, and known gradients of a small
// recommender.
#include "workloads/embedding/tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "runner/base/error.h"
#include "workloads/embedding/plain_embedding.h"

namespace {

using nn::EmbeddingTable;
using nn::EmbeddingTables;
using nn::TableOptions;
using nn::TableStorage;
using nn::TableUpdate;

constexpr std::uint64_t kTablesSeed = 23;
constexpr std::int64_t kBagsPerTable = 300;

/// Tables with different sizes, updates and storages.
std::vector<TableOptions> varied_tables() {
  std::vector<TableOptions> all;
  const std::int64_t rows[] = {3, 2000, 1, 70, 500};
  const std::int64_t columns[] = {16, 64, 3, 17, 32};
  const TableUpdate updates[] = {TableUpdate::kSorted, TableUpdate::kRaceFree, TableUpdate::kSorted,
                                 TableUpdate::kReference, TableUpdate::kSorted};
  for (std::size_t t = 0; t < std::size(rows); ++t) {
    TableOptions options = plain::whole_table(rows[t], columns[t]);
    options.name = "table " + std::to_string(t);
    options.update = updates[t];
    options.storage = t % 2 == 0 ? TableStorage::kF32 : TableStorage::kSplitBf16;
    all.push_back(options);
  }
  return all;
}

struct ManyBags {
  explicit ManyBags(const std::vector<TableOptions>& tables) {
    for (const auto& table : tables) {
      lists.push_back(plain::varied_bags(table.rows, kBagsPerTable, kTablesSeed + lists.size()));
    }
    for (const auto& list : lists) views.push_back(list.view());
  }
  std::vector<plain::BagList> lists;
  std::vector<nn::Bags> views;
};

template <class T>
class ManyTables : public testing::Test {};
using Numbers = testing::Types<float, nn::Bf16>;
TYPED_TEST_SUITE(ManyTables, Numbers);

std::vector<float> numbers_of(const auto& values) {
  std::vector<float> numbers;
  for (const auto value : values) numbers.push_back(plain::number(value));
  return numbers;
}

TYPED_TEST(ManyTables, WorkTogetherAsEachAloneBitForBit) {
  const auto options = varied_tables();
  const ManyBags bags(options);
  for (const int threads : {1, 2, 3}) {
    EmbeddingTables together(options);
    EXPECT_EQ(together.width(), 132);
    EXPECT_EQ(together.column_offset(3), 83);
    const std::int64_t stride = together.width() + 2;
    const auto count = static_cast<std::size_t>(kBagsPerTable * stride);
    const auto gradient = plain::random_values<TypeParam>(count, kTablesSeed);
    std::vector<TypeParam> out(count, plain::of<TypeParam>(0.0)), alone_out = out;
    plain::with_threads(threads, [&] {
      together.initialize(kTablesSeed);
      together.check(bags.views);
      together.update(bags.views, gradient.data(), stride, 0.25);
      together.forward(bags.views, out.data(), stride);
    });
    std::uint64_t hash = 0;
    for (std::size_t t = 0; t < options.size(); ++t) {
      EmbeddingTable alone(options[t]);
      alone.initialize(kTablesSeed);
      const std::int64_t at = together.column_offset(t);
      alone.update(bags.views[t], gradient.data() + at, stride, 0.25);
      alone.forward(bags.views[t], alone_out.data() + at, stride);
      EXPECT_EQ(together[t].hash(), alone.hash()) << "table " << t;
      hash += alone.hash();
    }
    EXPECT_EQ(numbers_of(out), numbers_of(alone_out));
    EXPECT_EQ(together.hash(), hash);
  }
}

TEST(EmbeddingTables, TellWhichTablesBagsAreWrong) {
  const auto options = varied_tables();
  EmbeddingTables tables(options);
  ManyBags bags(options);
  bags.lists[2].ids[5] = 4;
  bags.lists[4].ids[5] = 700;
  try {
    tables.check(bags.views);
    FAIL() << "bad ids were taken";
  } catch (const base::DataError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("table table 2: the id at position 5"));
  }
  std::vector<float> out(static_cast<std::size_t>(kBagsPerTable * tables.width()));
  auto fewer = bags.views;
  fewer[3].offsets = fewer[3].offsets.first(kBagsPerTable);
  EXPECT_THROW(tables.forward(fewer, out.data(), tables.width()), base::ShapeError);
  fewer.pop_back();
  EXPECT_THROW(tables.update(fewer, out.data(), tables.width(), 0.1), base::ShapeError);
}

/// A recommender with bags of one id, in double precision: three tables of width 4, one hidden
/// layer below and one above, two samples.
class Recommender {
 public:
  using Row = std::array<double, 4>;
  using Pooled = std::array<std::array<Row, 3>, 2>;  // [sample][table]

  static double wave(double a, double b, double c, int i) { return a * std::sin(b * i + c); }

  /// Mean loss of the samples with the given sums of bags.
  static double loss(const Pooled& pooled) {
    const double counts[2][3] = {{0, 3, 10}, {1, 0, 100}};
    const double labels[2] = {1.0, 0.0};
    double sum = 0.0;
    for (int n = 0; n < 2; ++n) {
      const double z = logit(bottom(counts[n]), pooled[static_cast<std::size_t>(n)]);
      sum += std::log1p(std::exp(-z)) + (1.0 - labels[n]) * z;
    }
    return sum / 2;
  }

 private:
  static std::vector<double> layer(const std::vector<double>& x, int outputs,
                                   std::array<double, 3> w, std::array<double, 3> b) {
    const int inputs = static_cast<int>(x.size());
    std::vector<double> y;
    for (int o = 0; o < outputs; ++o) {
      double sum = wave(b[0], b[1], b[2], o);
      for (int i = 0; i < inputs; ++i) {
        sum += wave(w[0], w[1], w[2], o * inputs + i) * x[static_cast<std::size_t>(i)];
      }
      y.push_back(sum);
    }
    return y;
  }
  static std::vector<double> relu(std::vector<double> x) {
    for (double& value : x) value = std::max(value, 0.0);
    return x;
  }
  static std::vector<double> bottom(const double* counts) {
    const std::vector<double> x = {std::log1p(counts[0]), std::log1p(counts[1]),
                                   std::log1p(counts[2])};
    const auto hidden = relu(layer(x, 5, {.5, .7, .1}, {.1, 1.1, .2}));
    return relu(layer(hidden, 4, {.5, .9, .3}, {.1, 1.3, .4}));
  }
  static double logit(const std::vector<double>& below, const std::array<Row, 3>& pooled) {
    std::vector<std::vector<double>> features = {below};
    for (const Row& row : pooled) features.emplace_back(row.begin(), row.end());
    std::vector<double> joined = below;
    for (std::size_t i = 1; i < features.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        double dot = 0.0;
        for (std::size_t c = 0; c < 4; ++c) dot += features[i][c] * features[j][c];
        joined.push_back(dot);
      }
    }
    const auto hidden = relu(layer(joined, 6, {.3, .35, .15}, {.1, .45, .25}));
    return layer(hidden, 1, {.3, .55, .35}, {.1, .65, .45})[0];
  }
};

TEST(EmbeddingTables, AddTheKnownGradientsOfASmallRecommenderToItsRows) {
  const std::int64_t rows[3] = {3, 5, 2};
  const double steps[3] = {.5, .6, .8}, phases[3] = {.6, .7, .9};
  const std::int32_t ids[2][3] = {{0, 4, 1}, {2, 1, 1}};
  std::vector<TableOptions> options;
  for (const auto count : rows) options.push_back(plain::whole_table(count, 4));
  EmbeddingTables tables(options);
  std::vector<plain::BagList> lists(3);
  std::vector<nn::Bags> bags;
  for (std::size_t t = 0; t < 3; ++t) {
    std::vector<float> weights;
    for (int i = 0; i < rows[t] * 4; ++i) {
      weights.push_back(static_cast<float>(Recommender::wave(.4, steps[t], phases[t], i)));
    }
    tables[t].write_rows(0, weights);
    for (const auto& sample : ids) lists[t].add({sample[t]});
    bags.push_back(lists[t].view());
  }
  std::vector<float> out(24), gradient(24);
  tables.forward(bags, out.data(), 12);
  Recommender::Pooled pooled;
  const auto place = [&](std::size_t i) -> double& { return pooled[i / 12][i % 12 / 4][i % 4]; };
  for (std::size_t i = 0; i < 24; ++i) place(i) = static_cast<double>(out[i]);
  EXPECT_NEAR(Recommender::loss(pooled), .6868697077, 1e-7);
  for (std::size_t i = 0; i < 24; ++i) {
    const double value = place(i), h = 1e-6;
    place(i) = value + h;
    const double above = Recommender::loss(pooled);
    place(i) = value - h;
    gradient[i] = static_cast<float>((above - Recommender::loss(pooled)) / (2 * h));
    place(i) = value;
  }
  for (std::size_t t = 0; t < 3; ++t) {
    tables[t].write_rows(0, std::vector<float>(static_cast<std::size_t>(rows[t] * 4), 0.0F));
  }
  tables.update(bags, gradient.data(), 12, 1.0);
  const double kTolerance = 1e-8;  // of nine printed digits and the differences above
  const auto table0 = plain::all_rows(tables[0]), table2 = plain::all_rows(tables[2]);
  const double row0[] = {-.010213754, -.011519512, -.007763593, -.00059443};
  const double row1[] = {.004437995, .000562721, .001958564, .005476998};
  for (std::size_t c = 0; c < 4; ++c) {
    EXPECT_NEAR(-table0[c], row0[c], kTolerance);
    EXPECT_EQ(table2[c], 0.0F);
    EXPECT_NEAR(-table2[4 + c], row1[c], kTolerance);  // both samples read it
  }
}

}  // namespace
