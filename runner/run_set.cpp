// Run sets.
// Hides seeds, files, provenance, and the lines that tell of them.
#include "runner/run_set.h"

#include <fmt/format.h>
#include <unistd.h>

#include <exception>
#include <filesystem>
#include <optional>

#include "runner/agreed_error.h"
#include "runner/base/replaced_file.h"
#include "runner/base/system_facts.h"
#include "runner/caches.h"
#include "runner/checkpoint_folder.h"
#include "runner/judged_log.h"
#include "runner/log_ending.h"
#include "runner/placement.h"
#include "runner/provenance.h"
#include "runner/result_files.h"
#include "runner/resume.h"
#include "runner/run_lines.h"
#include "runner/run_loop.h"
#include "runner/run_trace.h"
#include "runner/stale_files.h"
#include "runner/telemetry/report_file.h"
#include "runner/together.h"

namespace runner {
namespace {

/// What ends a strict run; empty where nothing does.
std::function<std::string()> rule_broken(const JudgedLog* judged) {
  if (judged == nullptr || judged->mode() != RulesMode::kStrict) return {};
  return [judged] { return judged->first_break(); };
}

MemberStatus member_status(RunStatus status) {
  switch (status) {
    case RunStatus::kSuccess:
      return MemberStatus::kSuccess;
    case RunStatus::kTargetMissed:
      return MemberStatus::kTargetMissed;
    case RunStatus::kStopped:
      return MemberStatus::kStopped;
    case RunStatus::kDiverged:
      return MemberStatus::kDiverged;
    case RunStatus::kRuleBroken:
      return MemberStatus::kFailed;
  }
  return MemberStatus::kFailed;
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
  std::uint64_t seed() const;  ///< of a run that is no member of a set
  void warn() const;
  /// Opens the checkpoint that is to be resumed; its seed is the run's.
  void open_checkpoint();
  base::ExitCode run_all_members();
  MemberRun run_member(std::uint64_t seed, std::int64_t number, const MemberHooks& hooks);
  /// What an error that every rank knows of makes of a member.
  MemberRun failed(const std::exception& error, std::uint64_t seed) const;
  /// `number` counts the runs of the set; `document` becomes the result on rank 0.
  RunOutcome run(std::uint64_t seed, std::int64_t number, const MemberHooks& hooks,
                 nlohmann::json& document);
  /// From the watching thread, where the job ends before this run can tell its result.
  void tell_failure(const std::string& reason) const;
  bool is_set() const { return plan_.runs > 1; }
  void check_resume(const nlohmann::json& resolved, const Workload& workload) const;
  /// Where this run saves itself: a folder of its own, or that which a resumed training has.
  std::string checkpoint_folder(const ResultFiles* files) const;
  nlohmann::json environment() const;
  FolderOwner owner(const std::string& live_file) const;
  void save(const RunOutcome& outcome, Workload& workload, ResultFiles* files,
            const JudgedLog* judged) const;
  telemetry::RankIdentity identity() const;
  /// Where people read of results; null where a JSON document has standard output.
  std::ostream* lines() const;

  const RunConfig& config_;
  const RunSetPlan& plan_;
  std::optional<ResumePoint> resume_;
  std::unique_ptr<FolderLock> lock_;  ///< on rank 0, of the folder of a resumed run
  MakeWorkload make_;
  const RunSetDoors& doors_;
  Binding binding_;
  ThreadPlan threads_;
  nlohmann::json provenance_;  ///< on rank 0
  std::string log_path_;       ///< of the last run, on rank 0
};

base::ExitCode RunSet::go() {
  warn();
  if (is_set()) return run_all_members();
  if (plan_.resume) open_checkpoint();
  nlohmann::json document;
  const RunStatus status = run(seed(), 1, {}, document).status;
  if (doors_.world.rank() == 0) doors_.result.write(document);
  return exit_code(status);
}

base::ExitCode RunSet::run_all_members() {
  const SetDoors doors{
      doors_.world,     doors_.clock,
      doors_.console,   [this] { return doors_.stop_requested() != StopSignal::kNone; },
      doors_.summarize, lines()};
  const RunMember run = [this](std::uint64_t seed, std::int64_t number, const MemberHooks& hooks) {
    return run_member(seed, number, hooks);
  };
  const SetOutcome outcome = run_members(
      config_, {plan_.runs, plan_.only, plan_.kind, plan_.start_timeout_s, plan_.command, {}}, run,
      doors);
  if (doors_.world.rank() == 0) doors_.result.write(outcome.document);
  return outcome.code;
}

std::ostream* RunSet::lines() const {
  return doors_.result.owns_standard_output() ? nullptr : &doors_.out;
}

MemberRun RunSet::run_member(std::uint64_t seed, std::int64_t number, const MemberHooks& hooks) {
  log_path_.clear();
  try {
    MemberRun done;
    const RunOutcome outcome = run(seed, number, hooks, done.document);
    done.end = {member_status(outcome.status), outcome.reason, exit_code(outcome.status)};
    return done;
  } catch (const AgreedError& e) {
    if (e.code() == base::ExitCode::kUsage) throw;  // so would end every member
    return failed(e, seed);
  } catch (const base::Error& e) {
    // A rank that fails alone leaves the others waiting: then the job has to end.
    if (doors_.world.size() > 1 || e.code() == base::ExitCode::kUsage) throw;
    return failed(e, seed);
  }
}

MemberRun RunSet::failed(const std::exception& error, std::uint64_t seed) const {
  const base::Failure failure = base::failure_of(error);
  const bool trained = !log_path_.empty() && log_ending(log_path_).trained;
  MemberRun done;
  done.end = {trained ? MemberStatus::kFailed : MemberStatus::kNotStarted, failure.message,
              failure.code};
  done.document = failure_document(failure);
  done.document["seed"] = seed;
  if (!log_path_.empty()) done.document["files"] = {{"log", log_path_}};
  return done;
}

std::uint64_t RunSet::seed() const {
  std::uint64_t seed = config_.seed;
  if (seed == 0 && resume_) {
    seed = base::ObjectReader(resume_->record.config, resume_->path)
               .optional<std::uint64_t>("seed", 0, "seed of the run that was saved");
  }
  if (seed == 0 && doors_.world.rank() == 0) seed = seed_from_system();
  doors_.world.broadcast(std::as_writable_bytes(std::span(&seed, 1)), 0);
  return seed;
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
  telemetry::Telemetry telemetry(doors_.clock);
  const Surroundings around{doors_.world, doors_.topology, telemetry, threads_.threads};
  ResumeWish wish{*plan_.resume, plan_.nothing_saved, {}, {}, owner("")};
  together(doors_.world, [&] {
    // It reads its keys, and knows which of them a resumed run may change.
    wish.keys_without_effect = make_(config_, around)->keys_without_effect();
    wish.config = config_.reader.resolved();
  });
  ResumeChoice choice =
      choose_checkpoints(wish, doors_.checkpoint_format, doors_.world, doors_.console);
  if (choice.candidates.empty()) {
    doors_.console.info(fmt::format("nothing to go on from in {}: a run begins", *plan_.resume));
    return;
  }
  resume_.emplace(
      open_resume_point(choice.candidates, doors_.checkpoint_format, doors_.world, doors_.console));
  lock_ = std::move(choice.lock);
}

FolderOwner RunSet::owner(const std::string& live_file) const {
  return {base::host_name(), ::getpid(), live_file};
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
    if (lock_ != nullptr) {
      folder = lock_->folder();
      return;
    }
    folder = folder_of_run(checkpoints_folder(config_), files->number());
    if (!list_checkpoints(folder).empty()) {
      throw base::ConfigError(config_.reader.where("checkpoint") + "/directory: " + folder +
                              " holds checkpoints of another run");
    }
  });
  return doors_.world.broadcast(folder, 0);
}

RunOutcome RunSet::run(std::uint64_t seed, std::int64_t number, const MemberHooks& hooks,
                       nlohmann::json& document) {
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
    log_path_ = files->log_path();
    if (hooks.has_result) hooks.has_result(files->number());
    remove_stale_files(files->log_path());
    base::write_file(files->config_path(), resolved.dump(2) + "\n");
    doors_.console.info(
        fmt::format("run {} of {}: seed {}, log {}", number, plan_.runs, seed, files->log_path()));
    if (resume_) {
      doors_.console.info(fmt::format("resumed after step {} from {}",
                                      resume_->record.position.steps_done, resume_->path));
    }
  }
  // Other runs may look for it from another folder.
  const std::string live_path =
      files ? std::filesystem::absolute(telemetry::live_path(files->log_path())).string() : "";
  const CheckpointDoors checkpoint_doors{doors_.world,
                                         doors_.clock,
                                         doors_.console,
                                         doors_.checkpoint_format,
                                         doors_.checkpoint_requested,
                                         owner(live_path)};
  Checkpointer checkpointer(config.checkpoint, checkpoint_folder(files ? &*files : nullptr),
                            resolved, environment(), checkpoint_doors);
  // Now, not when hours of training are to be saved.
  const bool adds_to_a_folder = resume_ && resume_->path != *plan_.resume;
  if (adds_to_a_folder || config.checkpoint.is_scheduled()) {
    checkpointer.take_folder(std::move(lock_));
  }
  std::optional<telemetry::LiveStatusFile> live;
  if (files) live.emplace(live_path, doors_.clock);
  std::optional<JudgedLog> judged;
  if (files && doors_.rules != nullptr) {
    judged.emplace(files->log(), *doors_.rules, [this](const mllog::Finding& finding) {
      doors_.console.warn(fmt::format("rules: {} [{}]", finding.text, finding.rule));
    });
  }
  const JudgedLog* const verdict = judged ? &*judged : nullptr;
  mllog::RecordSink* sink = nullptr;
  if (files) sink = judged ? static_cast<mllog::RecordSink*>(&*judged) : &files->log();
  mllog::LogWriter log(sink, doors_.clock);
  std::function<void()> before_start;
  if (plan_.kind == SetKind::kTogether) {
    before_start = [&] { on_rank_0(doors_.world, hooks.wait_for_start); };
  }
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
                           live ? &*live : nullptr,
                           before_start,
                           [this](const std::string& reason) { tell_failure(reason); },
                           rule_broken(verdict)};
  RunOutcome outcome;
  std::exception_ptr failure;
  try {
    outcome = run_once(config, *workload, caches, run_doors);
  } catch (const base::Error& e) {
    const bool all_know = dynamic_cast<const AgreedError*>(&e) != nullptr;
    if (!is_set() || (doors_.world.size() > 1 && !all_know)) throw;
    failure = std::current_exception();
  }
  if (failure) {
    // The next member runs in this process: nothing unwinds here, so that what all ranks have to
    // close together is closed.
    workload->clean_up();
    workload.reset();
    std::rethrow_exception(failure);
  }
  if (outcome.status != RunStatus::kStopped) checkpointer.note_finished();
  doors_.world.activity().enter_phase("saving of the results");
  if (live && !live->problem().empty()) doors_.console.warn(live->problem());
  if (files) files->log().sync();
  save(outcome, *workload, files ? &*files : nullptr, verdict);
  // No result without its log.
  on_rank_0(doors_.world, [&] { files->log().require_in_place(); });
  if (files) {
    document = result_document(outcome, config, workload->info(), *files);
    if (verdict != nullptr) document["rules"] = to_json(*doors_.rules, verdict->judgement());
    if (lines() != nullptr) {
      const std::string told =
          verdict == nullptr ? "" : verdict_text(*doors_.rules, verdict->judgement());
      tell_run({outcome, config, workload->info(), *files, resume_ ? &*resume_ : nullptr, told},
               *lines(), doors_.console);
    }
  }
  if (trace) {
    const TraceSummary traced =
        trace->write(files ? files->trace_path() : "", workload->info().name, identity());
    if (files) {
      tell_trace(traced, *plan_.trace, files->trace_path(), lines(), doors_.console);
      document["files"]["trace"] = files->trace_path();
    }
  }
  doors_.world.activity().enter_phase("clean-up");
  workload->clean_up();
  // Here a rank that does not come is noticed; MPI_Finalize would wait for it unwatched.
  doors_.world.barrier();
  return outcome;
}

void RunSet::tell_failure(const std::string& reason) const {
  nlohmann::json document = failure_document({base::ExitCode::kInternal, reason});
  document["exit_code"] = nullptr;  // the failing rank's, which is not told here
  doors_.result.write(document);
}

void RunSet::save(const RunOutcome& outcome, Workload& workload, ResultFiles* files,
                  const JudgedLog* judged) const {
  const auto entries = doors_.world.gather(outcome.telemetry_entry, 0);
  if (files != nullptr) {
    nlohmann::json provenance = provenance_;
    if (resume_) {
      provenance["resumed"] = {{"checkpoint", resume_->path},
                               {"step", resume_->record.position.steps_done},
                               {"earlier_s", outcome.earlier_s}};
    }
    if (judged != nullptr) provenance["rules"] = to_json(*doors_.rules, judged->judgement());
    telemetry::write_report(files->telemetry_path(), workload.info().name, entries, provenance);
  }
  // Weights that are no numbers serve nobody.
  if (outcome.status == RunStatus::kDiverged) return;
  std::unique_ptr<StateWriter> writer;
  if (files != nullptr) writer = doors_.make_state_writer(files->weights_path());
  workload.save_weights(writer.get());
  if (writer != nullptr) writer->finish();
}

}  // namespace

base::ExitCode run_set(const RunConfig& config, const RunSetPlan& plan, MakeWorkload make,
                       const RunSetDoors& doors) {
  return RunSet(config, plan, make, doors).go();
}

}  // namespace runner
