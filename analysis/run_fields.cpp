// Table of the figures of one log.
#include "analysis/run_fields.h"

#include "runner/base/units.h"
#include "runner/mllog/keys.h"

namespace analysis {
namespace {

using RunFields = std::vector<Field<RunFacts>>;

Value count(std::size_t size) { return static_cast<std::int64_t>(size); }

Value epoch_num_at_target(const RunFacts& facts) {
  if (!facts.at_target) return {};
  return whole_if_possible(facts.epoch_num(facts.evaluations[*facts.at_target]));
}

Value position_at_target(const RunFacts& facts) {
  if (!facts.at_target) return {};
  return whole_if_possible(facts.evaluations[*facts.at_target].position);
}

Value text_or_none(const std::string& text) { return text.empty() ? Value() : Value(text); }

Value direction_text(const RunFacts& facts) {
  if (!facts.direction()) return {};
  return std::string(*facts.direction() == mllog::Direction::kRises ? "rises" : "falls");
}

Value quality_at_target(const RunFacts& facts) {
  if (!facts.at_target) return {};
  return facts.evaluations[*facts.at_target].quality;
}

Value epoch_unit(const RunFacts& facts) {
  if (!facts.run_start_ms) return {};
  return std::string(facts.blocks ? "block" : "epoch");
}

void add_file(RunFields& table) {
  table.push_back(
      {"bytes", "bytes", "size of the log file", [](const RunFacts& f) { return Value(f.bytes); }});
  table.push_back({"records", "",
                   "lines that hold a log record: a JSON object with numeric time_ms and a string "
                   "key after the last ':::MLLOG ' of the line; in logs of Training 0.5 and 0.6, "
                   "seconds, a key and a value after ':::MLPv0.5.0 ' or ':::MLL '",
                   [](const RunFacts& f) { return Value(f.records); }});
  table.push_back({"malformed_records", "", "lines with such a token that are not a record",
                   [](const RunFacts& f) { return Value(f.malformed_records); }});
  table.push_back({"other_lines", "", "all other lines",
                   [](const RunFacts& f) { return Value(f.other_lines); }});
}

void add_config(RunFields& table) {
  for (const std::string& key : config_keys()) {
    table.push_back({key, "", "first value in the log of " + key,
                     [key](const RunFacts& f) { return f.config_value(key); }});
  }
}

void add_order(RunFields& table) {
  table.push_back({"time_reversals", "",
                   "records whose time_ms is smaller than that of the record before",
                   [](const RunFacts& f) { return Value(f.time_reversals); }});
  table.push_back({"max_reversal_ms", "ms", "the largest such step back",
                   [](const RunFacts& f) { return whole_if_possible(f.max_reversal_ms); }});
  table.push_back(
      {"mixed_clocks", "",
       "whether the log has time_ms in more than one of these ranges: below 1e11, up to "
       "4e12 (milliseconds since 1970), above: several clocks in one file",
       [](const RunFacts& f) { return Value(f.mixed_clocks); }});
  table.push_back({"resumed", "",
                   "whether the log says that the run was resumed from a checkpoint; such a run "
                   "cannot be submitted",
                   [](const RunFacts& f) { return Value(f.resumed); }});
}

void add_window(RunFields& table) {
  table.push_back({"run_start_ms", "ms since 1970", "time_ms of the first run_start",
                   [](const RunFacts& f) { return whole_if_possible(f.run_start_ms); }});
  table.push_back({"run_stop_ms", "ms since 1970", "time_ms of the first run_stop",
                   [](const RunFacts& f) { return whole_if_possible(f.run_stop_ms); }});
  table.push_back({"run_stop_status", "", "metadata.status of the first run_stop",
                   [](const RunFacts& f) { return f.run_stop_status; }});
  table.push_back({"outcome", "",
                   "no_records; incomplete: run_start or run_stop missing; aborted: run_stop has a "
                   "status other than 'success'; success: status 'success' or none, and an "
                   "evaluation inside the run meets the target; target_missed: none does; "
                   "target_unknown: neither the log nor the rules name a target",
                   [](const RunFacts& f) { return Value(std::string(to_string(f.outcome))); }});
  table.push_back({"ttt_s", "s",
                   "time to train: run_stop - run_start; absent when either is missing, and for a "
                   "resumed run, whose log has only a part of it",
                   [](const RunFacts& f) { return optional_value(f.ttt_s); }});
  table.push_back({"ttt_excluding_staging_s", "s", "ttt_s - staging_alone_s",
                   [](const RunFacts& f) { return optional_value(f.ttt_excluding_staging_s()); }});
  table.push_back({"ttt_including_staging_s", "s",
                   "ttt_s and the staging outside the run (staging_s - staging_in_run_s)",
                   [](const RunFacts& f) { return optional_value(f.ttt_including_staging_s()); }});
  table.push_back({"staging_percent", "%",
                   "time for staging alone, inside and outside the run, in percent of "
                   "ttt_including_staging_s: its share where staging counts (MLPerf HPC up to 2.0)",
                   [](const RunFacts& f) { return optional_value(f.staging_percent()); }});
  table.push_back({"staging_on_top_percent", "%",
                   "time for staging alone, inside and outside the run, in percent of "
                   "ttt_excluding_staging_s: what comes on top where staging does not count",
                   [](const RunFacts& f) { return optional_value(f.staging_on_top_percent()); }});
  table.push_back({"records_after_run_stop", "", "records after the first run_stop in the file",
                   [](const RunFacts& f) { return Value(f.records_after_run_stop); }});
  table.push_back({"init_s", "s",
                   "first init_stop - smallest init_start, wherever they are in the file; "
                   "meaningless if the log mixes clocks",
                   [](const RunFacts& f) { return optional_value(f.init_s); }});
}

void add_quality(RunFields& table) {
  table.push_back({"round", "",
                   "round whose target and number of runs apply: named by the path, else chosen by "
                   "date and benchmark of the log; the newest of those of a submission's logs",
                   [](const RunFacts& f) { return text_or_none(f.round); }});
  table.push_back({"metric", "", "log key of the evaluations that the target applies to",
                   [](const RunFacts& f) { return f.records ? Value(f.metric) : Value(); }});
  table.push_back({"direction", "",
                   "which way the quality improves: rises (accuracies) or falls (errors, losses, "
                   "perplexities); absent if unknown",
                   direction_text});
  table.push_back({"target", "",
                   "quality that ends the run: the log's own quality_target if it has one, "
                   "otherwise the MLPerf target of submission_benchmark in its round; of several "
                   "the main one",
                   [](const RunFacts& f) { return optional_value(f.target_value()); }});
  table.push_back(
      {"target_rule", "",
       "what an evaluation must meet: all parts of the target, each with its direction",
       [](const RunFacts& f) { return f.target ? Value(f.target->words()) : Value(); }});
  table.push_back(
      {"n_evals", "", "evaluations that count (see 'evaluations')",
       [](const RunFacts& f) { return f.run_start_ms ? count(f.evaluations.size()) : Value(); }});
  table.push_back({"first_quality", "", "quality of the first evaluation that counts",
                   [](const RunFacts& f) { return optional_value(f.first_quality); }});
  table.push_back({"final_quality", "", "quality of the last evaluation that counts",
                   [](const RunFacts& f) { return optional_value(f.final_quality); }});
  table.push_back({"best_quality", "",
                   "best quality, by its direction, of the evaluations that count; absent if "
                   "the direction is unknown",
                   [](const RunFacts& f) { return optional_value(f.best_quality); }});
  table.push_back({"target_reached", "", "whether an evaluation that counts meets the target",
                   [](const RunFacts& f) {
                     const bool known = f.run_start_ms && f.target;
                     return known ? Value(f.at_target.has_value()) : Value();
                   }});
  table.push_back({"time_to_target_s", "s",
                   "first evaluation at target - run_start; absent for a resumed run, and if "
                   "checkpoints were evaluated after the run",
                   [](const RunFacts& f) { return optional_value(f.time_to_target_s()); }});
  table.push_back(
      {"quality_at_target", "", "quality of the first evaluation at target", quality_at_target});
  table.push_back({"epoch_num_at_target", "", "epoch_num of the first evaluation at target",
                   epoch_num_at_target});
  table.push_back({"position_key", "",
                   "metadata member with the position of evaluations: epoch_num, samples_count or "
                   "step_num",
                   [](const RunFacts& f) { return text_or_none(f.position_key); }});
  table.push_back({"position_unit", "",
                   "unit of that position: epochs, passes over the data, samples, tokens or "
                   "steps; absent if unknown",
                   [](const RunFacts& f) { return text_or_none(f.position_unit_text()); }});
  table.push_back({"position_at_target", "position_unit",
                   "position of the first evaluation at target", position_at_target});
}

void add_parts(RunFields& table) {
  table.push_back({"epoch_unit", "",
                   "what the log marks: epochs, or (without any epoch_start) blocks of epochs",
                   epoch_unit});
  table.push_back(
      {"staging_s", "s",
       "staging_start to staging_stop, each moment once, inside and outside the run; absent "
       "without such records",
       [](const RunFacts& f) { return optional_value(f.parts.staging_s); }});
  table.push_back({"staging_in_run_s", "s", "the part of staging_s between run_start and run_stop",
                   [](const RunFacts& f) { return optional_value(f.parts.staging_in_run_s); }});
  table.push_back({"staging_alone_s", "s",
                   "the part of staging_in_run_s outside all epochs and evaluations; during the "
                   "rest, samples were copied while others were trained on",
                   [](const RunFacts& f) {
                     return f.parts.staging_in_run_s ? Value(f.parts.staging_alone_s()) : Value();
                   }});
  table.push_back({"epoch_s", "s",
                   "time inside at least one epoch (or block, if positions count samples, "
                   "tokens or steps)",
                   [](const RunFacts& f) { return optional_value(f.parts.epoch_s); }});
  table.push_back({"eval_s", "s", "time inside at least one evaluation",
                   [](const RunFacts& f) { return optional_value(f.parts.eval_s); }});
  table.push_back({"save_s", "s", "time inside at least one save",
                   [](const RunFacts& f) { return optional_value(f.parts.save_s); }});
  table.push_back({"eval_in_epoch_s", "s", "time inside both an epoch and an evaluation",
                   [](const RunFacts& f) { return optional_value(f.parts.eval_in_epoch_s); }});
  table.push_back(
      {"async_eval", "",
       "whether evaluations overlap epochs of another number for more than 1 % of "
       "eval_s: they run at the same time as training",
       [](const RunFacts& f) { return f.run_start_ms ? Value(f.parts.async_eval) : Value(); }});
  table.push_back({"train_s", "s",
                   "time inside an epoch (or block, if positions count samples, tokens or steps) "
                   "and outside any evaluation; absent with async_eval",
                   [](const RunFacts& f) { return optional_value(f.parts.train_s); }});
  table.push_back({"other_s", "s",
                   "time of the run outside all staging, epoch and evaluation intervals",
                   [](const RunFacts& f) { return optional_value(f.parts.other_s); }});
}

Value percent_of(const std::optional<double>& share) {
  return share ? Value(*share * base::kPercent) : Value();
}

/// What was in memory before the run read its data.
void add_warm(RunFields& table) {
  table.push_back(
      {"warm_percent_min", "%",
       "what of the data's files was in the page cache when staging began, before the run read "
       "samples, on the node with the least of it: the share of each file's pages that were looked "
       "at, weighted by the files' bytes; absent if unknown, and in logs that do not tell",
       [](const RunFacts& f) { return percent_of(f.warm_data.share.min); }});
  table.push_back({"warm_percent_mean", "%", "the same over all nodes together",
                   [](const RunFacts& f) { return percent_of(f.warm_data.share.mean); }});
  table.push_back({"warm_percent_max", "%", "the same on the node with the most of it",
                   [](const RunFacts& f) { return percent_of(f.warm_data.share.max); }});
  table.push_back({"warm_node", "", "the node with warm_percent_max",
                   [](const RunFacts& f) { return text_or_none(f.warm_data.warmest); }});
  table.push_back(
      {"warm_looked_at_bytes", "bytes",
       "bytes of the pages of the data's files that were looked at, summed over the nodes",
       [](const RunFacts& f) { return optional_value(f.warm_data.looked_at_bytes); }});
  table.push_back(
      {"warm_looked_at_percent", "%",
       "warm_looked_at_bytes in percent of the bytes of all files that were found, taking those "
       "not looked at to be as large as the others",
       [](const RunFacts& f) { return optional_value(f.warm_data.looked_at_percent()); }});
  table.push_back(
      {"warm_looked_at_by", "",
       "how the kernel was asked for pages: mincore, which is true for files that the user owns or "
       "may write; else reads that do not wait (RWF_NOWAIT)",
       [](const RunFacts& f) { return text_or_none(f.warm_data.looked_at_by()); }});
  table.push_back({"warm_unknown", "", "which of the chosen files could not be looked at, and why",
                   [](const RunFacts& f) { return text_or_none(f.warm_data.unknown); }});
}

void add_progress(RunFields& table) {
  table.push_back(
      {"epochs_to_target", "epochs",
       "epochs up to the first evaluation at target: the distinct epoch numbers up to "
       "its epoch_num (blocks: the epoch_count of those started by then); if epoch_num "
       "counts passes, its epoch_num minus the first epoch's (minus 0 if the first "
       "evaluation's is smaller than that); if positions count samples, "
       "tokens or steps, samples_to_target / train_samples",
       [](const RunFacts& f) { return whole_if_possible(f.progress.epochs_to_target); }});
  table.push_back({"epochs_run", "epochs",
                   "the same count over the whole run; an epoch that starts at the end of the "
                   "run is not counted, one that is still open there is",
                   [](const RunFacts& f) { return whole_if_possible(f.progress.epochs_run); }});
  table.push_back(
      {"samples_to_target", "samples",
       "epochs_to_target * train_samples (train_samples alone if a dlrm log has it at the "
       "end); if positions count samples, tokens or steps, the position at target: tokens "
       "/ tokens of a sequence, steps * global_batch_size",
       [](const RunFacts& f) { return whole_if_possible(f.progress.samples_to_target); }});
  table.push_back(
      {"samples_run", "samples",
       "the same count over the whole run; if positions count samples, tokens or steps, "
       "the position of run_stop, else the largest position",
       [](const RunFacts& f) { return whole_if_possible(f.progress.samples_run); }});
  table.push_back({"mean_epoch_s", "s", "epoch_s / epochs_run",
                   [](const RunFacts& f) { return optional_value(f.mean_epoch_s()); }});
  table.push_back(
      {"note", "", "why this log's figures mean something else than usual", [](const RunFacts& f) {
         return f.progress.note.empty() ? Value() : Value(f.progress.note);
       }});
  table.push_back({"train_throughput", "samples/s", "samples_run / train_s",
                   [](const RunFacts& f) { return optional_value(f.train_throughput); }});
  table.push_back({"run_throughput", "samples/s", "samples_run / ttt_s",
                   [](const RunFacts& f) { return optional_value(f.run_throughput); }});
  table.push_back({"eval_throughput", "samples/s",
                   "n_evals * eval_samples / eval_s; absent if positions count tokens",
                   [](const RunFacts& f) { return optional_value(f.eval_throughput); }});
  table.push_back({"reported_throughput_mean", "as logged",
                   "mean of the log's own throughput records inside the run, in whatever unit the "
                   "submitter chose",
                   [](const RunFacts& f) { return optional_value(f.reported_throughput_mean); }});
}

}  // namespace

const std::vector<Field<RunFacts>>& run_fields() {
  static const RunFields table = [] {
    RunFields fields;
    add_file(fields);
    add_config(fields);
    add_order(fields);
    add_window(fields);
    add_quality(fields);
    add_parts(fields);
    add_warm(fields);
    add_progress(fields);
    return fields;
  }();
  return table;
}

}  // namespace analysis
