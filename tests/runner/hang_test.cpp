// Tests of the verdict on ranks that make no progress.
#include "runner/hang.h"

#include <gmock/gmock.h>

#include <utility>
#include <vector>

namespace runner {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr double kHangS = 40.0, kLostS = 10.0;

Seen at_work(int rank, const std::string& doing, double idle_s) {
  return {{rank, 100 + rank, "node1", doing, "", idle_s}, true, 0.2};
}

Seen waiting(int rank, double idle_s) {
  return {
      {rank, 100 + rank, "node1", "training, step 57: exchange", "MPI_Waitall", idle_s}, true, 0.2};
}

Seen silent(int rank, double silent_s) {
  Seen seen = waiting(rank, 0.1);
  seen.silent_s = silent_s;
  return seen;
}

/// On a host to and from which messages may be lost.
Seen far(Seen seen) {
  seen.state.host = "node2";
  return seen;
}

Seen unheard(int rank) {
  Seen seen;
  seen.state.rank = rank;
  return seen;
}

std::string verdict(const std::vector<Seen>& ranks, double hang_s = kHangS,
                    double lost_s = kLostS) {
  return find_hang(ranks, {hang_s, lost_s, "node1", "node1, UDP port 4000"});
}

TEST(FindHang, NamesTheRankThatIsSilentAndThoseThatWaitForIt) {
  const std::string text =
      verdict({waiting(0, 10.1), waiting(1, 9.2), silent(2, 10.3), waiting(3, 10.1)});
  EXPECT_EQ(text,
            "rank 2 (host node1, process 102) has not been heard of for 10 s, so it is stopped or "
            "its host is gone; it was last seen in training, step 57: exchange (MPI_Waitall); "
            "ranks 0-1, 3 wait in training, step 57: exchange (MPI_Waitall)");
}

TEST(FindHang, TellsARankThatStandsStillFromThoseThatWait) {
  const std::string text =
      verdict({waiting(0, 41), at_work(1, "training, step 12: input", 42), waiting(2, 41)});
  EXPECT_THAT(text, AllOf(StartsWith("no progress for 40 s: rank 1 (host node1, process 101) has "
                                     "stood still in training, step 12: input for 42 s"),
                          HasSubstr("ranks 0, 2 wait in"), Not(HasSubstr("stopped"))));
}

TEST(FindHang, WaitsHoweverLongForARankThatGoesOn) {
  EXPECT_EQ(verdict({at_work(0, "initialisation", 0.3), waiting(1, 500), waiting(2, 500)}), "");
}

TEST(FindHang, EndsAJobInWhichEveryRankWaits) {
  EXPECT_THAT(verdict({waiting(0, 41), waiting(1, 40.5)}),
              AllOf(HasSubstr("every rank waits for another"), HasSubstr("ranks 0-1 wait in")));
  EXPECT_EQ(verdict({waiting(0, 41), waiting(1, 39)}), "");
}

TEST(FindHang, WantsMoreThanSilenceOfARankOnAnotherHost) {
  // A network may lose messages while the job goes on, and no rank could go on for long alone.
  const Seen gone = far(silent(1, 30));
  EXPECT_EQ(verdict({at_work(0, "evaluation: forward", 0.1), gone}), "");
  EXPECT_EQ(verdict({waiting(0, 1), gone}), "");
  EXPECT_THAT(verdict({waiting(0, 9), gone}), HasSubstr("rank 1 (host node2"));
  EXPECT_THAT(verdict({at_work(0, "evaluation: forward", 0.1), silent(1, 11)}),
              HasSubstr("rank 1 (host node1"));
}

TEST(FindHang, TakesAFewLostLettersForNoSilence) {
  EXPECT_EQ(verdict({waiting(0, 9), silent(1, 9)}), "");
}

TEST(FindHang, LooksForNothingThatHasNoLimit) {
  EXPECT_EQ(verdict({waiting(0, 1e6), silent(1, 1e6)}, 0, 0), "");
  EXPECT_EQ(verdict({waiting(0, 1e6), waiting(1, 1e6)}, 0, kLostS), "");
  EXPECT_EQ(verdict({waiting(0, 39), silent(1, 39)}, kHangS, 0), "");
  EXPECT_THAT(verdict({waiting(0, 41), silent(1, 41)}, kHangS, 0),
              HasSubstr("rank 1 (host node1, process 101) has not been heard of for 41 s"));
}

TEST(FindHang, SaysWhatIsNotKnownWhereNoLetterCame) {
  const std::string text = verdict({waiting(0, 41), unheard(1), unheard(2)});
  EXPECT_THAT(text, AllOf(HasSubstr("rank 0 waits in"),
                          HasSubstr("nothing was ever heard of ranks 1-2 (is UDP blocked? rank 0: "
                                    "node1, UDP port 4000)"),
                          Not(HasSubstr("every rank"))));
}

TEST(FindHang, NamesAFewOfMany) {
  std::vector<Seen> ranks = {waiting(0, 11)};
  for (int rank = 1; rank <= 100; ++rank) ranks.push_back(silent(rank, 11));
  const std::string text = verdict(ranks);
  EXPECT_THAT(text, AllOf(HasSubstr("rank 4 ("), Not(HasSubstr("rank 5 (")),
                          HasSubstr("and so have 96 more")));
  EXPECT_LT(text.size(), 1200U);
}

TEST(DoingText, TellsPhaseStepAndWork) {
  base::Activity activity;
  EXPECT_EQ(doing_text(activity.look()), "the start");
  activity.enter_phase("staging");
  activity.set_work("staging");
  EXPECT_EQ(doing_text(activity.look()), "staging");
  activity.enter_phase(base::kTrainingPhase);
  activity.set_steps(56);
  activity.set_work("exchange");
  EXPECT_EQ(doing_text(activity.look()), "training, step 57: exchange");
}

TEST(Activity, CountsEverySignOfProgress) {
  base::Activity activity;
  auto changes = [&activity, seen = activity.look().count]() mutable {
    return std::exchange(seen, activity.look().count) != activity.look().count;
  };
  activity.progress();
  EXPECT_TRUE(changes());
  EXPECT_FALSE(changes());
  {
    const base::Activity::Waiting waiting(activity, "MPI_Barrier");
    EXPECT_TRUE(changes());
    EXPECT_STREQ(activity.look().call, "MPI_Barrier");
  }
  EXPECT_TRUE(changes());
  EXPECT_EQ(activity.look().call, nullptr);
}

TEST(RankList, JoinsNeighbours) {
  EXPECT_EQ(rank_list(std::vector<int>{}), "");
  EXPECT_EQ(rank_list(std::vector<int>{0, 1, 2, 5, 7, 8}), "0-2, 5, 7-8");
  EXPECT_THAT(rank_list(std::vector<int>{3}), StartsWith("3"));
}

}  // namespace
}  // namespace runner
