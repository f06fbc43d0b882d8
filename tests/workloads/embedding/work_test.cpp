// Work on tables divided among threads: no step is lost where threads update the same rows.
#include "workloads/embedding/work.h"

#include <gtest/gtest.h>

#include "runner/base/random.h"
#include "workloads/embedding/plain_embedding.h"

namespace {

using nn::TableStorage;
using nn::TableUpdate;
using plain::kRate;
using plain::kSeed;

constexpr std::int64_t kFewRows = 5, kManyBags = 3000;

/// Updates with gradients of 1 and -1, by two and by three threads, from weights of 0, against the
/// twin.
template <class T>
void expect_all_steps(const nn::TableOptions& options, const plain::BagList& bags,
                      const std::string& name) {
  base::RandomStream random(kSeed, base::Purpose::kGenerate, 0, 1);
  std::vector<T> gradient;
  for (std::int64_t i = 0; i < kManyBags * options.columns; ++i) {
    gradient.push_back(plain::of<T>(random.below(2) == 0 ? 1.0 : -1.0));
  }
  nn::EmbeddingTable table(options);
  plain::Table<double> twin(table);
  twin.step_each(bags.view(), gradient, options.columns, kRate);
  const std::vector<float> expected(twin.weights.begin(), twin.weights.end());
  for (const int threads : {2, 3}) {
    SCOPED_TRACE(name + " " + to_string(options.storage) + " " +
                 base::to_string(options.instruction_set) + " width " +
                 std::to_string(options.columns) + ", threads " + std::to_string(threads));
    ASSERT_GT(nn::pieces_of_update(bags.view(), threads), threads);
    nn::EmbeddingTable shared(options);
    plain::with_threads(
        threads, [&] { shared.update(bags.view(), gradient.data(), options.columns, kRate); });
    ASSERT_EQ(expected, plain::all_rows(shared));
  }
}

template <class T>
class EmbeddingWork : public testing::Test {};
using Numbers = testing::Types<float, nn::Bf16>;
TYPED_TEST_SUITE(EmbeddingWork, Numbers);

/// Sums of steps of an eighth are exact in any order, so a lost step would show.
TYPED_TEST(EmbeddingWork, LosesNoStepWhereThreadsMeetOnAFewRows) {
  plain::BagList bags;
  base::RandomStream random(kSeed, base::Purpose::kGenerate, 0, 0);
  for (std::int64_t n = 0; n < kManyBags; ++n) {
    bags.add({static_cast<std::int32_t>(random.below(kFewRows)),
              static_cast<std::int32_t>(random.below(kFewRows))});
  }
  for (const auto& [name, update] : nn::table_updates()) {
    for (const auto storage : {TableStorage::kF32, TableStorage::kSplitBf16}) {
      if (update == TableUpdate::kAtomic && storage != TableStorage::kF32) continue;
      for (const auto set : plain::usable_sets()) {
        for (const std::int64_t width : {1, 17, 64}) {
          nn::TableOptions options = plain::whole_table(kFewRows, width);
          options.update = update;
          options.storage = storage;
          options.instruction_set = set;
          expect_all_steps<TypeParam>(options, bags, name);
        }
      }
    }
  }
}

}  // namespace
