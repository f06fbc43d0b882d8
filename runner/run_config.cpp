// Reads the configuration keys that all workloads share.
#include "runner/run_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <set>

#include "runner/base/ceil_div.h"
#include "runner/base/error.h"
#include "runner/base/random.h"
#include "runner/base/system_facts.h"

namespace runner {
namespace {

template <class E>
using Choices = std::vector<std::pair<std::string, E>>;

Choices<std::string> names(const std::vector<std::string>& values) {
  Choices<std::string> choices;
  for (const auto& value : values) choices.emplace_back(value, value);
  return choices;
}

SubmissionConfig parse_submission(const base::ObjectReader& in) {
  SubmissionConfig submission;
  submission.org = in.optional("org", submission.org, "who submits, as the log's submission_org",
                               base::not_empty());
  submission.division =
      in.choice("division", submission.division, names({"closed", "open"}), "MLPerf division");
  submission.status =
      in.choice("status", submission.status, names({"cloud", "onprem", "preview", "research"}),
                "availability of the system");
  submission.platform =
      in.optional("platform", submission.platform,
                  "name of the system in the log; empty: CPU model and node count");
  submission.benchmark = in.optional("benchmark", submission.benchmark,
                                     "MLPerf benchmark id; empty: the workload's own");
  return submission;
}

/// Times the steps of an epoch, they fit 64 bits.
constexpr std::int64_t kMostEpochs = 1'000'000'000'000;

EvaluationConfig parse_evaluation(const base::ObjectReader& in, std::int64_t epochs,
                                  std::int64_t evaluations_per_epoch) {
  EvaluationConfig evaluation;
  const bool says_when = in.has("every_epochs") || in.has("offset_epochs");
  if (!says_when) evaluation.per_epoch = evaluations_per_epoch;
  evaluation.every_epochs = in.optional("every_epochs", evaluation.every_epochs,
                                        "epochs between evaluations", base::at_least(1));
  evaluation.offset_epochs = in.optional(
      "offset_epochs", evaluation.offset_epochs,
      "first evaluation after this many epochs; 0: after every_epochs", base::at_least(0));
  evaluation.per_epoch = in.optional(
      "per_epoch", evaluation.per_epoch,
      "evaluations of each epoch, evenly apart; DLRM's rules want 20", base::within(1, 1000000));
  if (evaluation.per_epoch > 1 && (evaluation.every_epochs > 1 || evaluation.offset_epochs > 0)) {
    throw base::ConfigError(in.where("per_epoch") +
                            ": stands beside every_epochs or offset_epochs; give one of them");
  }
  if (evaluation.next_due(1) > epochs) {
    throw base::ConfigError(
        fmt::format("{}: the first evaluation would be after epoch {}, but /epochs is {}",
                    in.where(), evaluation.next_due(1), epochs));
  }
  return evaluation;
}

CheckpointConfig parse_checkpoint(const base::ObjectReader& in) {
  CheckpointConfig checkpoint;
  checkpoint.directory = in.optional("directory", checkpoint.directory,
                                     "root of the folders of checkpoints; empty: that of results");
  checkpoint.every_steps =
      in.optional("every_steps", checkpoint.every_steps,
                  "steps between checkpoints; 0: none by steps", base::at_least(0));
  checkpoint.every_minutes =
      in.optional("every_minutes", checkpoint.every_minutes,
                  "minutes between checkpoints; 0: none by time", base::not_negative());
  checkpoint.keep_last =
      in.optional("keep_last", checkpoint.keep_last,
                  "checkpoints that stay when a new one is complete", base::at_least(1));
  return checkpoint;
}

std::string folder_below(const std::string& root, const RunConfig& config) {
  return fmt::format("{}/{}/{}", root, config.system_name, config.workload);
}

}  // namespace

std::string results_folder(const RunConfig& config) {
  return folder_below(config.results_directory, config);
}

std::string checkpoints_folder(const RunConfig& config) {
  const std::string& own = config.checkpoint.directory;
  return folder_below(own.empty() ? config.results_directory : own, config);
}

std::int64_t EvaluationConfig::next_due(std::int64_t epoch_num) const {
  const std::int64_t first = offset_epochs > 0 ? offset_epochs : every_epochs;
  if (epoch_num <= first) return first;
  const std::int64_t periods = base::ceil_div(epoch_num - first, every_epochs);
  return first + periods * every_epochs;
}

std::int64_t EvaluationConfig::period_steps(std::int64_t steps_per_epoch) const {
  return per_epoch > 1 ? std::max<std::int64_t>(1, steps_per_epoch / per_epoch) : 0;
}

std::string workload_name(const base::ObjectReader& reader) {
  return reader.required<std::string>("workload", "name of the workload", base::not_empty());
}

RunConfig parse_run_config(const base::ObjectReader& reader, const std::string& file,
                           std::int64_t evaluations_per_epoch) {
  RunConfig config{.file = file,
                   .workload = {},
                   .submission = {},
                   .evaluation = {},
                   .checkpoint = {},
                   .system_name = {},
                   .cpus = {},
                   .watch = {},
                   .reader = reader};
  config.workload = workload_name(reader);
  config.seed = reader.optional("seed", config.seed,
                                "seed of weights, shuffling and augmentation; 0: drawn from the "
                                "operating system");
  config.epochs =
      reader.required<std::int64_t>("epochs", "most epochs to train", base::within(1, kMostEpochs));
  const auto target = reader.object("target", "when a run has reached its end");
  config.target_quality = target.optional("quality", config.target_quality,
                                          "quality that ends the run; 0: the workload's own target",
                                          base::not_negative());
  config.has_target = config.target_quality != 0.0;
  config.submission =
      parse_submission(reader.object("submission", "what the MLPerf log says of the submission"));
  config.evaluation =
      parse_evaluation(reader.object("evaluation", "when quality is measured, and how"),
                       config.epochs, evaluations_per_epoch);
  config.checkpoint = parse_checkpoint(
      reader.object("checkpoint", "when the state of a run is saved, so that --resume can go on"));
  const auto results = reader.object("results", "where results go");
  config.results_directory = results.optional("directory", config.results_directory,
                                              "root of the results", base::whole_path());
  config.system_name =
      results.optional("system", config.system_name,
                       "folder of this system below the root; empty: the scheduler's cluster, else "
                       "nodes and CPU, or on one node host name and CPU");
  config.system_name =
      config.system_name.empty() ? default_system_name() : sanitized(config.system_name);
  config.clear_caches = reader.choice(
      "clear_caches", config.clear_caches, names({"auto", "never", "required"}),
      "drop the page cache of every node before the run, or without the right to that the "
      "data's own files, and prove it");
  config.threads = reader.optional("threads", config.threads,
                                   "compute threads of a rank; 0: OMP_NUM_THREADS, or this rank's "
                                   "share of the CPUs that it may use",
                                   base::within(0, 4096));
  config.cpus = parse_cpus(reader.object("cpus", "how the ranks of a node use its CPUs"));
  config.watch.hang_timeout_s = reader.optional(
      "hang_timeout_s", config.watch.hang_timeout_s,
      "seconds without progress after which the job ends and names the rank and operation that it "
      "waits for, more than reading one file or one step may take; 0: never",
      base::at_least(0));
  config.watch.lost_timeout_s = reader.optional(
      "lost_timeout_s", config.watch.lost_timeout_s,
      "seconds without a sign of life of a rank (killed, stopped, its host gone) after which the "
      "job ends; 0: never",
      base::at_least(0));
  return config;
}

std::vector<std::uint64_t> derive_seeds(std::uint64_t master, std::int64_t count) {
  base::RandomStream stream(master, base::Purpose::kSeeds, 0, 0);
  std::vector<std::uint64_t> seeds;
  std::set<std::uint64_t> taken = {0};
  while (static_cast<std::int64_t>(seeds.size()) < count) {
    const std::uint64_t seed = stream.next_u64();
    if (taken.insert(seed).second) seeds.push_back(seed);
  }
  return seeds;
}

std::string sanitized(const std::string& text) {
  std::string name;
  for (const char c : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
    if (plain) {
      name += c;
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  while (!name.empty() && (name.back() == '-' || name.back() == '.')) name.pop_back();
  name.erase(0, name.find_first_not_of(".-"));
  return name.empty() ? "unnamed" : name;
}

}  // namespace runner
