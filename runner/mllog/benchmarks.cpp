// Reads the facts of each MLPerf benchmark.
#include "runner/mllog/benchmarks.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "runner/base/error.h"
#include "runner/base/object_reader.h"
#include "runner/base/strict_json.h"
#include "runner/mllog/keys.h"

namespace mllog {
namespace {

using base::ConfigError;
using base::ObjectReader;

/// "10.1" gives 10 and 1; a missing part is 0.
std::pair<long, long> numbers_of(std::string_view round) {
  std::pair<long, long> numbers{0, 0};
  const char* const end = round.data() + round.size();
  const auto first = std::from_chars(round.data(), end, numbers.first);
  if (first.ptr != end && *first.ptr == '.') {
    std::from_chars(first.ptr + 1, end, numbers.second);
  }
  return numbers;
}

std::string read_round(const ObjectReader& in, const char* key, const char* help) {
  if (!in.has(key)) return "";
  return in.required<std::string>(key, help, {"must be a round such as 0.7", is_round_number});
}

std::optional<double> read_limit(const ObjectReader& in, const char* key, const char* help) {
  if (!in.has(key)) return std::nullopt;
  return in.required<double>(key, help);
}

TargetPart read_part(const ObjectReader& in) {
  TargetPart part;
  part.member = in.optional<std::string>("member", "", "of the value, an object");
  part.metric = in.optional<std::string>("metric", "", "metadata.metric of its records");
  int limits = 0;
  for (const auto& [key, direction, beyond] : {std::tuple("at_least", Direction::kRises, false),
                                               {"above", Direction::kRises, true},
                                               {"at_most", Direction::kFalls, false},
                                               {"below", Direction::kFalls, true}}) {
    const std::optional<double> limit = read_limit(in, key, "the value that ends a run");
    if (!limit) continue;
    ++limits;
    part.direction = direction;
    part.beyond = beyond;
    part.value = *limit;
  }
  if (limits != 1) {
    throw ConfigError(in.where() + ": must have one of at_least, above, at_most, below");
  }
  if (!part.member.empty() && !part.metric.empty()) {
    throw ConfigError(in.where() + ": must have member or metric, not both");
  }
  return part;
}

EvaluationFacts read_evaluation(const ObjectReader& in) {
  EvaluationFacts facts;
  facts.target.key = in.optional<std::string>("key", keys::kEvalAccuracy, "log key of evaluations",
                                              base::not_empty());
  for (const ObjectReader& part : in.objects("target", "what ends a run")) {
    facts.target.parts.push_back(read_part(part));
  }
  if (facts.target.parts.empty()) throw ConfigError(in.where("target") + ": must not be empty");
  facts.position = in.optional<std::string>("at", keys::kEpochNum,
                                            "metadata member with the position", base::not_empty());
  std::vector<std::pair<std::string, PositionUnit>> units = {{"epochs", PositionUnit::kEpochs},
                                                             {"passes", PositionUnit::kPasses},
                                                             {"samples", PositionUnit::kSamples},
                                                             {"tokens", PositionUnit::kTokens},
                                                             {"steps", PositionUnit::kSteps}};
  facts.counts = in.choice("counts", PositionUnit::kEpochs, units, "what the position counts");
  if (facts.counts == PositionUnit::kTokens) {
    facts.tokens_per_sample = in.required<std::int64_t>("tokens_per_sample", "of a sequence",
                                                        base::at_least(std::int64_t{1}));
  }
  facts.of_checkpoints =
      in.optional<bool>("of_checkpoints", false, "evaluated in any order, after training");
  if (in.has("samples_from")) {
    facts.samples_from = in.required<double>(
        "samples_from", "positions of at least this count samples", base::positive());
  }
  return facts;
}

SettingBound read_bound(const ObjectReader& in) {
  SettingBound bound;
  bound.key = in.required<std::string>("key", "log key", base::not_empty());
  bound.equals = read_limit(in, "equals", "the only value");
  bound.at_least = read_limit(in, "at_least", "the least value");
  bound.above = read_limit(in, "above", "what the value must exceed");
  bound.at_most = read_limit(in, "at_most", "the largest value");
  bound.below = read_limit(in, "below", "what the value must stay below");
  bound.whole = in.optional<bool>("whole", false, "a whole number");
  bound.batch_below = read_limit(in, "batch_below", "holds for smaller global batches");
  if (!bound.equals && !bound.at_least && !bound.above && !bound.at_most && !bound.below) {
    throw ConfigError(in.where() + ": must have a limit");
  }
  return bound;
}

}  // namespace

/// Reads one benchmark.
class BenchmarkReader {
 public:
  static Benchmark read(const ObjectReader& in) {
    using Counts = std::vector<std::int64_t>;
    Benchmark facts;
    facts.name = in.required<std::string>("name", "submission_benchmark", base::not_empty());
    facts.usage = in.required<std::string>(
        "usage", "training or hpc", {"must be training or hpc", [](const std::string& usage) {
                                       return usage == "training" || usage == "hpc";
                                     }});
    read_runs(in, facts);
    read_evaluations(in, facts);
    facts.train_samples = in.optional<Counts>("train_samples", {}, "of the dataset");
    facts.eval_samples = in.optional<Counts>("eval_samples", {}, "of the dataset");
    if (in.has("evaluated")) {
      const ObjectReader evaluated = in.object("evaluated", "when it is evaluated");
      facts.schedule_ = dated(evaluated, read_schedule(evaluated));
    }
    for (const ObjectReader& bound : in.objects("bounds", "of settings")) {
      facts.bounds.push_back(read_bound(bound));
    }
    return facts;
  }

 private:
  template <class T>
  static Benchmark::Dated<T> dated(const ObjectReader& in, T facts) {
    return {read_round(in, "since", "the first round it belongs to"),
            read_round(in, "until", "the last round it belongs to"),
            read_limit(in, "batch_below", "holds for smaller global batches"), std::move(facts)};
  }

  static void read_runs(const ObjectReader& in, Benchmark& facts) {
    const auto least_one = base::at_least(std::int64_t{1});
    for (const ObjectReader& earlier : in.objects("earlier_runs", "of earlier rounds")) {
      Benchmark::ResultRuns runs;
      runs.count = earlier.required<std::int64_t>("runs", "that one result takes", least_one);
      if (earlier.has("first_converging")) {
        runs.first_converging = earlier.required<std::int64_t>(
            "first_converging", "that make the result", base::within(1, runs.count));
      }
      facts.runs_.push_back(dated(earlier, runs));
    }
    const auto runs = in.required<std::int64_t>("runs", "that one result takes", least_one);
    facts.runs_.push_back({{}, {}, {}, {runs, {}}});
    facts.dropped_each_end = in.optional<std::int64_t>(
        "dropped_each_end", facts.dropped_each_end,
        "fastest, and slowest or failing, runs that do not count", least_one);
    for (const auto& dated : facts.runs_) {
      if (dated.facts.count > 2 * facts.dropped_each_end) continue;
      throw ConfigError(in.where() + ": more runs are dropped than count");
    }
  }

  static void read_evaluations(const ObjectReader& in, Benchmark& facts) {
    for (const ObjectReader& one : in.objects("evaluations", "how it is evaluated")) {
      facts.evaluations_.push_back(dated(one, read_evaluation(one)));
    }
    const bool ends_open = !facts.evaluations_.empty() && facts.evaluations_.back().until.empty() &&
                           !facts.evaluations_.back().batch_below;
    if (ends_open) return;
    throw ConfigError(in.where("evaluations") +
                      ": its last member must hold for the newest round and every batch size");
  }
};

namespace {

/// Whether dated facts apply to `round`; "" is the newest.
template <class Dated>
bool holds(const Dated& dated, std::string_view round) {
  if (round.empty()) return dated.until.empty();
  if (!dated.since.empty() && is_earlier_round(round, dated.since)) return false;
  return dated.until.empty() || !is_earlier_round(dated.until, round);
}

}  // namespace

const char* to_string(PositionUnit unit) {
  switch (unit) {
    case PositionUnit::kEpochs:
      return "epochs";
    case PositionUnit::kPasses:
      return "passes over the data";
    case PositionUnit::kSamples:
      return "samples";
    case PositionUnit::kTokens:
      return "tokens";
    case PositionUnit::kSteps:
      return "steps";
  }
  return "";
}

bool SettingBound::met_by(double value) const {
  if (!std::isfinite(value) || (whole && std::floor(value) != value)) return false;
  return (!equals || value == *equals) && (!at_least || value >= *at_least) &&
         (!above || value > *above) && (!at_most || value <= *at_most) &&
         (!below || value < *below);
}

std::string SettingBound::words() const {
  if (equals) return fmt::format("must be {}", *equals);
  if (above && below) {
    return fmt::format("must lie between {} and {}, and be neither", *above, *below);
  }
  if (at_least && at_most) return fmt::format("must lie between {} and {}", *at_least, *at_most);
  const char* const kind = whole ? "must be a whole number" : "must be";
  const char* const of = whole ? " of" : "";
  if (at_least) return fmt::format("{}{} at least {}", kind, of, *at_least);
  if (above) return fmt::format("{} above {}", kind, *above);
  if (at_most) return fmt::format("{}{} at most {}", kind, of, *at_most);
  return fmt::format("{} below {}", kind, below.value_or(0.0));
}

const EvaluationFacts& Benchmark::evaluation(std::string_view round,
                                             std::optional<double> global_batch_size) const {
  for (const auto& dated : evaluations_) {
    const bool small =
        global_batch_size && dated.batch_below && *global_batch_size < *dated.batch_below;
    if (holds(dated, round) && (!dated.batch_below || small)) return dated.facts;
  }
  return evaluations_.back().facts;
}

std::optional<double> Benchmark::batch_limit(std::string_view round) const {
  std::optional<double> limit;
  for (const auto& dated : evaluations_) {
    if (!holds(dated, round)) continue;
    if (!dated.batch_below) break;
    limit = std::max(limit.value_or(0.0), *dated.batch_below);
  }
  return limit;
}

const Benchmark::ResultRuns& Benchmark::result_runs(std::string_view round) const {
  const auto found =
      std::ranges::find_if(runs_, [&](const auto& dated) { return holds(dated, round); });
  return found == runs_.end() ? runs_.back().facts : found->facts;
}

std::int64_t Benchmark::runs(std::string_view round) const { return result_runs(round).count; }

std::optional<std::int64_t> Benchmark::first_converging(std::string_view round) const {
  return result_runs(round).first_converging;
}

const Schedule* Benchmark::schedule(std::string_view round) const {
  return schedule_ && holds(*schedule_, round) ? &schedule_->facts : nullptr;
}

std::vector<Benchmark> read_benchmarks(std::string_view text, const std::string& file) {
  nlohmann::json root;
  try {
    root = base::parse_strict_json(text, file, base::JsonComments::kAllowed);
  } catch (const base::DataError& e) {
    throw ConfigError(e.what());
  }
  const ObjectReader in(root, file);
  std::vector<Benchmark> all;
  for (const ObjectReader& one : in.objects("benchmarks", "the benchmarks")) {
    all.push_back(BenchmarkReader::read(one));
    const auto same = [&](const Benchmark& other) { return other.name == all.back().name; };
    if (std::ranges::count_if(all, same) > 1) {
      throw ConfigError(one.where("name") + ": " + all.back().name + " is already there");
    }
  }
  in.reject_unknown();
  return all;
}

const std::vector<Benchmark>& benchmarks() {
  static const std::vector<Benchmark> all = [] {
    const base::EmbeddedFile& file = embedded_benchmarks().front();
    return read_benchmarks(file.text, std::string(file.name));
  }();
  return all;
}

const Benchmark* find_benchmark(std::string_view name) {
  const std::vector<Benchmark>& all = benchmarks();
  const auto found =
      std::ranges::find_if(all, [&](const Benchmark& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

bool is_round_number(std::string_view text) {
  const std::size_t dot = text.find('.');
  const auto are_digits = [](std::string_view part) {
    return !part.empty() && part.find_first_not_of("0123456789") == part.npos;
  };
  return dot != text.npos && are_digits(text.substr(0, dot)) && are_digits(text.substr(dot + 1));
}

bool is_earlier_round(std::string_view one, std::string_view other) {
  return numbers_of(one) < numbers_of(other);
}

}  // namespace mllog
