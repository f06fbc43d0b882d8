// Generates logs for tests of the rules.
#include "runner/mllog/rules/made_log.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "runner/base/error.h"
#include "runner/base/strict_json.h"
#include "runner/base/units.h"
#include "runner/mllog/record_reader.h"
#include "runner/mllog/rules/rule_book.h"

namespace made {
namespace {

using mllog::rules::Check;
using mllog::rules::Condition;
using mllog::rules::Occurrence;
using mllog::rules::Predicate;
using mllog::rules::RuleBook;
using Kind = Condition::Kind;

std::string list_of_ones(double length) {
  return fmt::format("[{}]",
                     fmt::join(std::vector<int>(static_cast<std::size_t>(length), 1), ", "));
}

const Condition* find(const Predicate& predicate, Kind kind) {
  const auto found = std::find_if(predicate.begin(), predicate.end(),
                                  [&](const Condition& one) { return one.kind == kind; });
  return found == predicate.end() ? nullptr : &*found;
}

std::string good_number(const Predicate& predicate) {
  if (const auto* one = find(predicate, Kind::kAtMost)) return fmt::format("{}", one->number);
  if (const auto* one = find(predicate, Kind::kAtLeast)) return fmt::format("{}", one->number);
  if (const auto* one = find(predicate, Kind::kAbove)) return fmt::format("{}", one->number + 1);
  return fmt::format("{}", predicate[0].number - 0.5);
}

/// Values for formulas: consistent with each other, and positions of evaluations.
struct GoodValue {
  const char *benchmark, *key, *value;
  const char* metadata = nullptr;
};
constexpr GoodValue kGoodValues[] = {
    {"maskrcnn", "opt_base_learning_rate", "0.02"},
    {"maskrcnn", "eval_accuracy", R"({"BBOX": 0.5, "SEGM": 0.5})"},
    {"bert", "eval_accuracy", "0.73"},
    {"rnnt", "opt_gradient_clip_norm", "Infinity"},
    {"rnnt", "opt_learning_rate_alt_decay_func", "true"},
    {"rnnt", "opt_learning_rate_alt_warmup_func", "true"},
    {"ssd", "opt_learning_rate_decay_boundary_epochs", "[40, 50]"},
    {"llama31_405b", "global_batch_size", "2304"},
    {"llama31_405b", "opt_base_learning_rate", "1.6e-4"},
    {"llama31_405b", "opt_learning_rate_decay_steps", "596000"},
    {"llama31_8b", "opt_learning_rate_decay_steps", "1199999"},
    {"gpt_oss_20b", "opt_learning_rate_decay_steps", "1199999"},
    {"deepseekv3_671b", "global_batch_size", "16384"},
    {"deepseekv3_671b", "opt_base_learning_rate", "2.4e-5"},
    {"deepseekv3_671b", "opt_learning_rate_decay_steps", "11996"},
    {"deepseekv3_671b", "eval_accuracy", "3.6", R"({"samples_count": 704512})"},
    {"qwen35_397b_grpo", "global_batch_size", "256"},
    {"qwen35_397b_grpo", "opt_base_learning_rate", "1e-6"},
    {"qwen35_397b_grpo", "opt_gradient_clip_norm", "0.125"},
    {"qwen35_397b_grpo", "num_prompts_per_step", "16"},
    {"qwen35_397b_grpo", "num_generations_per_prompt", "16"},
    {"qwen35_397b_grpo", "eval_accuracy", "0.7", R"({"samples_count": 4608})"},
    {"dlrmv4", "global_batch_size", "8192"},
    {"dlrmv4", "opt_sparse_base_learning_rate", "1"},
    {"dlrmv4", "eval_accuracy", "0.75", R"({"samples_count": 57344000})"},
};

std::string object_with(const std::vector<std::string>& members) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const std::string& member : members) object[member] = 1;
  return object.dump();
}

std::string good_value(const Predicate& predicate, const std::string& wanted) {
  if (predicate.empty()) return "1";
  const Condition& one = predicate[0];
  switch (one.kind) {
    case Kind::kOneOfTexts:
    case Kind::kBenchmarkOfRound:
      return fmt::format("\"{}\"", wanted.empty() ? one.texts[0] : wanted);
    case Kind::kOneOfNumbers:
      return fmt::format("{}", one.numbers[0]);
    case Kind::kNotText:
      return "\"text\"";
    case Kind::kLength:
      return list_of_ones(one.number);
    case Kind::kLengthAtLeast:
      return "[]";
    case Kind::kEquals:
    case Kind::kCloseTo:
    case Kind::kMultipleOf:
      return fmt::format("{}", one.number);
    case Kind::kPowerOfTwoTimes:
      return fmt::format("{}", 4 * one.number);
    case Kind::kTrue:
    case Kind::kBoolean:
      return "true";
    case Kind::kInteger:
    case Kind::kHolds:
      return "1";
    case Kind::kHas:
      return object_with(one.texts);
    default:
      return good_number(predicate);
  }
}

std::string wanted_text(const std::string& key, const Variant& variant) {
  if (key == "submission_division") return variant.division;
  if (key == "submission_benchmark") return variant.benchmark;
  if (key == "opt_name") return variant.opt_name;
  return key == "scheduler_type" ? variant.scheduler_type : "";
}

Line good_line(const Rule& rule, const Variant& variant) {
  Line line{rule.key};
  Predicate predicate;
  nlohmann::ordered_json metadata = nlohmann::ordered_json::object();
  for (const Check& check : rule.checks) {
    if (check.kind == Check::Kind::kValue) predicate = check.predicate;
    if (!check.where_has.empty() && !metadata.contains(check.where_has)) continue;
    if (check.kind == Check::Kind::kHasAny) metadata[check.names[0]] = 1;
    if (check.kind == Check::Kind::kMember) {
      metadata[check.names[0]] = nlohmann::json::parse(good_value(check.predicate, ""));
    }
  }
  if (rule.once) predicate = *rule.once;
  line.value = good_value(predicate, wanted_text(rule.key, variant));
  line.metadata = metadata.dump();
  for (const GoodValue& good : kGoodValues) {
    if (variant.benchmark != good.benchmark || rule.key != good.key) continue;
    line.value = good.value;
    if (good.metadata != nullptr) line.metadata = good.metadata;
  }
  return line;
}

/// Two evaluations of two metrics each.
Log gathered_lines(const mllog::rules::Gathered& gathered) {
  Log log;
  for (const int position : {512, 1024}) {
    for (const auto& [metric, value] : {std::pair("FID", "80"), {"CLIP", "0.2"}}) {
      log.push_back({gathered.from, value,
                     fmt::format(R"({{"{}": {}, "{}": "{}"}})", gathered.position, position,
                                 gathered.part, metric)});
    }
  }
  return log;
}

/// A key's position in a log: the keys at the beginning, then all others, then the run.
int place(const std::string& key) {
  static const std::vector<std::string> first = {"submission_division", "cache_clear",
                                                 "init_start"};
  static const std::vector<std::string> last = {
      "init_stop",   "run_start",  "staging_start", "staging_stop",  "block_start",
      "epoch_start", "eval_start", "eval_error",    "eval_accuracy", "eval_stop",
      "epoch_stop",  "block_stop", "run_stop"};
  const auto early = std::find(first.begin(), first.end(), key);
  if (early != first.end()) return static_cast<int>(early - first.begin());
  const auto late = std::find(last.begin(), last.end(), key);
  constexpr int kMiddle = 50;
  return late == last.end() ? kMiddle : kMiddle + 1 + static_cast<int>(late - last.begin());
}

}  // namespace

std::string text_of(const Line& line, LogFormat format) {
  if (format == LogFormat::kMll) {
    return fmt::format(":::MLL {:.6f} {}: {{\"value\": {}, \"metadata\": {}}}\n",
                       line.time_ms / base::kMsPerSecond, line.key, line.value, line.metadata);
  }
  return fmt::format(
      ":::MLLOG {{\"namespace\": \"\", \"time_ms\": {}, \"event_type\": \"POINT_IN_TIME\", "
      "\"key\": \"{}\", \"value\": {}, \"metadata\": {}}}\n",
      line.time_ms, line.key, line.value, line.metadata);
}

std::string text_of(const Log& log, LogFormat format) {
  std::string text;
  for (const Line& line : log) text += text_of(line, format);
  return text;
}

Ruleset small_rules(const std::string& rules, const std::string& other_files,
                    const std::string& members) {
  const std::string text = fmt::format(
      R"({{"usage": "hpc", "rounds": [{{"round": "1.0", "benchmarks": ["toy", "other"]}}],
          "files": [{{"file": "common", {}{}"rules": [{}]}}{}{}]}})",
      members, members.empty() ? "" : ", ", rules, other_files.empty() ? "" : ", ", other_files);
  const auto json = base::parse_strict_json(text, "test", base::JsonComments::kRefused);
  const RuleBook book(std::vector{mllog::rules::read_rules(json, "test")});
  return book.ruleset(book.rounds()[0]);
}

std::string refusal(const std::string& rules, const std::string& other_files,
                    const std::string& members) {
  try {
    small_rules(rules, other_files, members);
  } catch (const base::ConfigError& error) {
    return error.what();
  }
  return "";
}

Ruleset rules_of(const std::string& usage, const std::string& number) {
  static const RuleBook book;
  return book.ruleset(*book.find(usage, number));
}

Judgement judged(const Ruleset& rules, const std::string& log, Warnings warnings) {
  std::istringstream in(log);
  mllog::RecordReader reader(in);
  mllog::rules::Judge judge(rules, warnings);
  while (const auto item = reader.next()) {
    std::visit([&](const auto& one) { judge.add(one); }, *item);
  }
  return judge.judgement();
}

Judgement judged(const Ruleset& rules, const Log& log, Warnings warnings) {
  return judged(rules, text_of(log, rules.round.log_format), warnings);
}

std::vector<const RuleFile*> chain(const Ruleset& rules, const Variant& variant) {
  std::vector<const RuleFile*> files = {&rules.files[0]};
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (const Rule& rule : files[i]->rules) {
      if (!rule.then) continue;
      const std::string value = wanted_text(rule.key, variant);
      std::string name = rule.then->file;
      if (name.find("{}") != std::string::npos) {
        name.replace(name.find("{}"), 2, value);
      } else if (value != rule.then->where) {
        continue;
      }
      if (const RuleFile* const next = rules.find(name)) files.push_back(next);
    }
  }
  return files;
}

std::vector<const Rule*> rules_in(const std::vector<const RuleFile*>& chain) {
  std::vector<const Rule*> rules;
  for (const RuleFile* file : chain) {
    for (const Rule& rule : file->rules) {
      std::erase_if(rules, [&](const Rule* old) { return old->key == rule.key; });
      rules.push_back(&rule);
    }
  }
  return rules;
}

Log good_log(const Ruleset& rules, const Variant& variant) {
  Log log;
  for (const Rule* rule : rules_in(chain(rules, variant))) {
    if (rule->gathered) {
      const Log lines = gathered_lines(*rule->gathered);
      std::erase_if(log, [&](const Line& line) { return line.key == rule->gathered->from; });
      log.insert(log.end(), lines.begin(), lines.end());
      continue;
    }
    const Line line = good_line(*rule, variant);
    if (!rule->exactly_these) {
      log.push_back(line);
      continue;
    }
    for (const std::string& name : rule->exactly_these->names) {
      log.push_back(line);
      log.back().metadata = fmt::format("{{\"{}\": \"{}\"}}", rule->exactly_these->member, name);
    }
  }
  std::stable_sort(log.begin(), log.end(),
                   [](const Line& a, const Line& b) { return place(a.key) < place(b.key); });
  return log;
}

std::string bad_value(const Predicate& predicate) {
  if (predicate.empty()) return "";
  const Condition& one = predicate[0];
  switch (one.kind) {
    case Kind::kNotText:
      return "\"\"";
    case Kind::kLength:
      return list_of_ones(one.number + 1);
    case Kind::kAbove:
      return fmt::format("{}", one.number);
    case Kind::kAtLeast:
    case Kind::kCloseTo:
      return fmt::format("{}", one.number > 0 ? one.number / 2 : one.number - 1);
    case Kind::kBelow:
      return fmt::format("{}", one.number);
    case Kind::kAtMost:
      return fmt::format("{}", one.number + 1);
    case Kind::kMultipleOf:
      return fmt::format("{}", 1.5 * one.number);
    case Kind::kPowerOfTwoTimes:
      return fmt::format("{}", 3 * one.number);
    case Kind::kTrue:
      return "false";
    case Kind::kHolds:
      return one.formula->text().find("value") == std::string::npos ? "" : "7.25";
    default:
      return "7.25";  // not a text, without a length, and none of the numbers that rules require
  }
}

}  // namespace made
