// Run sets.
// Hides seeds, files, provenance, and the lines that tell of them.
#include "runner/run_set.h"

#include <fmt/format.h>

#include <optional>
#include <random>

#include "runner/base/output_file.h"
#include "runner/base/system_facts.h"
#include "runner/caches.h"
#include "runner/placement.h"
#include "runner/provenance.h"
#include "runner/result_files.h"
#include "runner/run_loop.h"
#include "runner/telemetry/report_file.h"

namespace runner {
namespace {

std::uint64_t seed_from_system() {
  std::random_device device;
  std::uint64_t seed = 0;
  while (seed == 0) seed = (std::uint64_t{device()} << 32U) | device();
  return seed;
}

class RunSet {
 public:
  RunSet(const RunConfig& config, std::int64_t runs, MakeWorkload make, const RunSetDoors& doors)
      : config_(config),
        runs_(runs),
        make_(make),
        doors_(doors),
        binding_(current_binding()),
        threads_(plan_threads(config.threads, binding_, doors.topology.node)),
        provenance_(
            gather_provenance(doors.world, doors.topology, binding_, threads_, doors.libraries)) {}

  base::ExitCode go();

 private:
  std::vector<std::uint64_t> seeds() const;
  bool stop_requested() const;
  void warn() const;
  RunStatus run(std::uint64_t seed, std::int64_t number);
  void save(const RunOutcome& outcome, Workload& workload, ResultFiles* files) const;
  telemetry::RankIdentity identity() const;
  void tell(const RunOutcome& outcome, const RunConfig& config, const WorkloadInfo& info,
            const ResultFiles& files) const;

  const RunConfig& config_;
  std::int64_t runs_;
  MakeWorkload make_;
  const RunSetDoors& doors_;
  Binding binding_;
  ThreadPlan threads_;
  nlohmann::json provenance_;  ///< on rank 0
};

base::ExitCode RunSet::go() {
  warn();
  base::ExitCode worst = base::ExitCode::kSuccess;
  std::int64_t number = 0;
  for (const std::uint64_t seed : seeds()) {
    if (stop_requested()) return base::ExitCode::kStopped;
    const RunStatus status = run(seed, ++number);
    if (status == RunStatus::kStopped) return exit_code(status);
    if (status != RunStatus::kSuccess) worst = exit_code(status);
  }
  return worst;
}

std::vector<std::uint64_t> RunSet::seeds() const {
  std::uint64_t master = config_.seed;
  if (master == 0 && doors_.world.rank() == 0) master = seed_from_system();
  doors_.world.broadcast(std::as_writable_bytes(std::span(&master, 1)), 0);
  return runs_ == 1 ? std::vector<std::uint64_t>{master} : derive_seeds(master, runs_);
}

bool RunSet::stop_requested() const {
  return doors_.world.allreduce_max(std::int64_t{doors_.stop_requested() ? 1 : 0}) != 0;
}

void RunSet::warn() const {
  const std::string over = oversubscription(threads_, doors_.world);
  if (!over.empty()) doors_.console.warn(over);
  if (config_.evaluation.next_due(config_.epochs) != config_.epochs) {
    doors_.console.warn(fmt::format(
        "/evaluation: no evaluation is due after the last epoch ({}): what is trained after the "
        "last evaluation is never judged",
        config_.epochs));
  }
}

telemetry::RankIdentity RunSet::identity() const {
  return {doors_.world.rank(), base::host_name(), doors_.topology.node_index, threads_.threads};
}

RunStatus RunSet::run(std::uint64_t seed, std::int64_t number) {
  RunConfig config = config_;
  config.seed = seed;
  telemetry::Telemetry telemetry(doors_.clock);
  const Surroundings around{doors_.world, doors_.topology, telemetry, threads_.threads};
  const std::unique_ptr<Workload> workload = make_(config, around);
  const CacheClearing caches = clear_caches(config.clear_caches, doors_.world, doors_.topology);

  std::optional<ResultFiles> files;
  if (doors_.world.rank() == 0) {
    files.emplace(ResultFiles::claim(
        fmt::format("{}/{}/{}", config.results_directory, config.system_name, config.workload)));
    nlohmann::json resolved = config.reader.resolved();
    resolved["seed"] = seed;
    base::write_file(files->config_path(), resolved.dump(2) + "\n");
    doors_.console.info(
        fmt::format("run {} of {}: seed {}, log {}", number, runs_, seed, files->log_path()));
  }
  mllog::LogWriter log(files ? &files->log() : nullptr, doors_.clock);
  const RunDoors run_doors{doors_.world,   doors_.topology,      telemetry, log, identity(),
                           doors_.console, doors_.stop_requested};
  const RunOutcome outcome = run_once(config, *workload, caches, run_doors);
  if (files) files->log().sync();
  save(outcome, *workload, files ? &*files : nullptr);
  if (files) tell(outcome, config, workload->info(), *files);
  workload->clean_up();
  return outcome.status;
}

void RunSet::save(const RunOutcome& outcome, Workload& workload, ResultFiles* files) const {
  const auto entries = doors_.world.gather(outcome.telemetry_entry, 0);
  if (files != nullptr) {
    telemetry::write_report(files->telemetry_path(), workload.info().name, entries, provenance_);
  }
  // Weights that are no numbers serve nobody.
  if (outcome.status == RunStatus::kDiverged) return;
  std::unique_ptr<StateWriter> writer;
  if (files != nullptr) writer = doors_.make_state_writer(files->weights_path());
  workload.save_weights(writer.get());
  if (writer != nullptr) writer->finish();
}

void RunSet::tell(const RunOutcome& outcome, const RunConfig& config, const WorkloadInfo& info,
                  const ResultFiles& files) const {
  const std::string benchmark =
      config.submission.benchmark.empty() ? info.benchmark : config.submission.benchmark;
  const bool success = outcome.status == RunStatus::kSuccess;
  const std::string quality =
      outcome.evaluations.empty() ? "none" : fmt::format("{}", outcome.evaluations.back().quality);
  if (!success) doors_.console.warn(outcome.reason);
  doors_.out << fmt::format(
      "RESULT benchmark={} metric=time_to_train value={} unit=s status={} quality={} epochs={} "
      "seed={}\n",
      benchmark, success ? fmt::format("{:.3f}", outcome.run_s) : "none", to_string(outcome.status),
      quality, outcome.epochs, config.seed);
  doors_.out << "log:       " << files.log_path() << "\nconfig:    " << files.config_path()
             << "\ntelemetry: " << files.telemetry_path() << '\n';
  if (outcome.status != RunStatus::kDiverged)
    doors_.out << "weights:   " << files.weights_path() << '\n';
  doors_.out << std::flush;
}

}  // namespace

base::ExitCode run_set(const RunConfig& config, std::int64_t runs, MakeWorkload make,
                       const RunSetDoors& doors) {
  return RunSet(config, runs, make, doors).go();
}

}  // namespace runner
