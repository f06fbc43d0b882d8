// The command that starts a run's ranks inside an allocation: mpirun, srun or flux run.
#include <fmt/format.h>

#include "runner/launch/script_parts.h"
#include "runner/launch/shell_word.h"

namespace launch {
namespace {

std::string extra(const JobRequest& request) {
  std::string words;
  for (const std::string& option : request.starter_options) words += " " + shell_word(option);
  return words;
}

/// Ranks that share an exclusive node get cores of their own. A single rank may use all of its
/// node; on shared nodes the scheduler assigns the CPUs.
std::string placement(const JobRequest& request) {
  if (request.sharing == Sharing::kExclusive && request.ranks_per_node > 1) {
    return "--map-by \"ppr:$ranks_per_node:node:pe=$cpus_per_rank\" --bind-to core";
  }
  return "--map-by \"ppr:$ranks_per_node:node\" --bind-to none";
}

std::string mpirun(const JobRequest& request, const SchedulerParts& parts,
                   const std::string& hosts) {
  std::string where;
  if (!hosts.empty()) {
    where = " --host \"" + hosts + "\"";
  } else if (!parts.host_file.empty()) {
    where = " --hostfile \"" + parts.host_file + "\"";
  }
  // ssh passes on only the variables named here.
  const std::string environment =
      parts.host_file.empty() ? ""
                              : fmt::format("\n  -x PATH -x LD_LIBRARY_PATH {}-x OMP_PROC_BIND",
                                            request.spares_cpus ? "" : "-x OMP_NUM_THREADS ");
  return "mpirun" + where + " " + placement(request) + environment +
         "\n  --mca oob_tcp_keepalive_time 10 --mca oob_tcp_keepalive_intvl 5 "
         "--mca oob_tcp_keepalive_probes 3";
}

std::string srun(const JobRequest&, const std::string& hosts) {
  std::string line = "srun --mpi=pmix --kill-on-bad-exit=1 --wait=30";
  if (!hosts.empty()) line += " --exact --nodelist=\"" + hosts + "\"";
  return line +
         " --nodes=\"$nodes\"\n  --ntasks=\"$((nodes * ranks_per_node))\" "
         "--ntasks-per-node=\"$ranks_per_node\" --cpus-per-task=\"$cpus_per_rank\"";
}

std::string flux_run(const JobRequest& request) {
  std::string line =
      "flux run --nodes=\"$nodes\" --ntasks=\"$((nodes * ranks_per_node))\" "
      "--cores-per-task=\"$cpus_per_rank\"\n  -o exit-on-error";
  if (request.sharing == Sharing::kExclusive && request.ranks_per_node > 1) {
    line += " -o cpu-affinity=per-task";
  }
  return line;
}

}  // namespace

std::string start_command(const JobRequest& request, const SchedulerParts& parts,
                          const std::string& hosts) {
  switch (request.starter) {
    case Starter::kMpirun:
      return mpirun(request, parts, hosts) + extra(request);
    case Starter::kSrun:
      return srun(request, hosts) + extra(request);
    case Starter::kFlux:
      return flux_run(request) + extra(request);
  }
  return "";
}

}  // namespace launch
