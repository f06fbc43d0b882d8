// The runs of the window to submit.
#include "analysis/findings/run_group.h"

namespace analysis {

std::vector<std::size_t> RunGroup::chosen_files() const {
  std::vector<std::size_t> chosen;
  for (const std::size_t run : choice.chosen_runs()) chosen.push_back(files[run]);
  return chosen;
}

}  // namespace analysis
