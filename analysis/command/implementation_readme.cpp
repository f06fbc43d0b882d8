// The README of benchmarks/BENCHMARK/implementations/SYSTEM in a package.
#include "analysis/command/implementation_readme.h"

#include <fmt/format.h>

#include "runner/mllog/keys.h"

namespace analysis::command {
namespace {

namespace keys = mllog::keys;

/// The command that repeats the runs: with the resolved configuration, on the logged number of
/// ranks.
std::string command_of(const RunSetFolder& folder, const CheckedFile& run, std::size_t runs) {
  const std::string ranks = run.facts ? to_text(run.facts->config_value(keys::kNumberOfRanks)) : "";
  return fmt::format("mpirun -n {} trainmark run {} --runs {}{}", ranks.empty() ? "RANKS" : ranks,
                     config_name_of(run), runs, folder.is_together ? " --together" : "");
}

}  // namespace

std::string implementation_readme(const RunSetFolder& folder,
                                  const std::vector<const CheckedFile*>& runs,
                                  const std::string& benchmark, const std::string& system) {
  const std::string revision = revision_of(runs.front()->path);
  const std::string config = config_name_of(*runs.front());
  std::string text = fmt::format("# {} on {}\n\n", benchmark, system);
  text += fmt::format("Trained by trainmark{}, one native program, without a framework below it.\n",
                      revision.empty() ? "" : ", revision " + revision);
  text += fmt::format(
      "The system is described in systems/{}.json, the versions of libraries among it.\n\n"
      "## Steps\n\n"
      "1. Build that revision: `cmake --preset release -DTRAINMARK_TESTS=OFF && "
      "cmake --build --preset release`.\n"
      "2. Put the dataset where `{}` says, or change the paths there.\n"
      "3. Run:\n\n       {}\n\n",
      system, config, command_of(folder, *runs.front(), folder.runs.size()));
  if (revision.ends_with("-dirty")) {
    text += "That revision had changes that were not committed: add them.\n\n";
  }
  text += fmt::format("`{}` is the resolved configuration of all runs, without their seeds:\n\n",
                      config);
  text += "| log | seed |\n| --- | --- |\n";
  int number = 0;
  for (const CheckedFile* run : runs) {
    const bool has_seed = run->package && !run->package->seeds.empty();
    text += fmt::format("| result_{}.txt | {} |\n", number++,
                        has_seed ? run->package->seeds.front().seed : "not logged");
  }
  return text;
}

}  // namespace analysis::command
