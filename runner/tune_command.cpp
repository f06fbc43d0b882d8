// Starts the benches through the launcher, each as a program of its own.
#include "runner/tune_command.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "runner/base/input_file.h"
#include "runner/base/json_text.h"
#include "runner/base/printable.h"
#include "runner/base/replaced_file.h"
#include "runner/base/strict_json.h"
#include "runner/base/usable_cpus.h"
#include "runner/documents.h"
#include "runner/hwloc_topology.h"
#include "runner/launch/launcher.h"
#include "runner/launch/shell_word.h"
#include "runner/run_config.h"
#include "runner/stop_signals.h"
#include "runner/tune.h"

namespace runner {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr int kRounds = 3;

/// A new folder for files of the benches, removed at the end.
class Folder {
 public:
  Folder() {
    std::string path = (fs::temp_directory_path() / "trainmark-tune-XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr) {
      throw base::system_error(path + ": no folder can be made", errno);
    }
    path_ = path;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

/// The line of the program's own error, else the first that has words: launchers frame theirs in
/// lines of dashes.
std::string complaint_of(const std::string& text) {
  std::string first;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("trainmark: ")) return base::printable(line);
    const bool has_words = line.find_first_not_of("- ") != std::string::npos;
    if (first.empty() && has_words) first = line;
  }
  return first.empty() ? "it says nothing" : base::printable(first);
}

/// Runs a shell command in a process group of its own; returns its exit status, 128 and more for a
/// signal. A stop that this process is asked for ends the group. Throws Error (kStopped) then,
/// SystemError if nothing can be started.
int run_command(const std::string& command, const StopSignals& signals) {
  constexpr std::chrono::milliseconds kPause(20);
  const pid_t child = ::fork();
  if (child < 0) throw base::system_error("the launcher cannot be started", errno);
  if (child == 0) {
    ::setpgid(0, 0);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) std::signal(signal, SIG_DFL);
    ::execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  ::setpgid(child, child);
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (signals.requested() != StopSignal::kNone) {
      ::kill(-child, SIGTERM);
      ::waitpid(child, &status, 0);
      break;
    }
    std::this_thread::sleep_for(kPause);
  }
  if (signals.requested() != StopSignal::kNone) {
    throw base::Error(base::ExitCode::kStopped,
                      fmt::format("bench --tune: ended by {}; the configuration is as it was",
                                  to_string(signals.requested())));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

class Benches {
 public:
  Benches(const TuneCall& call, const BenchLine& line)
      : launcher_(call.launcher), line_(line), program_(fs::read_symlink("/proc/self/exe")) {}

  /// The samples of a step of one rank.
  std::int64_t batch_of_one() const {
    CpuConfig one;
    one.ranks_per_node = 1;
    return measure(one, line_.batch).at("batch_per_rank").get<std::int64_t>();
  }
  Trial measure(const CpuConfig& cpus, std::int64_t batch, int round) const;

 private:
  Json measure(const CpuConfig& cpus, std::int64_t batch) const;

  std::string launcher_;
  BenchLine line_;
  std::string program_;
  Folder folder_;
  StopSignals signals_;
};

/// Throws SystemError with what the bench complained of.
Json Benches::measure(const CpuConfig& cpus, std::int64_t batch) const {
  // They would fix what is to be tried.
  std::string command = fmt::format(
      "unset OMP_NUM_THREADS OMP_PROC_BIND OMP_PLACES GOMP_CPU_AFFINITY; {} {} {} bench {}",
      launcher_, cpus.ranks_per_node, launch::shell_word(program_), line_.workload);
  for (const std::string& argument : line_.arguments) command += ' ' + launch::shell_word(argument);
  command +=
      fmt::format(" --batch {} --spare-cores {}", batch / cpus.ranks_per_node, cpus.spare_cores);
  if (!cpus.all_hardware_threads) command += " --one-hardware-thread";
  const std::string result = folder_.file("result.json"), log = folder_.file("log");
  std::error_code ignored;
  fs::remove(result, ignored);
  command += fmt::format(" --json {} </dev/null >{} 2>&1", launch::shell_word(result),
                         launch::shell_word(log));
  const int status = run_command(command, signals_);
  std::string problem;
  if (status != 0) {
    throw base::SystemError(fmt::format(
        "exit code {}: {}", status, complaint_of(base::read_text(log, problem).value_or(problem))));
  }
  Json found;
  try {
    const auto text = base::read_text(result, problem);
    if (!text) throw base::DataError(problem);
    found = base::parse_strict_json(*text, result, base::JsonComments::kRefused);
  } catch (const base::DataError& e) {
    throw base::SystemError(fmt::format("exit code 0, but no result: {}", e.what()));
  }
  if (found.at("provenance").at("nodes") != 1) {
    throw base::SystemError(fmt::format("its ranks ran on {} nodes",
                                        base::brief_json(found.at("provenance").at("nodes"))));
  }
  return found;
}

Trial Benches::measure(const CpuConfig& cpus, std::int64_t batch, int round) const {
  Trial trial;
  try {
    const Json result = measure(cpus, batch);
    trial.samples_per_s = result.at("samples_per_s").get<double>();
    trial.threads = result.at("provenance").at("binding").at(0).at("threads").get<std::int64_t>();
  } catch (const base::SystemError& e) {
    trial.failure = e.what();
  }
  std::cerr << fmt::format(
      "round {} of {}: {}: {}\n", round, kRounds, base::counted(cpus.ranks_per_node, "rank"),
      trial.failure.empty() ? fmt::format("{:.4g} samples/s", trial.samples_per_s) : trial.failure);
  return trial;
}

void print(const std::vector<Tried>& all, const CpuConfig& best, std::ostream& out) {
  out << "  ranks  threads  hardware threads  spare cores  samples/s  smallest   largest\n";
  for (const Tried& one : all) {
    out << fmt::format("{} {:5}  {:7}  {:>16}  {:11}  ", one.cpus == best ? '*' : ' ',
                       one.cpus.ranks_per_node, one.threads,
                       one.cpus.all_hardware_threads ? "all" : "one a core", one.cpus.spare_cores);
    if (!one.failure.empty()) {
      out << one.failure << '\n';
      continue;
    }
    const auto [least, most] =
        std::minmax_element(one.samples_per_s.begin(), one.samples_per_s.end());
    out << fmt::format("{:9.4g} {:9.4g} {:9.4g}\n", one.median(), *least, *most);
  }
}

Json document_of(const std::vector<Tried>& all, const CpuConfig& best, std::int64_t batch) {
  Json tried = Json::array();
  for (const Tried& one : all) {
    tried.push_back({{"cpus", to_json(one.cpus)},
                     {"threads", one.threads},
                     {"samples_per_s", one.samples_per_s},
                     {"median_samples_per_s", one.median()},
                     {"failure", one.failure.empty() ? Json() : Json(one.failure)}});
  }
  return {{"batch", batch},
          {"tried", tried},
          {"best", to_json(best)},
          {"definitions",
           {{"samples_per_s",
             "samples of one step on all ranks over the median step time, of each bench"},
            {"batch", "samples of one step on all ranks"},
            {"best", "the first whose median is within 1 % of the largest median"}}}};
}

/// What tuning found has no effect on runs that have these variables.
void warn_of_variables() {
  for (const char* name : {"OMP_NUM_THREADS", "OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY"}) {
    if (!launch::value_of(launch::environment(), name).empty()) {
      std::cerr << fmt::format(
          "WARNING: {} is set: the benches run without it; unset it for runs\n", name);
    }
  }
}

}  // namespace

void declare_tuning(CLI::App& bench, TuneCall& call) {
  auto* const tuned =
      bench
          .add_option("--tune", call.config,
                      "try this bench with different numbers of ranks and threads on this node, "
                      "--batch samples on all ranks together, and write the fastest as `cpus` into "
                      "this configuration")
          ->type_name("CONFIG");
  for (const char* option :
       {"--threads", "--no-bind", "--one-hardware-thread", "--spare-cores", "--progress"}) {
    tuned->excludes(bench.get_option(option));
  }
  bench
      .add_option("--launcher", call.launcher,
                  "with --tune: what starts ranks; their number and the program follow it")
      ->needs(tuned)
      ->capture_default_str();
}

BenchLine bench_line(const CLI::App& bench) {
  for (const CLI::Option* const option : bench.get_parent()->get_options()) {
    if (option->count() == 0) continue;
    throw base::ConfigError(
        fmt::format("bench --tune: {} must follow {}", option->get_name(), bench.get_name()));
  }
  BenchLine line;
  line.workload = bench.get_name();
  for (const CLI::Option* const option : bench.get_options()) {
    const std::string name = option->get_name();
    if (option->count() == 0 || name == "--tune" || name == "--launcher") continue;
    if (name == "--batch") {
      line.batch = option->as<std::int64_t>();
    } else if (name == "--json") {
      line.json = option->as<std::string>();
    } else {
      line.arguments.push_back(name);
      if (option->get_items_expected_max() == 0) continue;
      for (const std::string& value : option->results()) line.arguments.push_back(value);
    }
  }
  return line;
}

base::ExitCode tune(const TuneCall& call, const BenchLine& line) {
  const std::string text = base::config_text(call.config);
  const base::ObjectReader reader(rewritable(text, call.config), call.config);
  if (workload_name(reader) != line.workload) {
    throw base::ConfigError(fmt::format("{}: expected a configuration of {}, found one of {}",
                                        reader.where("workload"), line.workload,
                                        base::printable(workload_name(reader))));
  }
  if (launch::has_peers(launch::environment())) {
    throw base::ConfigError(
        "bench --tune: starts ranks itself: start it alone, without a launcher");
  }
  warn_of_variables();
  const Benches benches(call, line);
  const std::int64_t batch = benches.batch_of_one();
  const auto try_all = [&](const std::vector<CpuConfig>& all) {
    return try_in_turns(all, kRounds, [&](const CpuConfig& cpus, int round) {
      return benches.measure(cpus, batch, round);
    });
  };
  const TopologyHandle topology = load_topology();
  const std::vector<int> usable = base::process_cpus();
  std::vector<Tried> tried = try_all(sensible_ranks(topology.get(), usable, batch));
  CpuConfig best = best_of(tried).cpus;
  const std::vector<CpuConfig> variants = sensible_variants(topology.get(), usable, best);
  if (variants.size() > 1) {
    // The best so far is one of them, so that all are measured in turns.
    std::erase_if(tried, [&](const Tried& one) { return one.cpus == best; });
    const std::vector<Tried> others = try_all(variants);
    best = best_of(others).cpus;
    tried.insert(tried.end(), others.begin(), others.end());
  }
  if (line.json != "-") print(tried, best, std::cout);
  if (!line.json.empty()) write_document(document_of(tried, best, batch), line.json, std::cout);
  base::write_file(call.config, with_cpus(text, best));
  if (line.json != "-") {
    std::cout << fmt::format(
        "{}: cpus: {}\nmpirun --map-by ppr:{}:node --bind-to none trainmark run {}\n",
        base::printable(call.config), base::json_line(to_json(best)), best.ranks_per_node,
        launch::shell_word(call.config));
  }
  return base::ExitCode::kSuccess;
}

}  // namespace runner
