// Executes a run from the workload's creation to the saved weights.
#include "runner/recorded_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <functional>

#include "runner/agreed_error.h"
#include "runner/base/json_text.h"
#include "runner/base/process_state.h"
#include "runner/base/replaced_file.h"
#include "runner/base/system_facts.h"
#include "runner/caches.h"
#include "runner/checkpoint_folder.h"
#include "runner/disk_room.h"
#include "runner/judged_log.h"
#include "runner/result_files.h"
#include "runner/run_lines.h"
#include "runner/run_log.h"
#include "runner/run_loop.h"
#include "runner/run_trace.h"
#include "runner/stale_files.h"
#include "runner/telemetry/report_file.h"
#include "runner/together.h"

namespace runner {
namespace {

/// What ends a strict run; empty for other runs.
std::function<std::string()> rule_broken(const JudgedLog* judged) {
  if (judged == nullptr || judged->mode() != RulesMode::kStrict) return {};
  return [judged] { return judged->first_break(); };
}

/// Created and used on every rank; only rank 0 has files, live status and judged log.
class RecordedRun {
 public:
  RecordedRun(const RunSetting& setting, RunOrder order, RunRecord& record);
  RunOutcome go();

 private:
  void make_workload();
  void check_resume() const;
  void check_room() const;
  /// Collective. Claims the files and opens all that the run writes to. A failure ends the log.
  void begin();
  void end_log(const std::string& reason) noexcept;
  void claim_files();
  void open_checkpointer();
  /// The folder of this run's checkpoints: its own, or the resumed training's.
  std::string checkpoint_folder() const;
  void open_log();
  RunOutcome train(const CacheClearing& caches);
  /// Collective. Writes and removes a small file as the weights will be written, after hours of
  /// training.
  void try_weights() const;
  /// Prints the outcome, too, if it cannot be saved.
  void save(const RunOutcome& outcome);
  void write_results(const RunOutcome& outcome);
  void write_telemetry(const RunOutcome& outcome, const std::vector<std::string>& entries) const;
  /// On rank 0. The document first, then the text: its reader may be gone.
  void report(const RunOutcome& outcome);
  void print_outcome(const RunOutcome& outcome, bool has_weights) const;
  /// Called by the watching thread if the job ends before this run can report its result.
  void print_failure(const std::string& reason) const;
  bool is_rank_0() const { return doors_.world.rank() == 0; }
  nlohmann::json environment() const;
  telemetry::RankIdentity identity() const;

  const RunSetting& setting_;
  const RunSetDoors& doors_;
  RunOrder order_;
  RunRecord& record_;
  RunConfig config_;  ///< with the run's seed
  std::optional<RunTrace> trace_;
  std::optional<TraceSummary> traced_;
  telemetry::Telemetry telemetry_;
  const Surroundings around_;
  std::unique_ptr<Workload> workload_;
  nlohmann::json resolved_;
  std::optional<ResultFiles> files_;
  std::string live_path_;
  std::optional<CheckpointDoors> checkpoint_doors_;
  std::optional<Checkpointer> checkpointer_;
  std::optional<telemetry::LiveStatusFile> live_;
  std::optional<JudgedLog> judged_;
};

RecordedRun::RecordedRun(const RunSetting& setting, RunOrder order, RunRecord& record)
    : setting_(setting),
      doors_(setting.doors),
      order_(std::move(order)),
      record_(record),
      config_(setting.config),
      telemetry_(doors_.clock, &doors_.world.activity()),
      around_{doors_.world, doors_.topology, telemetry_, setting.threads} {
  config_.seed = order_.seed;
  if (!setting.plan.trace) return;
  trace_.emplace(*setting.plan.trace, doors_.world, doors_.topology, doors_.clock);
  telemetry_.trace_to(trace_->trace());
}

RunOutcome RecordedRun::go() {
  make_workload();
  check_resume();
  check_room();
  const CacheClearing caches =
      clear_caches(config_, *workload_, doors_.world, doors_.topology, doors_.clock);
  begin();
  RunOutcome outcome = train(caches);
  if (outcome.status != RunStatus::kStopped) checkpointer_->note_finished();
  doors_.world.activity().enter_phase("saving of the results");
  if (live_ && !live_->problem().empty()) doors_.console.warn(live_->problem());
  if (files_) files_->log().sync();
  save(outcome);
  // There must be no result without its log.
  on_rank_0(doors_.world, [&] { files_->log().require_in_place(); });
  on_rank_0(doors_.world, [&] { report(outcome); });
  doors_.world.activity().enter_phase("clean-up");
  workload_->clean_up();
  // The Watchdog notices a rank that does not arrive here; MPI_Finalize would wait for it without a
  // Watchdog.
  doors_.world.barrier();
  return outcome;
}

void RecordedRun::make_workload() {
  together(doors_.world, [&] { workload_ = setting_.make(config_, around_); });
  resolved_ = config_.reader.resolved();
  resolved_["seed"] = config_.seed;
}

void RecordedRun::check_resume() const {
  if (order_.resume == nullptr) return;
  require_same_config(*order_.resume, resolved_, workload_->keys_without_effect());
  const auto differences =
      environment_differences(order_.resume->record.environment, environment());
  for (const std::string& difference : differences) {
    doors_.console.warn(difference +
                        ": the last bits will differ from those of a run that was never stopped");
  }
}

void RecordedRun::check_room() const {
  const std::int64_t weights =
      workload_->info().parameters * static_cast<std::int64_t>(sizeof(float));
  std::vector<DiskNeed> needs = {{"weights", results_folder(config_), weights}};
  const std::int64_t state = workload_->state_bytes();
  on_rank_0(doors_.world, [&] {
    if (config_.checkpoint.is_scheduled()) {
      const std::string folder =
          order_.lock != nullptr ? order_.lock->folder() : checkpoints_folder(config_);
      const std::int64_t written = std::ssize(list_checkpoints(folder));
      // The old ones stay while a new one is written.
      const std::int64_t count =
          std::max<std::int64_t>(config_.checkpoint.keep_last + 1 - written, 1);
      needs.push_back({"checkpoints", folder, count * state});
    }
    require_room(needs);
  });
}

void RecordedRun::begin() {
  try {
    if (is_rank_0()) claim_files();
    open_checkpointer();
    if (is_rank_0()) open_log();
  } catch (const std::exception& e) {
    end_log(base::failure_of(e).message);
    throw;
  }
}

void RecordedRun::end_log(const std::string& reason) noexcept {
  if (!files_) return;
  try {
    mllog::LogWriter writer(&files_->log(), doors_.clock);
    RunLog(writer).run_stop("aborted", reason);
  } catch (const std::exception&) {
    // The failure that is reported takes precedence.
  }
}

void RecordedRun::claim_files() {
  files_.emplace(ResultFiles::claim(results_folder(config_)));
  record_.log_path = files_->log_path();
  if (order_.hooks.has_result) order_.hooks.has_result(files_->number());
  remove_stale_files(files_->log_path());
  base::replace_file(files_->config_path(), base::json_text(resolved_, 2));
  doors_.console.info(fmt::format("run {} of {}: seed {}, log {}", order_.number,
                                  setting_.plan.runs, config_.seed, files_->log_path()));
  if (order_.resume != nullptr) {
    doors_.console.info(fmt::format("resumed after step {} from {}",
                                    order_.resume->record.position.steps_done,
                                    order_.resume->path));
  }
  // Other runs may look it up from another folder.
  live_path_ = std::filesystem::absolute(telemetry::live_path(files_->log_path())).string();
}

void RecordedRun::open_checkpointer() {
  checkpoint_doors_.emplace(CheckpointDoors{doors_.world, doors_.clock, doors_.console,
                                            doors_.checkpoint_format, doors_.checkpoint_requested,
                                            this_owner(live_path_)});
  checkpointer_.emplace(config_.checkpoint, checkpoint_folder(), resolved_, environment(),
                        *checkpoint_doors_);
  // Take the folder now, not after hours of training.
  const bool adds_to_a_folder =
      order_.resume != nullptr && order_.resume->path != *setting_.plan.resume;
  if (adds_to_a_folder || config_.checkpoint.is_scheduled()) {
    checkpointer_->take_folder(std::move(order_.lock));
  }
}

std::string RecordedRun::checkpoint_folder() const {
  std::string folder;
  on_rank_0(doors_.world, [&] {
    if (order_.lock != nullptr) {
      folder = order_.lock->folder();
      return;
    }
    folder = folder_of_run(checkpoints_folder(config_), files_->number());
    if (!list_checkpoints(folder).empty()) {
      throw base::ConfigError(config_.reader.where("checkpoint") + "/directory: " + folder +
                              " holds checkpoints of another run");
    }
  });
  return doors_.world.broadcast(folder, 0);
}

void RecordedRun::open_log() {
  live_.emplace(live_path_, doors_.clock);
  if (doors_.rules == nullptr) return;
  judged_.emplace(files_->log(), *doors_.rules, [this](const mllog::Finding& finding) {
    doors_.console.warn(fmt::format("rules: {} [{}]", finding.text, finding.rule));
  });
}

RunOutcome RecordedRun::train(const CacheClearing& caches) {
  mllog::RecordSink* sink = nullptr;
  if (files_) sink = judged_ ? static_cast<mllog::RecordSink*>(&*judged_) : &files_->log();
  mllog::LogWriter log(sink, doors_.clock);
  std::function<void()> before_start;
  if (setting_.plan.kind == SetKind::kTogether) {
    before_start = [&] { on_rank_0(doors_.world, order_.hooks.wait_for_start); };
  }
  const RunDoors run_doors{
      doors_.world,
      doors_.topology,
      telemetry_,
      log,
      identity(),
      doors_.console,
      doors_.stop_requested,
      &*checkpointer_,
      order_.resume,
      doors_.watchdog,
      live_ ? &*live_ : nullptr,
      before_start,
      [this](const std::string& reason) { print_failure(reason); },
      rule_broken(judged_ ? &*judged_ : nullptr),
      [this] { try_weights(); },
      [this] { return look_while_staging(config_, doors_.world, doors_.topology, doors_.clock); }};
  std::exception_ptr failure;
  try {
    return run_once(config_, *workload_, caches, run_doors);
  } catch (const base::Error& e) {
    const bool all_know = dynamic_cast<const AgreedError*>(&e) != nullptr;
    if (doors_.world.size() > 1 && !all_know) throw;
    failure = std::current_exception();
  }
  // Staged copies go, and the next member of a set runs in this process. No exception is unwinding
  // here, so collective destructors run.
  workload_->clean_up();
  workload_.reset();
  std::rethrow_exception(failure);
}

void RecordedRun::try_weights() const {
  on_rank_0(doors_.world, [&] {
    // A file of this name is removed by the next run if this one dies.
    const std::string path = files_->weights_path() + ".new";
    // HDF5 does not end cleanly once its first write failed.
    constexpr std::size_t kMoreThanHdf5Writes = 16384;
    base::replace_file(path, std::string(kMoreThanHdf5Writes, '\0'));
    const auto writer = doors_.make_state_writer(path);
    writer->write("trial", 1);
    writer->finish();
    std::error_code error;
    std::filesystem::remove(path, error);
    if (error) throw base::system_error(path + ": cannot be removed", error.value());
  });
}

void RecordedRun::save(const RunOutcome& outcome) {
  try {
    write_results(outcome);
  } catch (const base::Error&) {
    // The log has the result.
    if (files_) {
      files_->log().require_in_place();
      print_outcome(outcome, false);  // the JSON document tells the failure
    }
    throw;
  }
}

void RecordedRun::write_results(const RunOutcome& outcome) {
  const auto entries = doors_.world.gather(outcome.telemetry_entry, 0);
  if (files_) write_telemetry(outcome, entries);
  if (outcome.status != RunStatus::kDiverged) {  // NaN weights are useless
    std::unique_ptr<StateWriter> writer;
    if (files_) writer = doors_.make_state_writer(files_->weights_path());
    workload_->save_weights(writer.get());
    if (writer != nullptr) writer->finish();
  }
  if (!trace_) return;
  // A run that is told to stop may have little time left.
  if (outcome.status != RunStatus::kStopped && outcome.status != RunStatus::kDiverged) {
    trace_->time_exchanges(*workload_, telemetry_);
  }
  traced_ = trace_->write(files_ ? files_->trace_path() : "", workload_->info().name, identity());
}

void RecordedRun::write_telemetry(const RunOutcome& outcome,
                                  const std::vector<std::string>& entries) const {
  nlohmann::json provenance = setting_.provenance;
  if (order_.resume != nullptr) {
    provenance["resumed"] = {{"checkpoint", order_.resume->path},
                             {"step", order_.resume->record.position.steps_done},
                             {"earlier_s", outcome.earlier_s}};
  }
  if (judged_) provenance["rules"] = to_json(*doors_.rules, judged_->judgement());
  if (!outcome.remarks.empty()) provenance["remarks"] = outcome.remarks;
  const WorkloadInfo& info = workload_->info();
  telemetry::write_report(files_->telemetry_path(), info.name, entries, info.layers, provenance);
}

void RecordedRun::report(const RunOutcome& outcome) {
  record_.document = result_document(outcome, config_, workload_->info(), *files_);
  if (judged_) record_.document["rules"] = to_json(*doors_.rules, judged_->judgement());
  if (traced_) record_.document["files"]["trace"] = files_->trace_path();
  const auto print = [&] {
    print_outcome(outcome, outcome.status != RunStatus::kDiverged);
    if (!traced_) return;
    print_trace(*traced_, *setting_.plan.trace, files_->trace_path(), doors_.lines(),
                doors_.console);
  };
  if (setting_.plan.runs > 1) return print();  // a set has a document of its own
  doors_.result.write_and_print(record_.document, print);
}

void RecordedRun::print_outcome(const RunOutcome& outcome, bool has_weights) const {
  if (doors_.lines() == nullptr) return;
  const std::string verdict = judged_ ? verdict_text(*doors_.rules, judged_->judgement()) : "";
  print_run({outcome, config_, workload_->info(), *files_, has_weights, order_.resume, verdict},
            *doors_.lines(), doors_.console);
}

void RecordedRun::print_failure(const std::string& reason) const {
  nlohmann::json document = failure_document({base::ExitCode::kInternal, reason});
  document["exit_code"] = nullptr;  // the failing rank's code, unknown here
  doors_.result.write(document);
}

nlohmann::json RecordedRun::environment() const {
  return {{"ranks", doors_.world.size()},
          {"threads", setting_.threads},
          {"instruction_set", base::to_string(base::usable_instruction_set())},
          {"cpu", base::machine_facts().value("cpu_model", nlohmann::json())},
          {"libraries", doors_.libraries},
          {"revision", base::build_facts().value("revision", nlohmann::json())}};
}

telemetry::RankIdentity RecordedRun::identity() const {
  return {doors_.world.rank(), base::host_name(), doors_.topology.node_index, setting_.threads};
}

}  // namespace

RunOutcome record_run(const RunSetting& setting, RunOrder order, RunRecord& record) {
  return RecordedRun(setting, std::move(order), record).go();
}

FolderOwner this_owner(const std::string& live_file) {
  const base::ProcessIdentity mine = base::this_process_identity();
  return {base::host_name(), mine.number, live_file, mine.start_ticks, mine.kernel};
}

}  // namespace runner
