// Tests of the radix sort against std::stable_sort.
#include "workloads/parallel/radix_sort.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <vector>

#include "runner/base/random.h"

namespace {

struct Item {
  std::uint32_t key;
  std::uint32_t number;
  bool operator==(const Item&) const = default;
};

std::uint32_t key_of(const Item& item) { return item.key; }

/// Numbered items with random keys, of which only the bits in `mask` are kept.
std::vector<Item> items(std::size_t count, std::uint32_t mask) {
  base::RandomStream random(7, base::Purpose::kGenerate, 0, 0);
  std::vector<Item> all;
  for (std::size_t i = 0; i < count; ++i) {
    const auto bits = static_cast<std::uint32_t>(random.uniform(0.0, 4294967296.0));
    all.push_back({bits & mask, static_cast<std::uint32_t>(i)});
  }
  return all;
}

TEST(RadixSort, OrdersAsAStableSortOnAnyNumberOfThreads) {
  const int before = omp_get_max_threads();
  for (const std::size_t count : {0U, 1U, 2U, 1000U, 300000U}) {
    for (const std::uint32_t mask : {0xffffffffU, 0xff00ff00U, 0x80000001U, 0x00010000U, 0U}) {
      const std::vector<Item> start = items(count, mask);
      std::vector<Item> expected = start;
      std::stable_sort(expected.begin(), expected.end(),
                       [](const Item& a, const Item& b) { return a.key < b.key; });
      for (const int threads : {1, 2, 3}) {
        omp_set_num_threads(threads);
        std::vector<Item> sorted = start;
        parallel::radix_sort(sorted, key_of);
        EXPECT_TRUE(sorted == expected) << count << " items, mask " << mask << ", " << threads;
      }
    }
  }
  omp_set_num_threads(before);
}

TEST(Chunks, CoverAllItemsOnce) {
  const int before = omp_get_max_threads();
  omp_set_num_threads(3);
  for (const std::size_t items : {0U, 1U, 32768U, 98303U, 98304U, 1000001U}) {
    const parallel::Chunks chunks(items);
    EXPECT_EQ(chunks.begin(0), 0U);
    EXPECT_EQ(chunks.begin(chunks.count), items);
    for (std::size_t c = 0; c < chunks.count; ++c) EXPECT_LE(chunks.begin(c), chunks.begin(c + 1));
  }
  EXPECT_EQ(parallel::Chunks(98304).count, 3U);
  EXPECT_EQ(parallel::Chunks(98303).count, 2U);
  omp_set_num_threads(before);
}

}  // namespace
