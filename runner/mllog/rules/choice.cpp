// Chooses the round whose rules should judge a log.
#include "runner/mllog/rules/choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <ctime>
#include <regex>

#include "runner/base/error.h"
#include "runner/base/units.h"
#include "runner/mllog/keys.h"
#include "runner/mllog/record_reader.h"

namespace mllog::rules {
namespace {

using base::ConfigError;

struct Name {
  std::string usage;  ///< "" if only the number is given
  std::string number;
};

/// "hpc-3.0.0" gives hpc and 3.0.
std::optional<Name> parse_round(const std::string& text) {
  if (text.empty()) return {};
  static const std::regex form(R"((?:(training|hpc)[-_ ])?v?(\d+\.\d+)(?:\.0)?)");
  std::smatch match;
  if (!std::regex_match(text, match, form)) return {};
  return Name{match[1], match[2]};
}

std::string list_of(const RuleBook& book, const std::string& usage) {
  std::string list;
  for (const Round& round : book.rounds()) {
    if (!round.no_rules_because.empty() || (!usage.empty() && round.usage != usage)) continue;
    list += (list.empty() ? "" : ", ") + round.name();
  }
  return list;
}

/// The rounds that match the flags.
std::vector<const Round*> left_by(const RuleBook& book, const Wanted& wanted) {
  std::vector<const Round*> rounds;
  const std::optional<Name> name = parse_round(wanted.round);
  for (const Round& round : book.rounds()) {
    const bool fits = (wanted.usage.empty() || round.usage == wanted.usage) &&
                      (!name || name->usage.empty() || round.usage == name->usage) &&
                      (!name || round.number == name->number);
    if (fits) rounds.push_back(&round);
  }
  return rounds;
}

bool has_rules(const Round* round) { return round->no_rules_because.empty(); }

/// A part of a path such as training_v4.0 or hpc_results_v3.0.
struct NamedRound {
  std::string text, usage, number;
};

/// The round whose name `text` begins with; nothing if there is none.
std::optional<NamedRound> round_at_front(std::string_view text) {
  const std::string_view whole = text;
  const auto take = [&](std::string_view word) {
    const bool is_there = text.starts_with(word);
    if (is_there) text.remove_prefix(word.size());
    return is_there;
  };
  const auto take_digits = [&] {
    const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
    text.remove_prefix(end);
    return end > 0;
  };
  const char* const usage = take("training") ? "training" : take("hpc") ? "hpc" : nullptr;
  if (usage == nullptr) return std::nullopt;
  take("_results");
  if (!take("_") && !take("-")) return std::nullopt;
  take("v");
  const std::string_view number = text;
  if (!take_digits() || !take(".") || !take_digits()) return std::nullopt;
  return NamedRound{std::string(whole.substr(0, whole.size() - text.size())), usage,
                    std::string(number.substr(0, number.size() - text.size()))};
}

std::vector<NamedRound> rounds_in(std::string_view path) {
  std::vector<NamedRound> named;
  for (std::size_t at = 0; at < path.size(); ++at) {
    if (at > 0 && std::isalnum(static_cast<unsigned char>(path[at - 1]))) continue;
    if (auto round = round_at_front(path.substr(at))) named.push_back(std::move(*round));
  }
  return named;
}

std::string flags(const Wanted& wanted) {
  std::string text;
  if (!wanted.usage.empty()) text += "--usage " + wanted.usage;
  if (!wanted.round.empty()) text += (text.empty() ? "" : " ") + ("--round " + wanted.round);
  return text;
}

std::string date_of(double time_ms) {
  const auto time = static_cast<std::time_t>(time_ms / base::kMsPerSecond);
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  std::array<char, 16> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d", &parts);
  return text.data();
}

/// The first of the ordered `rounds` published on `date` or later; null if none.
const Round* first_after(const std::vector<const Round*>& rounds, const std::string& date) {
  const auto found = std::find_if(rounds.begin(), rounds.end(), [&](const Round* round) {
    return !round->published.empty() && round->published >= date;
  });
  return found == rounds.end() ? nullptr : *found;
}

}  // namespace

Evidence gather_evidence(std::istream& log) {
  Evidence evidence;
  RecordReader reader(log);
  while (const std::optional<LogItem> item = reader.next()) {
    const auto* const record = std::get_if<Record>(&*item);
    if (record == nullptr) continue;
    evidence.format = record->format;
    if (!evidence.benchmark && record->key == keys::kSubmissionBenchmark) {
      evidence.benchmark = record->value.string();
    }
    if (!evidence.time_ms && is_date(record->time_ms)) evidence.time_ms = record->time_ms;
    if (evidence.benchmark && evidence.time_ms) break;
  }
  return evidence;
}

void require_known(const RuleBook& book, const Wanted& wanted) {
  if (!wanted.usage.empty() && wanted.usage != "training" && wanted.usage != "hpc") {
    throw ConfigError("--usage: must be training or hpc, got " + wanted.usage);
  }
  if (!wanted.round.empty() && !parse_round(wanted.round)) {
    throw ConfigError("--round: must look like hpc-3.0 or 3.0, got " + wanted.round);
  }
  const std::vector<const Round*> rounds = left_by(book, wanted);
  if (rounds.empty()) {
    throw ConfigError(flags(wanted) + ": there is no such round; there are " +
                      list_of(book, wanted.usage));
  }
}

void require_rules(const RuleBook& book, const Wanted& wanted) {
  require_known(book, wanted);
  const std::vector<const Round*> rounds = left_by(book, wanted);
  if (std::none_of(rounds.begin(), rounds.end(), has_rules)) {
    throw ConfigError(flags(wanted) + ": has no rules: " + rounds[0]->no_rules_because);
  }
}

std::optional<Choice> choose_by_path(const RuleBook& book, const Wanted& wanted,
                                     const std::string& path) {
  const std::vector<const Round*> rounds = left_by(book, wanted);
  if (!wanted.round.empty() && rounds.size() == 1) {
    return Choice{rounds[0], flags(wanted) + " asks for it"};
  }
  std::optional<Choice> last;
  for (const NamedRound& named : rounds_in(path)) {
    const Round* const round = book.find(named.usage, named.number);
    if (std::find(rounds.begin(), rounds.end(), round) == rounds.end()) continue;
    last = Choice{round, "the path names " + named.text};
  }
  if (last && !wanted.usage.empty()) last->why += ", as --usage allows";
  return last;
}

Choice choose_by_log(const RuleBook& book, const Wanted& wanted, const Evidence& evidence) {
  std::vector<const Round*> rounds = left_by(book, wanted);
  if (evidence.format != LogFormat::kMllog) {
    const auto old = std::find_if(rounds.begin(), rounds.end(), [&](const Round* round) {
      return round->log_format == evidence.format;
    });
    if (old != rounds.end()) {
      return {*old, fmt::format("its records begin with '{}', as those of {} alone",
                                token_of(evidence.format), (*old)->name())};
    }
  }
  std::erase_if(rounds, [](const Round* round) {
    return !has_rules(round) || round->log_format != LogFormat::kMllog;
  });
  const std::string chosen = flags(wanted).empty() ? "" : " (" + flags(wanted) + ")";

  std::vector<const Round*> listing = rounds;
  std::string why = "the log names no benchmark";
  if (evidence.benchmark) {
    std::erase_if(listing, [&](const Round* round) { return !round->judges(*evidence.benchmark); });
    why = fmt::format("no round{} lists the benchmark \"{}\"", chosen, *evidence.benchmark);
  }
  const bool is_listed = evidence.benchmark && !listing.empty();
  if (is_listed) {
    why = fmt::format("\"{}\" is a benchmark of {}", *evidence.benchmark, listing[0]->usage);
  } else {
    const std::string usage = rounds[0]->usage;  // training before hpc
    listing = rounds;
    std::erase_if(listing, [&](const Round* round) { return round->usage != usage; });
    why += ", so " + usage + " is assumed";
  }
  why += is_listed ? chosen : "";
  if (!evidence.time_ms) {
    return {listing.back(),
            why + fmt::format(" and the log has no date, so its newest round{}, {}",
                              is_listed ? " that lists it" : "", listing.back()->name())};
  }
  const std::string date = date_of(*evidence.time_ms);
  if (const Round* const round = first_after(listing, date)) {
    return {round, why + fmt::format(" and the log is of {}, before {} was published on {}", date,
                                     round->name(), round->published)};
  }
  if (is_listed) {
    return {listing.back(), fmt::format("the newest round{} with \"{}\"; the log is of {}", chosen,
                                        *evidence.benchmark, date)};
  }
  return {
      listing.back(),
      why + fmt::format(" and the log is of {}, later than its rounds, of which {} is the newest",
                        date, listing.back()->name())};
}

}  // namespace mllog::rules
