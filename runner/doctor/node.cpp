// Examines and judges one node.
#include "runner/doctor/node.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "runner/base/narrow.h"
#include "runner/base/system_facts.h"
#include "runner/doctor/folder_checks.h"
#include "runner/doctor/host_checks.h"
#include "runner/documents.h"
#include "runner/placement.h"

namespace doctor {
namespace {

using Json = nlohmann::json;

constexpr double kBusyPauseS = 0.3;

std::string output_of(const char* command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command, "r"), ::pclose);
  std::string text;
  std::array<char, 4096> piece{};
  while (pipe && std::fgets(piece.data(), piece.size(), pipe.get()) != nullptr)
    text += piece.data();
  return text;
}

/// Slurm opens the library by this name, which only the development package provides.
bool can_load_pmix() {
  void* const library = ::dlopen("libpmix.so", RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return false;
  ::dlclose(library);
  return true;
}

}  // namespace

Findings check_srun() {
  Finding finding{"launch.srun", Verdict::kOk, "", "srun --mpi=pmix can start ranks", "", "", {}};
  const bool has_plugin =
      output_of("timeout 5 srun --mpi=list 2>&1").find("pmix") != std::string::npos;
  if (!has_plugin || !can_load_pmix()) {
    finding.verdict = Verdict::kNote;
    finding.measured = has_plugin ? "libpmix.so cannot be loaded on this node"
                                  : "srun --mpi=list does not name pmix";
    finding.expected = "both, for srun --mpi=pmix";
    finding.remedy =
        "start ranks by mpirun, which needs neither; or install libpmix-dev on all "
        "nodes";
  }
  return {finding};
}

Findings judge_copies(const Json& copies, const std::string& folder,
                      const std::string& configuration) {
  std::int64_t unused = 0, bytes = 0;
  for (const Json& copy : copies) {
    if (copy.at("is_used").get<bool>() || copy.at("is_kept").get<bool>()) continue;
    ++unused;
    bytes += copy.at("bytes").get<std::int64_t>();
  }
  if (unused == 0) return {};
  return {{"folder.leftovers",
           Verdict::kNote,
           folder,
           fmt::format("{} staged cop{} that no run uses, {}", unused, unused == 1 ? "y" : "ies",
                       runner::bytes_text(static_cast<double>(bytes))),
           "none",
           fmt::format("trainmark stage {} --clean", configuration),
           {}}};
}

runner::CpuConfig Request::cpus() const {
  return source == nullptr ? runner::CpuConfig() : source->config->cpus;
}

std::int64_t Request::threads() const { return source == nullptr ? 0 : source->config->threads; }

Finding refusal_of(const Request& request, const base::Error& error) {
  return {"config.ranks",
          Verdict::kError,
          request.source->path,
          error.what(),
          "a configuration that these ranks and this CPU can train",
          "change that key by --set, or use another number of ranks",
          {}};
}

PlannedNeeds plan_needs(const Request& request, const runner::PlannedRank& place) {
  if (request.source == nullptr) return {mpi_requirements(place), {}};
  try {
    return {needs_of(*request.source, place), {}};
  } catch (const base::ConfigError& e) {
    return {needs_of_keys(*request.source, place), refusal_of(request, e)};
  } catch (const base::LibraryError& e) {
    return {needs_of_keys(*request.source, place), Finding{"cpu.library",
                                                           Verdict::kError,
                                                           "",
                                                           e.what(),
                                                           "a library that computes what it should",
                                                           "as the message says",
                                                           {}}};
  }
}

Node::Node(const Request& request, const LaunchFacts& launch, const Environment& environment,
           const std::function<void(const std::string&)>& stage)
    : request_(request), launch_(launch), environment_(environment) {
  stage("/proc, /sys and limits");
  host_ = read_host("/");
  stage("other processes");
  looked_.push_back(
      judge_busy(busy_processes("/", kBusyPauseS, request.job_root), base::usable_cpus()));
  append(looked_, judge_launch(launch));
  if (launch.scheduler == "Slurm") {
    stage("srun --mpi=list");
    append(looked_, check_srun());
  }
  plan_place();
  const Needs wanted = plan_needs(request, expected_).needs;
  for (const std::string& path : wanted.folders.dataset) {
    stage("dataset " + path);
    looked_.push_back(check_dataset(path, request.source->entry->name));
  }
  for (const std::string& path : wanted.folders.shared) {
    stage("folder " + path);
    append(looked_, check_folder(path, wanted.file_bytes));
  }
  stage("scratch folder " + wanted.folders.scratch);
  const auto staged =
      launch.rank == 0 && wanted.stages ? dataset_bytes(wanted.folders.dataset) : std::nullopt;
  append(looked_, check_scratch(wanted, staged, host_.memory_available));
  stage("leftovers");
  append(looked_, check_leftovers(wanted.folders.scratch, "/tmp", "/dev/shm"));
  if (wanted.stages && request.staged_copies) {
    append(looked_, judge_copies(request.staged_copies(wanted.folders.scratch),
                                 wanted.folders.scratch, request.source->path));
  }
}

void Node::plan_place() {
  const std::int64_t planned = request_.planned_node_ranks;
  expected_.node_ranks = base::narrow<int>(planned > 0 ? planned : launch_.node_ranks);
  expected_.ranks = base::narrow<int>(planned > 0 ? planned : launch_.ranks);
  const runner::CpuConfig cpus = request_.cpus();
  try {
    expected_.threads = runner::planned_threads(cpus, request_.threads(), expected_.node_ranks);
  } catch (const base::ConfigError& e) {
    expected_.threads = 1;
    // Under a launcher, ranks may have other CPUs than this process: take_place() will tell. Else
    // OMP_NUM_THREADS is not a number; judge_variables() reports that.
    const bool is_known = planned > 0 || expected_.node_ranks == 1;
    if (cpus.spare_cores > 0 && is_known) looked_.push_back(refusal_of(request_, e));
  }
}

Needs Node::needs(const runner::PlannedRank& place) const {
  return plan_needs(request_, place).needs;
}

Findings Node::judge(const runner::PlannedRank& place) const {
  const PlannedNeeds planned = plan_needs(request_, place);
  Findings findings = judge_machine(host_, planned.needs);
  if (planned.refusal) findings.push_back(*planned.refusal);
  append(findings, judge_memory(host_, planned.needs));
  append(findings, judge_limits(host_, planned.needs));
  append(findings, judge_variables(environment_, place.threads, base::usable_cpus()));
  append(findings, looked_);
  return findings;
}

std::int64_t Node::memory_available() const {
  std::int64_t bytes = host_.memory_available.value_or(std::int64_t{1} << 30);
  if (const auto left = host_.cgroup.memory_left_bytes) bytes = std::min(bytes, *left);
  return bytes;
}

Json Node::alike_facts() const {
  const Json machine = base::machine_facts();
  Json facts = {{"revision", base::build_facts().value("revision", "unknown")},
                {"libraries", request_.libraries()}};
  for (const char* key :
       {"cpu_model", "sockets", "cores", "logical_cpus", "memory_bytes", "operating_system",
        "kernel", "instruction_set", "governor", "transparent_huge_pages"}) {
    facts[key] = machine.value(key, Json());
  }
  return facts;
}

}  // namespace doctor
