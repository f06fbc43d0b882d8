// The runs of a group of M that go into a package.
#include "analysis/command/run_window.h"

#include <fmt/format.h>

#include "analysis/findings/run_groups.h"

namespace analysis::command {

RunWindow window_of(const RunSetFolder& folder, std::int64_t expected) {
  RunWindow window{folder, {}, {}};
  const auto found = static_cast<std::int64_t>(folder.runs.size());
  if (found != expected) {
    window.refusal =
        fmt::format("{}: expected the logs of {} runs, found {}; of a group all are needed",
                    folder.name(), expected, found);
    return window;
  }
  const RunChoice choice = choose_among(folder.runs);
  if (!choice.chosen) {
    const char* const infinite =
        "the median of the scores of all windows is infinite: too many runs failed";
    window.refusal = fmt::format("{}: {}; trainmark check --runs {} tells more", folder.name(),
                                 choice.problem.empty() ? infinite : choice.problem, found);
    return window;
  }
  window.folder.runs.clear();
  for (const std::size_t run : choice.chosen_runs()) {
    window.folder.runs.push_back(folder.runs[run]);
  }
  window.note = fmt::format("{}: window {} of {}, whose score is the median: {}; keep all {} logs",
                            folder.name(), *choice.chosen + 1, choice.windows.size(),
                            names_of(window.folder.runs), found);
  return window;
}

}  // namespace analysis::command
