// The catalogue of benchmarks against the rounds: each benchmark of each round has facts.
#include <gtest/gtest.h>

#include "runner/mllog/benchmarks.h"
#include "runner/mllog/rules/rule_book.h"

namespace mllog::rules {
namespace {

std::vector<std::string> all_of(const Round& round) {
  std::vector<std::string> names = round.benchmarks;
  names.insert(names.end(), round.closed_benchmarks.begin(), round.closed_benchmarks.end());
  return names;
}

TEST(BenchmarksOfRounds, AllHaveFacts) {
  const RuleBook book;
  for (const Round& round : book.rounds()) {
    for (const std::string& name : all_of(round)) {
      const Benchmark* const facts = find_benchmark(name);
      ASSERT_NE(facts, nullptr) << round.name() << " " << name;
      EXPECT_EQ(facts->usage, round.usage) << name;
      EXPECT_GE(facts->runs(round.number), 3) << name;
      EXPECT_FALSE(facts->evaluation(round.number).target.parts.empty()) << name;
    }
  }
}

}  // namespace
}  // namespace mllog::rules
