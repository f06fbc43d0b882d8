// `bench exchange` as users start it: its table, its JSON, and hosts of which one has a slow link.
#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "runner/from_outside.h"

namespace {

using nlohmann::json;
using outside::Ended;
using testing::HasSubstr;

class BenchExchange : public outside::ProgramTest {
 protected:
  Ended bench(int ranks, const std::string& arguments) const {
    return shell("env OMP_NUM_THREADS=1 " + outside::mpirun(ranks) +
                 TRAINMARK " bench exchange -n 4 " + arguments);
  }
};

TEST_F(BenchExchange, PrintsATableAndWritesWhatCompareReads) {
  const Ended first =
      bench(2, "-b 8 -e 4K -f 8 --operation all --json " + (folder_ / "a.json").string());
  ASSERT_EQ(first.status, 0) << first.err;
  EXPECT_THAT(first.out, HasSubstr("# allreduce of 2 ranks on 1 node\n"));
  EXPECT_THAT(first.out, HasSubstr("# Out of bounds values : 0 OK\n"));
  const Ended second = bench(3, "-b 8 -e 4K -f 8 --operation alltoall,broadcast --json -");
  ASSERT_EQ(second.status, 0) << second.err;
  const json document = json::parse(second.out);
  EXPECT_THAT(second.err, HasSubstr("# alltoall of 3 ranks on 1 node\n"));
  EXPECT_EQ(document["kind"], "exchange");
  EXPECT_EQ(document["ranks"], 3);
  EXPECT_EQ(document["rows"].size(), 8u);
  EXPECT_EQ(document["failure"], nullptr);
  EXPECT_TRUE(document["provenance"].contains("machine"));
  std::ofstream(folder_ / "b.json") << second.out;
  const Ended compared =
      shell("cd " + folder_.string() + " && " TRAINMARK " compare a.json b.json");
  EXPECT_EQ(compared.status, 0) << compared.err;
  EXPECT_THAT(compared.out, testing::AllOf(HasSubstr("they differ in ranks: 2 and 3"),
                                           HasSubstr("broadcast                   8 training")));
}

TEST_F(BenchExchange, RefusesWhatItCannotMeasure) {
  const Ended alone = shell(TRAINMARK " bench exchange");
  EXPECT_EQ(alone.status, 2);
  EXPECT_THAT(alone.err, HasSubstr("expected at least 2 ranks, found 1; start it by mpirun"));
  const Ended backwards = bench(2, "-b 8 -e 4");
  EXPECT_EQ(backwards.status, 2);
  EXPECT_THAT(backwards.err, HasSubstr("--minbytes: must not exceed --maxbytes, 4, got 8"));
  EXPECT_EQ(bench(2, "--operation barrier").status, 2);
  EXPECT_THAT(bench(2, "-b 8x").err, HasSubstr("--minbytes: expected bytes from 1 to 4G"));
  EXPECT_THAT(bench(2, "-i 4 -e 64K").err, HasSubstr("expected at most 10000 sizes"));
  EXPECT_THAT(shell(TRAINMARK " bench --batch 4 exchange").err,
              HasSubstr("bench exchange: --batch means nothing here"));
  EXPECT_THAT(shell(TRAINMARK " bench network").err, HasSubstr(" exchange split-layers)"));
}

TEST_F(BenchExchange, RefusesBuffersThatDoNotFitMemory) {
  const std::int64_t memory = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGE_SIZE);
  if (memory > std::int64_t{64} << 30) GTEST_SKIP() << "needs less than 64 GiB of memory";
  const Ended ended = bench(8, "--operation all-gather -b 4G -e 4G");
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.err, HasSubstr("--maxbytes: 8 ranks of "));
}

TEST_F(BenchExchange, NamesTheHostWithASlowLink) {
  const std::string why = outside::why_no_hosts(HOSTS);
  if (!why.empty()) GTEST_SKIP() << why;
  std::ofstream(folder_ / "rank.sh")
      << "#!/bin/sh\n[ $(hostname) = host3 ] && tc qdisc replace dev net0 root tbf rate 80mbit "
         "burst 64kb latency 100ms\nexec \"$@\"\n";
  const Ended ended =
      shell("env OMPI_MCA_mpi_yield_when_idle=1 OMP_NUM_THREADS=1 " HOSTS " 3 unlimited " +
            outside::mpirun(3, outside::on_hosts(3)) + "sh " + (folder_ / "rank.sh").string() +
            " " TRAINMARK " bench exchange -n 4 -b 64K -e 256K -f 4 --json -");
  ASSERT_EQ(ended.status, 0) << ended.err;
  const json document = json::parse(ended.out);
  EXPECT_EQ(document["nodes"], 3);
  EXPECT_EQ(document["links"].size(), 3u);
  ASSERT_EQ(document["slow"].size(), 1u) << document["slow"];
  EXPECT_EQ(document["slow"][0]["subject"], "host3");
  EXPECT_THAT(ended.err, HasSubstr("# host3: slow: "));
}

}  // namespace
