// Run sets.
// Hides seeds, files, provenance, and the lines that tell of them.
#include "runner/run_set.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <random>

#include "runner/base/make_folder.h"
#include "runner/base/replaced_file.h"
#include "runner/base/system_facts.h"
#include "runner/caches.h"
#include "runner/checkpoint_folder.h"
#include "runner/placement.h"
#include "runner/provenance.h"
#include "runner/result_files.h"
#include "runner/resume.h"
#include "runner/run_loop.h"
#include "runner/run_trace.h"
#include "runner/telemetry/report_file.h"
#include "runner/together.h"

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
  RunSet(const RunConfig& config, const RunSetPlan& plan, MakeWorkload make,
         const RunSetDoors& doors)
      : config_(config),
        plan_(plan),
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
  /// Opens the checkpoint that is to be resumed; its seed is the run's.
  void open_checkpoint();
  RunStatus run(std::uint64_t seed, std::int64_t number);
  void check_resume(const nlohmann::json& resolved, const Workload& workload) const;
  /// Where this run saves itself: a folder of its own, or that which a resumed training has.
  std::string checkpoint_folder(const ResultFiles* files) const;
  nlohmann::json environment() const;
  void save(const RunOutcome& outcome, Workload& workload, ResultFiles* files) const;
  telemetry::RankIdentity identity() const;
  void tell(const RunOutcome& outcome, const RunConfig& config, const WorkloadInfo& info,
            const ResultFiles& files) const;
  void tell(const TraceSummary& trace, const ResultFiles& files) const;

  const RunConfig& config_;
  const RunSetPlan& plan_;
  std::optional<ResumePoint> resume_;
  MakeWorkload make_;
  const RunSetDoors& doors_;
  Binding binding_;
  ThreadPlan threads_;
  nlohmann::json provenance_;  ///< on rank 0
};

base::ExitCode RunSet::go() {
  warn();
  if (plan_.resume) open_checkpoint();
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
  if (master == 0 && resume_) {
    master = base::ObjectReader(resume_->record.config, resume_->path)
                 .optional<std::uint64_t>("seed", 0, "seed of the run that was saved");
  }
  if (master == 0 && doors_.world.rank() == 0) master = seed_from_system();
  doors_.world.broadcast(std::as_writable_bytes(std::span(&master, 1)), 0);
  return plan_.runs == 1 ? std::vector<std::uint64_t>{master} : derive_seeds(master, plan_.runs);
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

void RunSet::open_checkpoint() {
  resume_.emplace(
      open_resume_point(*plan_.resume, doors_.checkpoint_format, doors_.world, doors_.console));
}

nlohmann::json RunSet::environment() const {
  return {{"ranks", doors_.world.size()},
          {"threads", threads_.threads},
          {"instruction_set", base::to_string(base::usable_instruction_set())},
          {"cpu", base::machine_facts().value("cpu_model", nlohmann::json())},
          {"libraries", doors_.libraries},
          {"revision", base::build_facts().value("revision", nlohmann::json())}};
}

void RunSet::check_resume(const nlohmann::json& resolved, const Workload& workload) const {
  if (!resume_) return;
  require_same_config(*resume_, resolved, workload.keys_without_effect());
  const auto differences = environment_differences(resume_->record.environment, environment());
  for (const std::string& difference : differences) {
    doors_.console.warn(difference +
                        ": the last bits will differ from those of a run that was never stopped");
  }
}

std::string RunSet::checkpoint_folder(const ResultFiles* files) const {
  std::string folder;
  on_rank_0(doors_.world, [&] {
    // A file was chosen by hand: what lies beside it is not for us to clear away.
    if (resume_ && resume_->path != *plan_.resume) {
      folder = std::filesystem::path(resume_->path).parent_path().string();
      return;
    }
    folder = folder_of_run(checkpoints_folder(config_), files->number());
    if (!list_checkpoints(folder).empty()) {
      throw base::ConfigError(config_.reader.where("checkpoint") + "/directory: " + folder +
                              " holds checkpoints of another run");
    }
    // Now, not when hours of training are to be saved.
    if (config_.checkpoint.is_scheduled()) base::make_folder(folder);
  });
  return doors_.world.broadcast(folder, 0);
}

RunStatus RunSet::run(std::uint64_t seed, std::int64_t number) {
  RunConfig config = config_;
  config.seed = seed;
  std::optional<RunTrace> trace;
  if (plan_.trace) trace.emplace(*plan_.trace, doors_.world, doors_.topology, doors_.clock);
  telemetry::Telemetry telemetry(doors_.clock, &doors_.world.activity());
  if (trace) telemetry.trace_to(trace->trace());
  const Surroundings around{doors_.world, doors_.topology, telemetry, threads_.threads};
  std::unique_ptr<Workload> workload;
  together(doors_.world, [&] { workload = make_(config, around); });
  nlohmann::json resolved = config.reader.resolved();
  resolved["seed"] = seed;
  check_resume(resolved, *workload);
  const CacheClearing caches = clear_caches(config.clear_caches, doors_.world, doors_.topology);

  std::optional<ResultFiles> files;
  if (doors_.world.rank() == 0) {
    files.emplace(ResultFiles::claim(results_folder(config)));
    base::write_file(files->config_path(), resolved.dump(2) + "\n");
    doors_.console.info(
        fmt::format("run {} of {}: seed {}, log {}", number, plan_.runs, seed, files->log_path()));
    if (resume_) {
      doors_.console.info(fmt::format("resumed after step {} from {}",
                                      resume_->record.position.steps_done, resume_->path));
    }
  }
  const CheckpointDoors checkpoint_doors{doors_.world, doors_.clock, doors_.console,
                                         doors_.checkpoint_format, doors_.checkpoint_requested};
  Checkpointer checkpointer(config.checkpoint, checkpoint_folder(files ? &*files : nullptr),
                            resolved, environment(), checkpoint_doors);
  std::optional<telemetry::LiveStatusFile> live;
  if (files) live.emplace(telemetry::live_path(files->log_path()), doors_.clock);
  mllog::LogWriter log(files ? &files->log() : nullptr, doors_.clock);
  const RunDoors run_doors{doors_.world,
                           doors_.topology,
                           telemetry,
                           log,
                           identity(),
                           doors_.console,
                           doors_.stop_requested,
                           &checkpointer,
                           resume_ ? &*resume_ : nullptr,
                           doors_.watchdog,
                           live ? &*live : nullptr};
  const RunOutcome outcome = run_once(config, *workload, caches, run_doors);
  doors_.world.activity().enter_phase("saving of the results");
  if (live && !live->problem().empty()) doors_.console.warn(live->problem());
  if (files) files->log().sync();
  save(outcome, *workload, files ? &*files : nullptr);
  if (files) tell(outcome, config, workload->info(), *files);
  if (trace) {
    const TraceSummary traced =
        trace->write(files ? files->trace_path() : "", workload->info().name, identity());
    if (files) tell(traced, *files);
  }
  doors_.world.activity().enter_phase("clean-up");
  workload->clean_up();
  // Here a rank that does not come is noticed; MPI_Finalize would wait for it unwatched.
  doors_.world.barrier();
  return outcome.status;
}

void RunSet::save(const RunOutcome& outcome, Workload& workload, ResultFiles* files) const {
  const auto entries = doors_.world.gather(outcome.telemetry_entry, 0);
  if (files != nullptr) {
    nlohmann::json provenance = provenance_;
    if (resume_) {
      provenance["resumed"] = {{"checkpoint", resume_->path},
                               {"step", resume_->record.position.steps_done},
                               {"earlier_s", outcome.earlier_s}};
    }
    telemetry::write_report(files->telemetry_path(), workload.info().name, entries, provenance);
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
  // What a run took in several parts is no time to train.
  const std::string resumed =
      resume_ ? fmt::format(" resumed_at_step={} all_parts_s={:.3f}",
                            resume_->record.position.steps_done, outcome.earlier_s + outcome.run_s)
              : "";
  doors_.out << fmt::format(
      "RESULT benchmark={} metric=time_to_train value={} unit=s status={} quality={} epochs={:.6g} "
      "seed={}{}\n",
      benchmark, success && !resume_ ? fmt::format("{:.3f}", outcome.run_s) : "none",
      to_string(outcome.status), quality, outcome.epochs, config.seed, resumed);
  doors_.out << "log:       " << files.log_path() << "\nconfig:    " << files.config_path()
             << "\ntelemetry: " << files.telemetry_path() << '\n';
  if (outcome.status != RunStatus::kDiverged)
    doors_.out << "weights:   " << files.weights_path() << '\n';
  doors_.out << std::flush;
}

void RunSet::tell(const TraceSummary& trace, const ResultFiles& files) const {
  doors_.out << "trace:     " << files.trace_path() << '\n' << trace.transfers << std::flush;
  const std::int64_t asked = plan_.trace->last - plan_.trace->first + 1;
  if (trace.steps < asked) {
    doors_.console.warn(fmt::format("--trace {}:{}: the run had {} of these {} steps",
                                    plan_.trace->first, plan_.trace->last, trace.steps, asked));
  }
  if (trace.dropped + trace.dropped_layers > 0) {
    doors_.console.warn(
        fmt::format("--trace: {} scopes and transfers and {} layers of all ranks are not in the "
                    "file, which keeps {} of each on a rank",
                    trace.dropped, trace.dropped_layers, telemetry::Trace::kMostEvents));
  }
}

}  // namespace

base::ExitCode run_set(const RunConfig& config, const RunSetPlan& plan, MakeWorkload make,
                       const RunSetDoors& doors) {
  return RunSet(config, plan, make, doors).go();
}

}  // namespace runner
