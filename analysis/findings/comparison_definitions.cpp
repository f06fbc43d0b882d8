// Definitions of the figures of a comparison.
#include "analysis/findings/comparison_definitions.h"

namespace analysis {

const std::vector<std::pair<std::string, std::string>>& comparison_definitions() {
  static const std::vector<std::pair<std::string, std::string>> all = {
      {"time to train",
       "mean ttt_s of the runs that the score counts; of all successful runs where there is no "
       "score"},
      {"spread", "sample standard deviation of the times of these runs"},
      {"ratio",
       "figure of the second over that of the first; the ratios of the factors multiply to that "
       "of the time to train"},
      {"interval",
       "95 %: percentiles of the ratio over 20,000 draws of each side's runs with replacement "
       "(bootstrap), 2.5 and 97.5 for many runs and further out for few (expanded percentiles, "
       "Hesterberg). Absent for fewer than 4 runs"},
      {"p_value",
       "permutation test: how often runs that are exchanged between the sides at random are as "
       "far apart in the mean logarithm of the figure, over all exchanges, or 20,000 drawn ones if "
       "there are more. Times to train are adjusted for the number of sides of the benchmark "
       "(Holm), the factors of a side for being tested together (Westfall and Young). So of sides "
       "that do not differ, at most 4 in 100 are reported to differ in their time to train, and at "
       "most 4 in 100 in any factor. Absent if the runs are too few or all have one value, and for "
       "a factor whose ratio is 1.000"},
      {"distinguishable", "p_value below 0.04; else the difference is within noise"},
      {"unequal", "conditions of the benchmark that the sides do not share"},
      {"differences",
       "machine, settings and program; what varies among the runs of a side is left out"},
      {"subsystems",
       "exclusive seconds of the runs that have telemetry: means over successful runs and ranks"},
      {"ranks_apart_s",
       "seconds of the rank with the most less those of the one with the least, mean over runs"},
      {"layers",
       "seconds of a step, forward and backward, means over traced steps, ranks and runs; the "
       "largest difference first"},
  };
  return all;
}

}  // namespace analysis
