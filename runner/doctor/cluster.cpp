// Gathers the results of each node's first rank on rank 0 and compares them.
#include "runner/doctor/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "runner/agreed_error.h"
#include "runner/base/json_text.h"
#include "runner/base/printable.h"
#include "runner/base/system_facts.h"
#include "runner/base/usable_cpus.h"
#include "runner/doctor/folder_checks.h"
#include "runner/doctor/rates.h"

namespace doctor {
namespace {

using Json = nlohmann::json;
using Launcher = LaunchFacts::Launcher;

/// As a run takes it, or `refusal` and a place without spare cores.
runner::Place take_place(const Request& request, const runner::Communicator& world,
                         const runner::Communicator& node, std::optional<Finding>& refusal) {
  runner::CpuConfig cpus = request.cpus();
  try {
    return runner::take_place(cpus, request.threads(), world, node);
  } catch (const runner::AgreedError& e) {
    if (e.code() != base::ExitCode::kUsage) throw;
    // Else OMP_NUM_THREADS is not a number; judge_variables() reports that.
    if (cpus.spare_cores > 0) refusal = refusal_of(request, e);
    cpus.spare_cores = 0;
    return runner::take_place(cpus, 1, world, node);
  }
}

/// CPUs of this node that the job may use: by the scheduler's count, else all that are online.
std::int64_t available_cpus(const LaunchFacts& launch, const HostFacts& host) {
  const std::int64_t cpus = launch.node_cpus.value_or(host.online_cpus);
  return base::cut_by_quota(static_cast<int>(std::min(cpus, host.online_cpus)), host.cgroup);
}

Finding judge_start(double seconds) {
  constexpr double kLong = 20.0;
  Finding finding = ok_finding("mpi.start", quantity_text(seconds, "s"), seconds);
  if (seconds > kLong) {
    finding.verdict = Verdict::kWarning;
    finding.expected = fmt::format("at most {} s", kLong);
    finding.remedy =
        "name the network by export OMPI_MCA_btl_tcp_if_include=NETWORK/BITS, and put "
        "the program on a fast shared file system";
  }
  return finding;
}

/// Rates by catalogue id. A rate that cannot be measured is omitted, and `findings` says why.
Json measure(const runner::Topology& topology, const Request& request, int threads,
             const Node* node, const std::string& scratch, Findings& findings,
             const Reporter& reporter) {
  Json rates = Json::object();
  if (request.quick) return rates;
  reporter.stage("rates of memory and arithmetic");
  const std::int64_t memory =
      node != nullptr ? node->memory_available() : std::numeric_limits<std::int64_t>::max();
  try {
    const NodeRates found = measure_node(topology.node, threads, memory);
    rates["rate.memory"] = found.memory_bytes_per_s;
    rates["rate.compute"] = found.compute_flops_per_s;
  } catch (const runner::AgreedError& e) {
    findings.push_back({"rate.memory", Verdict::kNotKnown, "", e.what(), "", "", {}});
  }
  if (node == nullptr) return rates;
  reporter.stage("rate of the disk of " + scratch);
  try {
    const DiskRates disk = measure_disk(nearest_folder(scratch));
    rates["rate.disk_write"] = disk.write_bytes_per_s;
    rates["rate.disk_read"] = disk.read_bytes_per_s;
  } catch (const base::Error& e) {
    findings.push_back({"rate.disk_write", Verdict::kNotKnown, scratch, e.what(), "", "", {}});
  }
  return rates;
}

/// The results of the nodes, by node.
struct Gathered {
  Hosts hosts;
  std::vector<Json> facts;
  std::map<std::string, std::vector<double>> rates;  ///< only those that all nodes have measured
};

Gathered take_nodes(const std::vector<std::string>& texts, Report& report) {
  Gathered gathered;
  for (const std::string& text : texts) {
    if (text.empty()) continue;
    const Json sent = Json::parse(text);
    NodeReport node{sent.at("host"), sent.at("ranks"), sent.at("threads"), sent.at("cpus"), {}};
    for (const Json& finding : sent.at("findings")) node.findings.push_back(finding_from(finding));
    gathered.hosts.push_back(node.host);
    gathered.facts.push_back(sent.at("facts"));
    for (const auto& [id, value] : sent.at("rates").items()) gathered.rates[id].push_back(value);
    report.nodes.push_back(std::move(node));
  }
  std::erase_if(gathered.rates,
                [&](const auto& rate) { return rate.second.size() != gathered.hosts.size(); });
  return gathered;
}

void judge_nodes(const LaunchFacts& launch, std::int64_t nodes, Findings& findings) {
  if (launch.launcher != Launcher::kWithPmi || !launch.nodes) return;
  Finding finding =
      ok_finding("launch.nodes", fmt::format("{} of the job's {}", nodes, *launch.nodes));
  if (nodes < *launch.nodes) {
    finding.verdict = Verdict::kWarning;
    finding.expected = "ranks on all nodes of the job";
    finding.remedy = "mpirun --map-by ppr:RANKS:node --bind-to none ..., or ask for fewer nodes";
  }
  findings.push_back(finding);
}

/// Call on all ranks; only rank 0's findings count.
Findings examine_messages(const runner::Communicator& world, const runner::Topology& topology,
                          const Hosts& hosts, const std::vector<std::string>& shared_folders,
                          const Reporter& reporter) {
  Findings findings;
  const runner::Communicator leaders =
      world.split(topology.is_node_leader() ? 0 : -1, world.rank());
  if (topology.node_count == 1) return findings;
  if (topology.is_node_leader()) {
    for (const std::string& path : shared_folders) {
      reporter.stage("shared folder " + path);
      append(findings, check_shared(leaders, hosts, path));
    }
  }
  reporter.stage("clocks of all nodes");
  const std::vector<double> offsets = calendar_offsets_s(world, topology);
  if (world.rank() == 0) append(findings, judge_offsets(hosts, offsets));
  return findings;
}

/// The ranks and threads for which a node is judged.
struct NodePlan {
  runner::ThreadPlan threads;
  runner::PlannedRank rank;
  std::optional<Finding> refusal = {};  ///< the configuration's wishes for CPUs cannot be met
};

/// If ranks are only planned, `node` is set, as this is the only process.
NodePlan plan_node(const runner::Communicator& world, const runner::Topology& topology,
                   const Request& request, const std::optional<Node>& node) {
  std::optional<Finding> refusal;
  runner::ThreadPlan threads = take_place(request, world, topology.node, refusal).threads;
  runner::PlannedRank rank{world.rank(), world.size(), topology.node.size(), threads.threads};
  if (request.planned_node_ranks > 0) {
    rank = node->expected_place();
    threads.node_threads = std::int64_t{rank.threads} * rank.node_ranks;
  }
  return {threads, rank, refusal};
}

/// The result of a node's first rank, sent to the others.
struct NodeFindings {
  std::string text;  ///< JSON for take_nodes()
  std::vector<std::string> shared_folders;
  std::int64_t gradient_bytes = 0;
};

NodeFindings examine_node(const runner::Topology& topology, const Request& request,
                          const LaunchFacts& launch, const Node& node, const NodePlan& plan,
                          double mpi_start_s, const Reporter& reporter) {
  reporter.stage("verdicts on this node");
  const Needs needs = node.needs(plan.rank);
  Findings findings = node.judge(plan.rank);
  const auto is_refusal = [](const Finding& finding) { return finding.id == "config.ranks"; };
  const bool is_told = std::any_of(findings.begin(), findings.end(), is_refusal);
  if (plan.refusal && !is_told) findings.push_back(*plan.refusal);
  append(findings, judge_placement(plan.threads, plan.rank.node_ranks,
                                   available_cpus(launch, node.host()), launch.launcher));
  findings.push_back(judge_start(mpi_start_s));
  const Json rates = measure(topology, request, plan.threads.threads, &node, needs.folders.scratch,
                             findings, reporter);
  Json listed = Json::array();
  for (const Finding& finding : findings) listed.push_back(to_json(finding));
  const Json document = {{"host", node.host().host},
                         {"ranks", plan.rank.node_ranks},
                         {"threads", plan.threads.node_threads},
                         {"cpus", plan.threads.node_cpus},
                         {"findings", listed},
                         {"facts", node.alike_facts()},
                         {"rates", rates}};
  return {base::json_line(document), needs.folders.shared, needs.gradient_bytes};
}

/// Compares rates, links and facts between nodes.
void compare_nodes(const Gathered& gathered, int ranks, Report& report) {
  for (const auto& [id, rates] : gathered.rates) {
    append(report.between, compare_rates(id, gathered.hosts, rates));
  }
  append(report.between, compare_links(gathered.hosts, report.network.links));
  append(report.between, judge_collectives(report.network, ranks));
  append(report.between, compare_facts(gathered.hosts, gathered.facts));
}

}  // namespace

Findings judge_placement(const runner::ThreadPlan& plan, std::int64_t node_ranks,
                         std::int64_t available, Launcher launcher) {
  Finding cpus = ok_finding("launch.cpus", fmt::format("{} of {}", plan.node_cpus, available),
                            static_cast<double>(plan.node_cpus));
  if (plan.node_cpus < available) {
    cpus.verdict = launcher == Launcher::kNone ? Verdict::kNote : Verdict::kWarning;
    cpus.expected = "all of them: the others stand still";
    cpus.remedy = launcher == Launcher::kNone
                      ? "see taskset -p $$, or run it in a job that has them"
                      : fmt::format(
                            "mpirun --bind-to none, mpirun --map-by slot:PE={0}, or srun "
                            "--cpus-per-task={0}",
                            std::max<std::int64_t>(1, available / node_ranks));
  }
  Finding threads = ok_finding(
      "launch.threads",
      fmt::format("{} of {} on {}", base::counted(plan.node_threads, "thread"),
                  base::counted(node_ranks, "rank"), base::counted(plan.node_cpus, "CPU")));
  const std::int64_t share = std::max<std::int64_t>(1, plan.node_cpus / node_ranks);
  if (plan.oversubscribed()) {
    threads.verdict = Verdict::kWarning;
    threads.expected = "at most one thread for each CPU";
    threads.remedy =
        plan.node_cpus < node_ranks
            ? fmt::format("start at most {} ranks on this node", plan.node_cpus)
            : fmt::format("export OMP_NUM_THREADS={}, or --set threads={}", share, share);
  } else if (plan.node_threads < plan.node_cpus && !plan.leaves_cpus) {
    threads.verdict = Verdict::kNote;
    threads.expected = "a thread for each CPU";
    threads.remedy = fmt::format("export OMP_NUM_THREADS={}, or --set threads={}", share, share);
  }
  return {cpus, threads};
}

Report examine_cluster(const runner::Communicator& world, const Request& request,
                       const LaunchFacts& launch, const Environment& environment,
                       std::optional<Node>& node, double mpi_start_s, const Reporter& reporter) {
  reporter.stage("which ranks share a node");
  const runner::Topology topology = runner::discover_topology(world);
  if (topology.is_node_leader() && !node) {
    node.emplace(request, launch, environment,
                 [&](const std::string& what) { reporter.stage(what); });
  }
  const NodePlan plan = plan_node(world, topology, request, node);
  NodeFindings mine;
  if (topology.is_node_leader()) {
    mine = examine_node(topology, request, launch, *node, plan, mpi_start_s, reporter);
  } else {
    Findings none;
    measure(topology, request, plan.threads.threads, nullptr, "", none, reporter);
  }

  reporter.stage("the other nodes");
  Report report;
  report.quick = request.quick;
  report.configuration = request.source == nullptr ? "" : request.source->path;
  report.ranks = plan.rank.ranks;
  report.started_ranks = world.size();
  const Gathered gathered = take_nodes(world.gather(mine.text, 0), report);
  const Findings messages =
      examine_messages(world, topology, gathered.hosts, mine.shared_folders, reporter);
  if (!request.quick || world.size() > 1) {
    reporter.stage("messages between nodes");
    const std::int64_t gradient_bytes = world.allreduce_max(mine.gradient_bytes);
    report.network = measure_network(world, topology, request.quick ? 0 : gradient_bytes);
  }
  if (world.rank() != 0) return report;
  compare_nodes(gathered, world.size(), report);
  append(report.between, messages);
  judge_nodes(launch, topology.node_count, report.between);
  return report;
}

}  // namespace doctor
