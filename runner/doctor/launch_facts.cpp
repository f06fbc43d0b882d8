// Variables of launchers, schedulers, OpenMP and oneDNN.
#include "runner/doctor/launch_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "runner/base/ceil_div.h"

namespace doctor {
namespace {

/// The first of these variables that is a number.
std::optional<std::int64_t> first_number(const Environment& environment,
                                         std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const auto value = number(environment, name)) return value;
  }
  return {};
}

/// SLURM_JOB_CPUS_PER_NODE is a list such as "4(x2),3"; only a list with a single entry applies to
/// this node for certain.
std::optional<std::int64_t> slurm_cpus(const Environment& environment) {
  if (const auto cpus = number(environment, "SLURM_CPUS_ON_NODE")) return cpus;
  const std::string list = variable(environment, "SLURM_JOB_CPUS_PER_NODE");
  if (list.find(',') != std::string::npos) return {};
  std::int64_t cpus = 0;
  const auto [end, error] = std::from_chars(list.data(), list.data() + list.size(), cpus);
  if (error != std::errc() || (end != list.data() + list.size() && *end != '(')) return {};
  return cpus;
}

void read_scheduler(const Environment& environment, LaunchFacts& facts) {
  const auto is_set = [&](const char* name) { return !variable(environment, name).empty(); };
  if (is_set("SLURM_JOB_ID")) {
    facts.scheduler = "Slurm";
    facts.nodes = first_number(environment, {"SLURM_JOB_NUM_NODES", "SLURM_NNODES"});
    facts.node_cpus = slurm_cpus(environment);
  } else if (is_set("PBS_JOBID")) {
    facts.scheduler = "PBS";
    facts.nodes = number(environment, "PBS_NUM_NODES");
    facts.node_cpus = first_number(environment, {"NCPUS", "PBS_NUM_PPN"});
  } else if (is_set("LSB_JOBID")) {
    facts.scheduler = "LSF";
  } else if (is_set("FLUX_JOB_ID")) {
    facts.scheduler = "Flux";
    facts.nodes = number(environment, "FLUX_JOB_NNODES");
  } else if (is_set("SGE_ROOT") && is_set("JOB_ID")) {
    facts.scheduler = "SGE";
    facts.nodes = number(environment, "NHOSTS");
  }
}

/// Ranks, and ranks of this node; assumes the same number on each node if the launcher does not
/// tell.
void read_sizes(const Environment& environment, LaunchFacts& facts) {
  facts.ranks = std::max<std::int64_t>(
      1, first_number(environment,
                      {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "FLUX_JOB_SIZE", "SLURM_STEP_NUM_TASKS"})
             .value_or(1));
  const std::int64_t nodes = std::max<std::int64_t>(
      1, first_number(environment, {"SLURM_STEP_NUM_NODES", "FLUX_JOB_NNODES"}).value_or(1));
  const auto local_ranks =
      first_number(environment, {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"});
  facts.node_ranks = std::clamp<std::int64_t>(
      local_ranks.value_or(base::ceil_div(facts.ranks, nodes)), 1, facts.ranks);
}

Finding openmp(const char* name, const std::string& value, Verdict verdict, std::string expected,
               std::string remedy) {
  return {"launch.openmp", verdict, name, value, std::move(expected), std::move(remedy), {}};
}

/// OMP_NUM_THREADS may be a list with one number per nesting level; the first counts.
void judge_thread_count(const Environment& environment, std::int64_t cpus, Findings& findings) {
  const std::string text = variable(environment, "OMP_NUM_THREADS");
  if (text.empty()) return;
  const std::string first = text.substr(0, text.find(','));
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(first.data(), first.data() + first.size(), count);
  if (error != std::errc() || end != first.data() + first.size() || count < 1) {
    findings.push_back(openmp("OMP_NUM_THREADS", text, Verdict::kError, "a positive number",
                              "unset OMP_NUM_THREADS, or export a number"));
  } else if (count > cpus) {
    findings.push_back(openmp("OMP_NUM_THREADS", text, Verdict::kWarning,
                              fmt::format("at most the {} CPUs of a rank", cpus),
                              fmt::format("export OMP_NUM_THREADS={}", cpus)));
  }
}

void judge_limits(const Environment& environment, Findings& findings) {
  constexpr std::array<std::pair<const char*, const char*>, 3> kLimits = {
      {{"TRAINMARK_MAX_ISA", "this program's kernels"},
       {"ONEDNN_MAX_CPU_ISA", "oneDNN"},
       {"DNNL_MAX_CPU_ISA", "oneDNN"}}};
  for (const auto& [name, whose] : kLimits) {
    const std::string value = variable(environment, name);
    if (value.empty() || value == "ALL" || value == "DEFAULT") continue;
    findings.push_back({"cpu.library_limit",
                        Verdict::kWarning,
                        name,
                        value,
                        fmt::format("not set: it keeps {} from faster instructions", whose),
                        fmt::format("unset {}", name),
                        {}});
  }
}

}  // namespace

Environment environment_of(const char* const* environment) {
  Environment all;
  for (; *environment != nullptr; ++environment) {
    const std::string entry = *environment;
    const std::size_t equals = entry.find('=');
    if (equals != std::string::npos) all[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  return all;
}

std::string variable(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

std::optional<std::int64_t> number(const Environment& environment, const std::string& name) {
  const std::string text = variable(environment, name);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

LaunchFacts read_launch(const Environment& environment) {
  LaunchFacts facts;
  read_scheduler(environment, facts);
  const auto rank = first_number(
      environment, {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "FLUX_TASK_RANK"});
  const bool is_step = !variable(environment, "SLURM_STEP_ID").empty() &&
                       !variable(environment, "SLURM_PROCID").empty();
  if (rank || environment.contains("PMI_FD")) {
    facts.launcher = LaunchFacts::Launcher::kWithPmi;
    facts.rank = rank.value_or(0);
    read_sizes(environment, facts);
    facts.local_rank =
        first_number(environment, {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                   "PMI_LOCAL_RANK", "FLUX_TASK_LOCAL_ID", "SLURM_LOCALID"})
            .value_or(0);
  } else if (is_step) {
    facts.launcher = LaunchFacts::Launcher::kSrunAlone;
    facts.rank = number(environment, "SLURM_PROCID").value_or(0);
    facts.local_rank = number(environment, "SLURM_LOCALID").value_or(0);
  }
  return facts;
}

Findings judge_launch(const LaunchFacts& launch) {
  using Launcher = LaunchFacts::Launcher;
  if (launch.launcher == Launcher::kSrunAlone) {
    return {{"launch.pmi",
             Verdict::kError,
             "srun",
             "a step without PMI",
             "srun --mpi=pmix, or mpirun",
             "start it with `mpirun ...` in the job, or with `srun --mpi=pmix "
             "--kill-on-bad-exit=1 ...`",
             {}}};
  }
  Findings findings = {
      {"launch.pmi",
       Verdict::kOk,
       "",
       launch.launcher == Launcher::kNone ? "one process, without launcher" : "ranks of a launcher",
       "",
       "",
       {}}};
  if (launch.launcher == Launcher::kNone && launch.nodes.value_or(1) > 1) {
    findings.push_back({"launch.nodes",
                        Verdict::kNote,
                        launch.scheduler,
                        "1 node was looked at",
                        fmt::format("the job's {} nodes", *launch.nodes),
                        "mpirun --map-by ppr:1:node --bind-to none trainmark doctor",
                        {}});
  }
  return findings;
}

Findings judge_variables(const Environment& environment, std::int64_t threads, std::int64_t cpus) {
  Findings findings;
  judge_thread_count(environment, cpus, findings);
  if (const auto limit = number(environment, "OMP_THREAD_LIMIT"); limit && *limit < threads) {
    findings.push_back(openmp("OMP_THREAD_LIMIT", std::to_string(*limit), Verdict::kError,
                              fmt::format("at least {} threads", threads),
                              "unset OMP_THREAD_LIMIT"));
  }
  if (number(environment, "OMP_MAX_ACTIVE_LEVELS") == 0 && threads > 1) {
    findings.push_back(openmp("OMP_MAX_ACTIVE_LEVELS", "0", Verdict::kError,
                              fmt::format("at least 1 for {} threads", threads),
                              "unset OMP_MAX_ACTIVE_LEVELS"));
  }
  const std::string dynamic = variable(environment, "OMP_DYNAMIC");
  if (dynamic == "true" || dynamic == "TRUE" || dynamic == "1") {
    findings.push_back(openmp("OMP_DYNAMIC", dynamic, Verdict::kWarning,
                              "not set: the number of threads must not change",
                              "unset OMP_DYNAMIC"));
  }
  const std::string bind = variable(environment, "OMP_PROC_BIND");
  if (!bind.empty() && bind != "false" && bind != "FALSE" && cpus < threads) {
    findings.push_back(openmp("OMP_PROC_BIND", bind, Verdict::kError,
                              fmt::format("{} threads would be bound to {} CPUs", threads, cpus),
                              "unset OMP_PROC_BIND, or give each rank more CPUs"));
  }
  const std::string wait = variable(environment, "OMP_WAIT_POLICY");
  if ((wait == "active" || wait == "ACTIVE") && threads > cpus) {
    findings.push_back(openmp("OMP_WAIT_POLICY", wait, Verdict::kWarning,
                              "passive where threads share CPUs",
                              "export OMP_WAIT_POLICY=passive"));
  }
  if (findings.empty()) {
    findings.push_back({"launch.openmp",
                        Verdict::kOk,
                        "",
                        fmt::format("{} threads on {} CPUs", threads, cpus),
                        "",
                        "",
                        {}});
  }
  judge_limits(environment, findings);
  return findings;
}

}  // namespace doctor
