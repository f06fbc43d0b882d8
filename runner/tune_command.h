// bench --tune: benches of one workload with different ranks and threads.
#pragma once

#include <string>
#include <vector>

#include "runner/base/error.h"

namespace CLI {
class App;
}

namespace runner {

struct TuneCall {
  std::string config;  ///< that is to be improved; "": no tuning
  std::string launcher = "mpirun --bind-to none -n";
};

/// Declares --tune and --launcher for a workload's bench.
void declare_tuning(CLI::App& bench, TuneCall& call);

/// The command line of a bench.
struct BenchLine {
  std::string workload;
  std::vector<std::string> arguments;  ///< but --batch, --json and those of tuning
  std::int64_t batch = 0;              ///< samples per step of all ranks; 0: as one rank has them
  std::string json;                    ///< where the result goes as JSON; "": a table on stdout
};
/// The options given to a workload's bench. Throws ConfigError for those before its name.
BenchLine bench_line(const CLI::App& bench);

/// Runs the benches, prints what they say, and writes the best use of the node into the
/// configuration. Throws ConfigError for a configuration of another workload or with comments, and
/// under a launcher; SystemError if no bench succeeds; Error (kStopped) if a signal asks for the
/// end, with the configuration as it was.
base::ExitCode tune(const TuneCall& call, const BenchLine& line);

}  // namespace runner
