// Tests of the table's figures and columns.
#include "workloads/parallel/exchange_bench/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <stdexcept>

namespace exchange_bench {
namespace {

using testing::HasSubstr;

const Kind& kind_of(const std::string& name) {
  for (const Kind& kind : kinds()) {
    if (kind.name == name) return kind;
  }
  throw std::runtime_error(name);
}

Row row_of(const std::string& name, std::int64_t bytes, const std::vector<double>& seconds) {
  Row row;
  row.kind = &kind_of(name);
  row.bytes = bytes;
  row.training = Times{seconds, 0};
  row.mpi = Times{{1.0, 2.0, 4.0}, 0};
  return row;
}

std::vector<std::string> words(const std::string& line) {
  std::istringstream in(line);
  return {std::istream_iterator<std::string>(in), {}};
}

TEST(Table, HasTheFiguresOfNcclTests) {
  // https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md
  const double gigabyte = 1e9;
  const std::vector<std::pair<const char*, double>> factors = {
      {"allreduce", 2 * 3.0 / 4.0}, {"reduce-scatter", 3.0 / 4.0},
      {"all-gather", 3.0 / 4.0},    {"alltoall", 3.0 / 4.0},
      {"broadcast", 1.0},           {"halo", 1.0}};
  EXPECT_EQ(factors.size(), kinds().size());
  for (const auto& [name, factor] : factors) {
    const Row row = row_of(name, 4'000'000'000, {});
    const Rates rates = rates_of(row, row.mpi, 4);
    EXPECT_EQ(rates.seconds, 2.0) << "the median";
    EXPECT_EQ(rates.algorithm_bytes_per_s, 2 * gigabyte);
    EXPECT_EQ(rates.bus_bytes_per_s, 2 * gigabyte * factor) << name;
  }
}

TEST(Table, HasTheColumnsOfNcclTests) {
  Row row = row_of("alltoall", 4096, {10e-6, 20e-6, 40e-6});
  row.overlap = Overlap{1.0, 1.0, 1.124};
  row.training.wrong = 3;
  EXPECT_THAT(words(line(row, 4)),
              testing::ElementsAre("4096", "256", "float", "none", "-1", "20.00", "0.2048",
                                   "0.1536", "3", "2000000", "0.0000", "0.0000", "0", "88"));
  const Row plain = row_of("reduce-scatter", 1 << 20, {2.0, 1.0, 4.0});
  EXPECT_THAT(words(line(plain, 2)),
              testing::ElementsAre("1048576", "131072", "float", "sum", "-1", "2000000", "0.0005",
                                   "0.0003", "0", "2000000", "0.0005", "0.0003", "0", "N/A"));
  std::istringstream lines(heading(*row.kind, 4, 2));
  std::size_t width = 0;
  for (std::string one; std::getline(lines, one);) {
    EXPECT_TRUE(one.starts_with("#")) << one;
    width = one.size();
  }
  EXPECT_EQ(width + 1, line(row, 4).size()) << "columns stand below their names";
}

TEST(Table, SumsUpLikeNcclTests) {
  std::vector<Row> rows = {row_of("alltoall", 1'000'000'000, {1.0, 1.0, 1.0}),
                           row_of("alltoall", 2'000'000'000, {1.0, 1.0, 1.0})};
  EXPECT_EQ(summary(rows, 2),
            "# Out of bounds values : 0 OK\n"
            "# Avg bus bandwidth    : 0.75 (training), 0.375 (MPI)\n");
  EXPECT_THAT(summary({}, 2), HasSubstr(": N/A (training), N/A (MPI)\n"));
  rows[1].mpi.wrong = 7;
  EXPECT_THAT(summary(rows, 2), HasSubstr(": 7 FAILED\n"));
  EXPECT_EQ(wrong_elements(rows), 7);
  for (Row& row : rows) row.mpi.wrong.reset();
  EXPECT_THAT(summary(rows, 2), HasSubstr(": not checked\n"));
}

TEST(Table, DefinesEveryFigureOfItsJson) {
  const std::set<std::string> names = {"operation", "type", "redop", "root"};
  const nlohmann::json row = json_of(row_of("alltoall", 4096, {1.0, 3.0, 2.0}), 2);
  for (const auto& [name, value] : row.items()) {
    EXPECT_EQ(definitions().contains(name), !names.contains(name)) << name;
  }
  for (const auto& [name, value] : row["training"].items()) {
    EXPECT_TRUE(definitions().contains(name)) << name;
  }
  EXPECT_EQ(row["training"]["time_s"]["median"], 2.0);
  EXPECT_EQ(row["training"]["time_s"]["times"].size(), 3u);
  EXPECT_EQ(row["overlap"], nullptr);
  Row hidden = row_of("alltoall", 4096, {1.0, 3.0, 2.0});
  hidden.overlap = Overlap{3.0, 2.0, 4.0};
  const nlohmann::json overlap = json_of(hidden, 2)["overlap"];
  for (const auto& [name, value] : overlap.items()) EXPECT_TRUE(definitions().contains(name));
  EXPECT_EQ(overlap["hidden"], 0.5);
  EXPECT_EQ(overlap["both_s"], 4.0);
}

TEST(Overlap, HidesWhatBothAtOnceSave) {
  EXPECT_EQ((Overlap{2.0, 1.0, 3.0}).hidden(), 0.0);
  EXPECT_EQ((Overlap{2.0, 1.0, 2.0}).hidden(), 1.0);
  EXPECT_EQ((Overlap{2.0, 1.0, 2.25}).hidden(), 0.75);
  EXPECT_EQ((Overlap{2.0, 1.0, 4.0}).hidden(), 0.0) << "noise";
  EXPECT_EQ((Overlap{2.0, 1.0, 1.5}).hidden(), 1.0) << "noise";
}

}  // namespace
}  // namespace exchange_bench
